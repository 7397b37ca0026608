/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_COL2IM_H_
#define MLUOP_FAMILIES_MASKED_COL2IM_H_

#include <stdint.h>

/* col [C, M], im [C, H, W], both of elements of element_size bytes, 2 or 4. Every position is on
   the map. */
struct masked_col2im_args {
  const void *col;
  const int32_t *mask_h_idx, *mask_w_idx;
  void *im;
  int64_t element_size, C, H, W, M;
  int64_t chunks;  /* parts of a plane, none longer than MASKED_COL2IM_CHUNK_BYTES */
  int by_channel;  /* channels are shared out, not chunks */
  int stream;      /* im is larger than the caches */
  uint32_t *flags; /* what masked_col2im_check has seen */
};

enum {
  MASKED_COL2IM_BEYOND = 1, /* a position is not on the map */
  MASKED_COL2IM_DESCENDS =
      2 /* a position is not after the one before it, in the order of the map */
};

enum { MASKED_COL2IM_CHUNK_BYTES = 1 << 12 };

/* masked_col2im_check: item: a position. masked_col2im_ascending needs positions that do not
   descend. Item: chunk * C + c, or a channel if by_channel is set. masked_col2im_any takes them in
   any order. Item: a channel. */

#endif /* MLUOP_FAMILIES_MASKED_COL2IM_H_ */
