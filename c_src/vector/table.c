/* SPDX-License-Identifier: Apache-2.0 */
#include "vector/simd.h"

extern const struct mluop_kernels MLUOP_VARIANT(kernels);

const struct mluop_kernels MLUOP_VARIANT(kernels) = {
    .vector_floats = VL,
#define MLUOP_KERNEL(name) .name = MLUOP_VARIANT(name),
#include "vector/kernels.def"
#undef MLUOP_KERNEL
};
