/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_JOB_H_
#define MLUOP_FAMILIES_PSAMASK_JOB_H_

#include <stdint.h>

/* Distribute works on blocks: so many rows of the map by PSAMASK_PIXELS pixels. */
struct psamask_blocks {
  int64_t rows, pitch; /* floats of scratch for each of the pixels */
  int whole;           /* each mask reaches all of the map, which has rows of a vector at least */
};

/* Position (u, v) of the mask of pixel (h, w) is at (u + h - (h_mask - 1) / 2,
   v + w - (w_mask - 1) / 2) on the map. Forward, `source` is x, of N * H * W rows of
   h_mask * w_mask, and `target` is y, of N * H * W rows of H * W; backward, dy and dx. Neither is
   empty. Items are pixels, and for distribute forward rows of the map. */
struct psamask_args {
  const float *source;
  float *target;
  int64_t N, H, W, h_mask, w_mask;
  int forward, distributes;
  int prefetch; /* the source is not near */
  int stream;   /* the target is written past the caches */
  struct psamask_blocks blocks;
};

enum {
  PSAMASK_LINE = 16, /* floats */
  PSAMASK_PIXELS = 32,
  PSAMASK_ROOM = 256, /* floats that a writer puts together: reading stops while many are written */
  PSAMASK_AHEAD = 2048, /* floats fetched before they are read: more push each other out of L1 */
  PSAMASK_NCHW_SCRATCH = 1 << 18, /* bytes, to stream */
  PSAMASK_NCHW_SPARE = 32 /* floats of each plane that are there, more than those of its rows */
};

#endif /* MLUOP_FAMILIES_PSAMASK_JOB_H_ */
