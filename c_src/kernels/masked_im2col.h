/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_MASKED_IM2COL_H_
#define MLUOP_KERNELS_MASKED_IM2COL_H_

#include <stdint.h>

/* feature [C, H, W], data_col [C * kernel_h * kernel_w, M], both of elements of element_size bytes,
   2 or 4. */
struct masked_im2col_args {
  const void *feature;
  const int32_t *mask_h_idx, *mask_w_idx;
  void *data_col;
  int64_t element_size, H, W, M, kernel_h, kernel_w, pad_h, pad_w;
};

#endif /* MLUOP_KERNELS_MASKED_IM2COL_H_ */
