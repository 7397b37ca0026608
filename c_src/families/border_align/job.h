/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_

#include <stddef.h>
#include <stdint.h>

/* Every border of a box is straight: it lies between two neighbouring lines of the map, rows for
   the top and the bottom, columns for the left and the right border. The borders of one kind in one
   image form a list; a plan orders each list by line, and the kernels keep the two lines that they
   work on in scratch memory, as floats. */

/* From this pool_size on, the forward samples only the ends of the borders' parts within a pixel.
 */
enum { BORDER_ALIGN_POOL_LIMIT = 4096 };

/* Up to these limits (floats count no further) it finds the points of so many borders at once. */
enum {
  BORDER_ALIGN_TOGETHER_POOL = 64,
  BORDER_ALIGN_TOGETHER_EXTENT = 1 << 24,
  BORDER_ALIGN_LANES = 16
};

/* One sample of each of so many borders, or so many of one border. */
struct border_sample_block {
  float weight[4][BORDER_ALIGN_LANES];
  int32_t place[BORDER_ALIGN_LANES]; /* the pixel along the border */
  int32_t step[BORDER_ALIGN_LANES];
};

/* `map` is [N,H,W,4C], `boxes` [N,K,4], `rows` and `argmax` are [N,K,4,C]. */
struct border_align_args {
  const void *map, *boxes, *rows; /* input, boxes, grad_output */
  void *map_out, *rows_out;       /* grad_input, output */
  const int32_t *argmax;
  int32_t *argmax_out;
  int64_t N, H, W, C, K;
  int32_t pool_size;
  int is_half;
  int large;  /* tensors do not fit the caches: what is needed next is fetched ahead */
  int stream; /* ... and lie so that whole vectors of them can go past the caches */

  /* List n * 4 + b: the boxes of image n, ordered by the line of border b, those without a line
     last; plan_first has K + 2 numbers for each list, see plan_list. NULL: the kernel plans each
     list that it comes to, plan_at bytes behind the begin of its scratch memory. */
  int32_t *plan_order, *plan_first, *plan_keys;
  size_t plan_at;

  /* Channels are done in blocks; a pixel of a line in scratch memory takes pixel_floats. */
  int64_t block, blocks, pixel_floats;
  int64_t line_floats; /* room for the longest line */

  /* Of the forward: how many borders are sampled together, BORDER_ALIGN_LANES or 1, and the room
     for that. */
  int64_t together, sample_blocks;

  int64_t *bad; /* the first element of argmax outside [0, pool_size] */
};

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_JOB_H_ */
