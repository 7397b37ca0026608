/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_PSAMASK_H_
#define MLUOP_KERNELS_PSAMASK_H_

#include <stdint.h>

/* Position (u, v) of the mask of pixel (h, w) is at (u + h - (h_mask - 1) / 2,
   v + w - (w_mask - 1) / 2) on the map. `spread` has N * H * W rows of H * W: y or dy.
   `masks` has N * H * W rows of h_mask * w_mask: x or dx. */
struct psamask_args {
  const float *source;
  float *target;
  int64_t N, H, W, h_mask, w_mask;
  int distribute;
};

#endif /* MLUOP_KERNELS_PSAMASK_H_ */
