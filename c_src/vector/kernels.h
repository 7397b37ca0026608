/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_VECTOR_KERNELS_H_
#define MLUOP_VECTOR_KERNELS_H_

#include <stdint.h>

/* A kernel does the items [begin, end) of its job. It gets plain pointers, cannot fail, and knows
   no handle, descriptor or thread. `scratch` belongs to the calling thread: 64-byte aligned,
   uninitialised, as large as its job asked for. What an item computes does not depend on the range
   that it came in. */
typedef void mluop_kernel(const void *args, int64_t begin, int64_t end, void *scratch);

/* The kernels of one instruction set. */
struct mluop_kernels {
  int vector_floats; /* in a vector */
#define MLUOP_KERNEL(name) mluop_kernel *name;
#include "vector/kernels.def"
#undef MLUOP_KERNEL
};

#endif /* MLUOP_VECTOR_KERNELS_H_ */
