/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_TOY_KERNELS_H_
#define MLUOP_FAMILIES_TOY_KERNELS_H_

#include "core/kernel.h"

/* Items are elements: y[i] = factor * x[i]. */
struct toy_args {
  const float *x;
  float *y;
  float factor;
};

MLUOP_KERNEL(toy_scale);

#endif /* MLUOP_FAMILIES_TOY_KERNELS_H_ */
