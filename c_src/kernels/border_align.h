/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_BORDER_ALIGN_H_
#define MLUOP_KERNELS_BORDER_ALIGN_H_

#include <stdint.h>

/* The map is [N,H,W,4C], boxes are [N,K,4], rows of one border are [N,K,4,C]. */
struct border_align_args {
  const void *map; /* forward: the input */
  void *grad_map;  /* backward: grad_input */
  const void *boxes;
  void *output;          /* forward */
  int32_t *argmax;       /* forward */
  const void *grad;      /* backward: grad_output */
  const int32_t *chosen; /* backward: argmax_idx */
  int64_t N, H, W, C, K;
  int32_t pool_size;
  int is_half;
};

#endif /* MLUOP_KERNELS_BORDER_ALIGN_H_ */
