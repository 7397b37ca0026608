/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_JOB_H_
#define MLUOP_FAMILIES_DCN_JOB_H_

#include <stdint.h>

/* What a call says about its tensors: the letters of the contract. */
struct dcn_shape {
  int64_t N, H, W, C;
  int64_t ho, wo, co;
  int64_t kh, kw;
  int64_t pad_top, pad_left, stride_h, stride_w, dilation_h, dilation_w;
  int64_t deformable_groups, groups;
  int is_half;
};

struct dcn_data {
  const void *input, *offset, *mask; /* mask: NULL without one */
  const void *filter, *bias, *grad_output;
  void *output, *grad_input, *grad_offset, *grad_mask, *grad_filter, *grad_bias;
};

struct dcn_args {
  struct dcn_shape shape;
  struct dcn_data data;
  float *sums; /* half: grad_input in float */
};

#endif /* MLUOP_FAMILIES_DCN_JOB_H_ */
