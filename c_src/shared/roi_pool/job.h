/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_JOB_H_
#define MLUOP_SHARED_ROI_POOL_JOB_H_

#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"

/* What a bin takes from one pixel row or column of the map: the means over the samples of the bin,
   those outside the map counting as nothing, of three factors. With the sample between `low` and
   `high` of its axis, at `at`:
     weight  1 - frac at low, frac at high: the bilinear weights
     slope   high - at at low, at - low at high: the same, but not clamped to the map
     step    -1 at low, +1 at high
   The sum over a bin's samples of a product of one factor per axis is the sum, over its rows and
   columns, of the products of these. */
struct roi_pool_tap {
  int32_t at;
  float weight, slope, step;
};

/* Geometry of a RoI on the map. A grid of 0 or less has no samples. */
struct roi_pool_roi {
  float x, y, width, height, bin_w, bin_h;
  int32_t image, grid_w, grid_h;
};

/* Bin `index` = (r * pooled_h + ph) * pooled_w + pw. Its samples start at (x, y). */
struct roi_pool_bin {
  float x, y;
  uint32_t roi, index;
};

/* For the cache, bins are worked on in the order of small buckets of the map: strips from left to
   right, in a strip rows of buckets from top to bottom. */
struct roi_pool_buckets {
  int shift;       /* a bucket has 2^shift x 2^shift pixels */
  int strip_shift; /* a strip is 2^strip_shift buckets wide */
  int64_t down, strips, count;
};

/* grad_input is cut into blocks, each of which belongs to one thread. A list per block has the bins
   that may touch it; a bin that may touch more than `max_blocks` is in the list of its image
   instead. */
enum { ROI_POOL_BLOCK_PIXELS = 1024, ROI_POOL_BLOCK_SIDE = 64 };

/* The pixels that a bin touches: rows from top to bottom - 1, columns from left to right - 1. None
   if bottom is not below top. */
struct roi_pool_box {
  int32_t top, bottom, left, right;
};

/* The lists of a bin: `across` of each of `down` rows of blocks. */
struct roi_pool_place {
  uint32_t list;
  uint16_t down, across;
  uint32_t slopes; /* the first of its slopes, one for each list */
};

/* What a bin has from the pixels of a block for the gradient of its offset: sums over the channels
   of gradient times slope. */
struct roi_pool_slopes {
  float x, y;
};

struct roi_pool_blocks {
  int shift_h, shift_w;        /* a block has 2^shift_h rows and 2^shift_w columns */
  int64_t down, across, count; /* blocks of an image, and of all */
  size_t buffer_bytes;         /* for the sums of a block, unless they are in place */
  int64_t lists;               /* one for each block, then one for each image */
  int64_t max_blocks;          /* that one bin is in the lists of; less than 2^16 */
  int64_t max_entries;         /* of all lists: max_blocks falls until they suffice */
  struct roi_pool_box *boxes;  /* of `bins`, for a kernel of the caller; else they have samples */
  int64_t share, shares;       /* bins per share, of which several are put into lists in parallel */
  struct roi_pool_place *places;  /* of `bins` */
  uint32_t *next;                 /* [shares][lists]: where the next entry of a share goes */
  uint32_t *starts;               /* list t is entries[starts[t]] to entries[starts[t + 1]] */
  uint32_t *entries;              /* places in `bins`, in their order */
  uint32_t *share_slopes;         /* [shares]: how many, and then the first */
  struct roi_pool_slopes *slopes; /* of a bin and a block, as in the place of the bin */
};

/* A block takes bins by groups, and sorts what they do by pixel. */
enum {
  ROI_POOL_GROUP_BINS = 256,
  ROI_POOL_GROUP_CONTRIBUTIONS = 8192,
  ROI_POOL_GROUP_TAPS = 4096 /* and those of one bin more */
};

/* A bin, by its number in the group, touches a pixel: factors of its gradient for grad_input, and
   of gradient times pixel for the slopes. */
struct roi_pool_contribution {
  uint32_t bin;
  float weight, x, y;
};

struct roi_pool_group {
  float slopes[ROI_POOL_GROUP_BINS][2][16]; /* along x and y, a vector of sums each */
  struct roi_pool_contribution contributions[ROI_POOL_GROUP_CONTRIBUTIONS];
  struct {
    const struct roi_pool_tap *row, *col;
    int64_t rows, cols;
    int64_t gradient; /* its first element in grad_output */
    uint32_t entry;   /* its place in all bins */
  } bins[ROI_POOL_GROUP_BINS];
  uint32_t starts[ROI_POOL_BLOCK_PIXELS + 2]; /* of the contributions of each pixel */
  int64_t bin_count, contribution_count, tap_count;
  struct roi_pool_tap *taps;
};

struct roi_pool_shape {
  int64_t N, H, W, C, R, pooled_h, pooled_w;
  int64_t sampling_ratio;
  float spatial_scale, gamma;
  int is_aligned; /* see roi_pool_on_map */
  int is_half;
};

struct roi_pool_data {
  const void *input;       /* [N, H, W, C]; backward needs it for slopes only */
  const void *rois_data;   /* [R, 5]: image, x1, y1, x2, y2 */
  const void *offset;      /* [R, 2, pooled_h, pooled_w] or NULL: x, then y */
  const void *grad_output; /* [R, pooled_h, pooled_w, C] */
  void *output;            /* like grad_output */
  void *grad_input;        /* like input */
  void *grad_offset;       /* like offset */
};

struct roi_pool_plan {
  int own_kernel;   /* the caller computes its results itself, without taps; for this its threads */
  size_t own_bytes; /* need so much memory each, */
  int own_blocks;   /* and so many times the memory of a block */
  int stream;       /* a float result is written past the caches */
  int in_place;     /* grad_input is cleared first, and its blocks are added to it */
  int dense;        /* blocks are cleared as a whole, not the pixels that are touched */
  int64_t parts, part_channels;   /* forward: the channels of a bin are shared out */
  int prefetch_rows;              /* bins need the whole map: forward prefetches its rows */
  double bin_pixels;              /* that a bin reads, on average and roughly */
  double bin_work;                /* the same without RoIs outside the map, which take no time */
  int64_t max_taps_h, max_taps_w; /* of one bin, of a size of at most ... */
  float max_bin_h, max_bin_w;
};

struct roi_pool_memory {
  struct roi_pool_roi *rois;
  struct roi_pool_bin *bins; /* in the order in which they are worked on */
  uint32_t *
      keys; /* by index: the bucket of a bin, then its place in `bins`; NULL if that is the index */
  uint32_t *bucket_starts;
  void *work; /* of the threads, work_stride bytes each */
  size_t work_stride;
};

/* Bins of a block between two questions whether the call has been interrupted. */
enum { ROI_POOL_QUESTION = 256 };

struct roi_pool_args {
  struct roi_pool_shape shape;
  struct mluop_interrupt *interrupt;
  struct roi_pool_data data;
  struct roi_pool_plan plan;
  struct roi_pool_buckets buckets;
  struct roi_pool_blocks blocks;
  struct roi_pool_memory memory;
};

#endif /* MLUOP_SHARED_ROI_POOL_JOB_H_ */
