/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_MASKED_IM2COL_H_
#define MLUOP_KERNELS_MASKED_IM2COL_H_

#include <stdint.h>

/* feature [C, H, W], data_col [C * kernel_h * kernel_w, M], both of elements of element_size bytes,
   2 or 4. Nothing is empty. Item: chunk * C + c, for one of `chunks` parts of each row of data_col
   that belongs to channel c. */
struct masked_im2col_args {
  const void *feature;
  const int32_t *mask_h_idx, *mask_w_idx;
  void *data_col;
  int64_t element_size, C, H, W, M, kernel_h, kernel_w, pad_h, pad_w;
  int64_t chunks; /* so many that none is longer than MASKED_IM2COL_CHUNK_BYTES */
  int stream;     /* data_col is larger than the caches */
};

enum { MASKED_IM2COL_CHUNK_BYTES = 1 << 12 };

#endif /* MLUOP_KERNELS_MASKED_IM2COL_H_ */
