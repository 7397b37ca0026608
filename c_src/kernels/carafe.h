/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_CARAFE_H_
#define MLUOP_KERNELS_CARAFE_H_

#include <stdint.h>

/* Input [N, H, W, G*C] and output [N, S*H, S*W, G*C] have G groups of C channels; the mask is
   [N, S*H, S*W, G, K, K]. Output pixel (p, q) sees the K x K window of the input around
   (p / S, q / S). */
struct carafe_shape {
  int64_t N, H, W, C, G, K, S;
  int is_half;
};

struct carafe_forward_args {
  struct carafe_shape shape;
  const void *input, *mask;
  void *output;
};

struct carafe_backward_args {
  struct carafe_shape shape;
  const void *input, *mask, *grad_output;
  void *grad_input, *grad_mask;
};

#endif /* MLUOP_KERNELS_CARAFE_H_ */
