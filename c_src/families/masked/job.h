/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_JOB_H_
#define MLUOP_FAMILIES_MASKED_JOB_H_

#include <stdint.h>

/* Rows of the target are done in blocks, none longer than this. */
enum { MASKED_BLOCK_BYTES = 1 << 12 };

/* What an item is. */
enum masked_share {
  MASKED_BLOCKS,   /* block * C + c: a block of the rows of a channel */
  MASKED_CHANNELS, /* a channel; the channels of a thread take each block together */
  MASKED_PLANES    /* a channel, all of whose blocks are taken before the next one */
};

/* Of im2col. */
struct masked_window {
  int64_t kernel_h, kernel_w, pad_h, pad_w;
};

struct masked_plan {
  int32_t *places;     /* col2im: h * W + w of each position, on the map */
  uint32_t *seen;      /* ... and what is true of one of them or more */
  int64_t row, blocks; /* elements of a row of the target, and its blocks */
  enum masked_share share;
  int sorted; /* col2im: positions ascend; else a plane is one block */
  int stream; /* the call exceeds the caches */
};

/* The map is [C, H, W]. im2col reads it and writes columns [C * kernel_h * kernel_w, M]; col2im
   reads columns [C, M] and writes it. Elements have `element_size` bytes, 2 or 4. Nothing that is
   written is empty; col2im may have no positions. */
struct masked_args {
  const void *source;
  void *target;
  const int32_t *mask_h_idx, *mask_w_idx;
  int64_t element_size, C, H, W, M;
  struct masked_window window;
  struct masked_plan plan;
};

/* Of the positions of col2im. */
enum {
  MASKED_OUT_OF_MAP = 1, /* one is */
  MASKED_UNORDERED = 2   /* one is not after the one before it, in the order of the map */
};

#endif /* MLUOP_FAMILIES_MASKED_JOB_H_ */
