/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_IM2COL_H_
#define MLUOP_FAMILIES_MASKED_IM2COL_H_

#include "families/masked/call.h"

/* What an item is. */
enum masked_im2col_share {
  MASKED_IM2COL_CHUNKS,   /* block * C + c: a block of the rows of a channel */
  MASKED_IM2COL_CHANNELS, /* a channel; the channels of a thread take each block together */
  MASKED_IM2COL_PLANES    /* a channel, all of whose blocks are taken before the next one */
};

/* feature [C, H, W], data_col [C * kernel_h * kernel_w, M]. */
struct masked_im2col_args {
  struct masked_call call;
  int64_t kernel_h, kernel_w, pad_h, pad_w;
  /* The plan. */
  int64_t blocks; /* parts of each row of data_col, none longer than MASKED_IM2COL_BLOCK_BYTES */
  enum masked_im2col_share share;
  int stream; /* data_col is larger than the caches */
};

enum { MASKED_IM2COL_BLOCK_BYTES = 1 << 12 };

#endif /* MLUOP_FAMILIES_MASKED_IM2COL_H_ */
