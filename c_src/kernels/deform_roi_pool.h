/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_H_

#include <stddef.h>
#include <stdint.h>

/* What a bin takes from one pixel row or column of the map: the means over the samples of the bin,
   those outside the map counting as nothing, of three factors. With the sample between `low` and
   `high` of its axis, at `at`:
     weight  1 - frac at low, frac at high: the bilinear weights
     slope   high - at at low, at - low at high: the same, but not clamped to the map
     step    -1 at low, +1 at high
   The sum over a bin's samples of a product of one factor per axis is the sum, over its rows and
   columns, of the products of these. */
struct deform_roi_pool_tap {
  int32_t at;
  float weight, slope, step;
};

/* Geometry of a RoI on the map. A grid of 0 or less has no samples. */
struct deform_roi_pool_roi {
  float x, y, width, height, bin_w, bin_h;
  int32_t image, grid_w, grid_h;
};

/* Bin `index` = (r * pooled_h + ph) * pooled_w + pw. Its samples start at (x, y). */
struct deform_roi_pool_bin {
  float x, y;
  uint32_t roi, index;
};

/* For the cache, bins are worked on in the order of small blocks of the map: strips from left to
   right, in a strip rows of blocks from top to bottom. */
struct deform_roi_pool_blocks {
  int shift;       /* a block has 2^shift x 2^shift pixels */
  int strip_shift; /* a strip is 2^strip_shift blocks wide */
  int64_t down, strips, count;
};

/* grad_input is cut into tiles, each of which belongs to one thread. A list per tile has the bins
   that may touch it; a bin that may touch more than DEFORM_ROI_POOL_MAX_TILES is in the list of its
   image instead. */
enum { DEFORM_ROI_POOL_MAX_TILES = 16 };

/* grad_input is cleared by blocks of so many bytes, if it is not cleared by tiles. */
enum { DEFORM_ROI_POOL_CLEAR_BYTES = 1 << 16 };

/* The lists of a bin: `across` of each of `down` rows of tiles. */
struct deform_roi_pool_place {
  uint32_t list;
  uint16_t down, across;
};

struct deform_roi_pool_tiles {
  int shift_h, shift_w;        /* a tile has 2^shift_h rows and 2^shift_w columns */
  int64_t down, across, count; /* tiles of an image, and of all */
  int64_t channels;            /* of a tile */
  int64_t lists;               /* one for each tile, then one for each image */
  int64_t max_tiles;           /* as many as let all entries be counted in 32 bits */
  int64_t chunk, chunks;       /* bins are put into lists by chunks of so many, in parallel */
  struct deform_roi_pool_place *places; /* of `bins` */
  uint32_t *next;                       /* [chunks][lists]: where the next entry of a chunk goes */
  uint32_t *starts;                     /* list t is entries[starts[t]] to entries[starts[t + 1]] */
  uint32_t *entries;                    /* places in `bins`, in their order */
};

struct deform_roi_pool_args {
  const void *input;       /* [N, H, W, C] */
  const void *rois_data;   /* [R, 5]: image, x1, y1, x2, y2 */
  const void *offset;      /* [R, 2, pooled_h, pooled_w] or NULL: x, then y */
  const void *grad_output; /* [R, pooled_h, pooled_w, C] */
  void *output;            /* like grad_output */
  void *grad_input;        /* like input */
  void *grad_offset;       /* like offset */
  int64_t N, H, W, C, R, pooled_h, pooled_w;
  int64_t sampling_ratio;
  float spatial_scale, gamma;
  int is_half;
  int stream;                     /* a float result is larger than the caches */
  int in_place;                   /* grad_input is cleared first, and its tiles are added to it */
  int look_ahead;                 /* bins need the whole map: forward prefetches its rows */
  double bin_pixels;              /* that a bin reads, on average and roughly */
  int64_t max_taps_h, max_taps_w; /* of one bin */
  struct deform_roi_pool_blocks blocks;
  struct deform_roi_pool_tiles tiles;
  struct deform_roi_pool_roi *rois;
  struct deform_roi_pool_bin *bins;          /* in the order in which they are worked on */
  struct deform_roi_pool_bin *unsorted_bins; /* by index; `bins` itself if that is the order */
  uint32_t *keys;                            /* the block of each unsorted bin */
  uint32_t *block_starts;
  void *work; /* of the threads, work_stride bytes each */
  size_t work_stride;
};

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_H_ */
