/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_MASKED_COL2IM_H_
#define MLUOP_KERNELS_MASKED_COL2IM_H_

#include <stdint.h>

/* col [C, M], im [C, H, W], both of elements of element_size bytes, 2 or 4. Every position is on
   the map. */
struct masked_col2im_args {
  const void *col;
  const int32_t *mask_h_idx, *mask_w_idx;
  void *im;
  int64_t element_size, H, W, M;
};

#endif /* MLUOP_KERNELS_MASKED_COL2IM_H_ */
