/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_CALL_H_
#define MLUOP_FAMILIES_MASKED_CALL_H_

#include <stdint.h>

/* The map is [C, H, W], the columns are [rows of C, M]; one is read, the other written. Elements
   have `element_size` bytes, 2 or 4. Nothing is empty. */
struct masked_call {
  const void *source; /* im2col: feature; col2im: col */
  void *target;       /* im2col: data_col; col2im: im */
  const int32_t *mask_h_idx, *mask_w_idx;
  int64_t element_size, C, H, W, M;
};

#endif /* MLUOP_FAMILIES_MASKED_CALL_H_ */
