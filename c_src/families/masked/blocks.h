/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_BLOCKS_H_
#define MLUOP_FAMILIES_MASKED_BLOCKS_H_

#include "families/masked/job.h"
#include "shared/pick.h"

/* Blocks of the rows of the target: what a block looks like is found once, and used for all
   channels that follow each other. */

/* Vectors of PICK_BYTES in a block, see block_begin. */
enum { BLOCK_VECTORS = MASKED_BLOCK_BYTES / PICK_BYTES + 2 };

/* The first element of a block. Blocks are nearly equal, so that none is shorter than a vector (but
   for a single one), and begin with a line where the target does: up to PICK_LANES_MAX - 1 elements
   early. */
static int64_t block_begin(const struct masked_args *a, int64_t number) {
  return number < a->plan.blocks
             ? number * a->plan.row / a->plan.blocks / PICK_LANES_MAX * PICK_LANES_MAX
             : a->plan.row;
}

/* Channels [begin, end) of a block. */
typedef void block_function(const struct masked_args *a, int64_t number, int64_t begin,
                            int64_t end);

/* Items [begin, end), see enum masked_share. */
static void do_blocks(const struct masked_args *a, int64_t begin, int64_t end,
                      block_function *do_block) {
  const int64_t together = a->plan.share == MASKED_PLANES ? 1 : end - begin;
  while (a->plan.share != MASKED_BLOCKS && begin < end) {
    for (int64_t number = 0; number < a->plan.blocks; number++) {
      do_block(a, number, begin, begin + together);
    }
    begin += together;
  }
  while (begin < end) {
    const int64_t channel = begin % a->C, left = a->C - channel;
    const int64_t count = left < end - begin ? left : end - begin;
    do_block(a, begin / a->C, channel, channel + count);
    begin += count;
  }
  if (a->plan.stream) vf_stream_end();
}

#endif /* MLUOP_FAMILIES_MASKED_BLOCKS_H_ */
