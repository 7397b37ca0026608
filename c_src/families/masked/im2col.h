/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_IM2COL_H_
#define MLUOP_FAMILIES_MASKED_IM2COL_H_

#include <stdint.h>

/* What an item is. */
enum masked_im2col_share {
  MASKED_IM2COL_CHUNKS,   /* chunk * C + c: a chunk of the rows of a channel */
  MASKED_IM2COL_CHANNELS, /* a channel; the channels of a thread take each chunk together */
  MASKED_IM2COL_PLANES    /* a channel, all of whose chunks are taken before the next one */
};

/* feature [C, H, W], data_col [C * kernel_h * kernel_w, M], both of elements of element_size bytes,
   2 or 4. Nothing is empty. */
struct masked_im2col_args {
  const void *feature;
  const int32_t *mask_h_idx, *mask_w_idx;
  void *data_col;
  int64_t element_size, C, H, W, M, kernel_h, kernel_w, pad_h, pad_w;
  int64_t chunks; /* parts of each row of data_col, none longer than MASKED_IM2COL_CHUNK_BYTES */
  enum masked_im2col_share share;
  int stream; /* data_col is larger than the caches */
};

enum { MASKED_IM2COL_CHUNK_BYTES = 1 << 12 };

#endif /* MLUOP_FAMILIES_MASKED_IM2COL_H_ */
