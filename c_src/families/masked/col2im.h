/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_COL2IM_H_
#define MLUOP_FAMILIES_MASKED_COL2IM_H_

#include "families/masked/call.h"

/* col [C, M], im [C, H, W]. Every position is on the map. */
struct masked_col2im_args {
  struct masked_call call;
  uint32_t *seen; /* by masked_col2im_check */
  /* The plan. */
  int stream;     /* im is larger than the caches */
  int64_t blocks; /* parts of a plane, none longer than MASKED_COL2IM_BLOCK_BYTES */
  int by_channel; /* channels are shared out, not blocks */
};

/* Of the positions. */
enum {
  MASKED_COL2IM_OUT_OF_MAP = 1, /* one is */
  MASKED_COL2IM_UNORDERED = 2   /* one is not after the one before it, in the order of the map */
};

enum { MASKED_COL2IM_BLOCK_BYTES = 1 << 12 };

/* masked_col2im_check: item: a position. masked_col2im_sorted needs sorted positions. Item: block
   * C + c, or a channel if by_channel is set. masked_col2im_unordered takes them in any order.
   Item: a channel. */

#endif /* MLUOP_FAMILIES_MASKED_COL2IM_H_ */
