/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_JOB_H_
#define MLUOP_SHARED_ROI_POOL_JOB_H_

#include <stdbool.h>
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

/* A bin is looked at by windows of the map with so many rows and columns, mostly by one. An axis of
   a window has up to two taps for each pixel, and needs memory for some more. */
enum { ROI_POOL_WINDOW = 2048, ROI_POOL_WINDOW_TAPS = 2 * ROI_POOL_WINDOW + 128 };

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

/* The pixels that bins may touch: rows from top to bottom - 1, columns from left to right - 1. None
   if bottom is not below top. Rows are those of all images, one image below the other. */
struct roi_pool_box {
  int32_t top, bottom, left, right;
};

/* For the cache, bins are worked on in the order of small buckets of the map: strips from left to
   right, in a strip rows of buckets from top to bottom. */
struct roi_pool_buckets {
  int shift;       /* a bucket has 2^shift x 2^shift pixels */
  int strip_shift; /* a strip is 2^strip_shift buckets wide */
  int64_t down, strips, count;
};

/* grad_input is cut into blocks, each of which belongs to one thread. It takes all bins whose boxes
   meet it, in their order; the boxes of runs of bins tell where to look. A block has up to so many
   pixels and floats: a part of the L2 cache. */
enum { ROI_POOL_BLOCK_PIXELS = ROI_POOL_WINDOW, ROI_POOL_BLOCK_FLOATS = 1 << 17 };
struct roi_pool_blocks {
  int shift_h, shift_w;        /* a block has 2^shift_h rows and 2^shift_w columns */
  int64_t down, across, count; /* blocks of an image, and of all */
  size_t buffer_bytes;         /* for the sums of a block */
};

/* What a bin has from the pixels of a block for the gradient of its offset: sums over the channels
   of gradient times slope. There is room for two blocks in each direction; larger bins are left to
   grad_offset. */
enum { ROI_POOL_SLOPES = 4 };
struct roi_pool_slopes {
  float x, y;
};

/* A block may take bins by groups, and sort what they do by pixel. */
enum {
  ROI_POOL_GROUP_BINS = 256,
  ROI_POOL_GROUP_CONTRIBUTIONS = 4 * ROI_POOL_BLOCK_PIXELS,
  ROI_POOL_GROUP_TAPS = 4096 /* and those of one bin more */
};

/* A bin, by its number in the group, touches a pixel: factors of its gradient for grad_input, and
   of gradient times pixel for the slopes. */
struct roi_pool_contribution {
  uint32_t bin;
  float weight, x, y;
};

/* The taps of a bin on some rows and columns. */
struct roi_pool_bin_taps {
  struct roi_pool_tap *row, *col;
  int64_t rows, cols;
  int64_t item;    /* its place in `bins` */
  int64_t windows; /* of the bin */
  int64_t pooled;  /* its first element in output or grad_output */
  int64_t image;   /* the first pixel of its image */
};

struct roi_pool_group {
  float slopes[ROI_POOL_GROUP_BINS][2][16]; /* along x and y, a vector of sums each */
  struct roi_pool_contribution contributions[ROI_POOL_GROUP_CONTRIBUTIONS];
  struct roi_pool_bin_taps bins[ROI_POOL_GROUP_BINS];
  uint32_t starts[ROI_POOL_BLOCK_PIXELS + 2]; /* of the contributions of each pixel */
  int64_t bin_count, contribution_count, tap_count;
  struct roi_pool_tap taps[ROI_POOL_GROUP_TAPS + 2 * ROI_POOL_WINDOW_TAPS];
};

struct roi_pool_shape {
  int64_t N, H, W, C, R, pooled_h, pooled_w;
  int64_t sampling_ratio;
  float spatial_scale, gamma;
  int is_aligned; /* see on_map */
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
  size_t own_bytes;       /* kernels of the caller need so much memory for each thread, */
  int own_blocks;         /* and so many times the memory of a block; */
  int64_t own_few;        /* fewer channels than these are few for them: see job_of */
  int stream;             /* a float result is written past the caches */
  int64_t prefetch_bytes; /* forward, by each bin: if the map does not come from the caches */
  double bin_pixels;      /* that a bin reads, on average and roughly */
};

struct roi_pool_memory {
  struct roi_pool_roi *rois;
  struct roi_pool_bin *bins; /* in the order in which they are worked on */
  uint32_t *
      keys; /* by index: the bucket of a bin, then its place in `bins`; NULL if that is the index */
  uint32_t *bucket_starts;
  struct roi_pool_box *boxes; /* of `bins` */
  struct roi_pool_box *runs;  /* of each 2^run_shift of them that follow each other */
  int run_shift;
  struct roi_pool_slopes *slopes; /* [bins][ROI_POOL_SLOPES]; NULL if all are left to grad_offset */
  void *work;                     /* of the threads, work_stride bytes each */
  size_t work_stride;
};

struct roi_pool_args {
  struct roi_pool_shape shape;
  struct mluop_interrupt *interrupt;
  struct roi_pool_data data;
  struct roi_pool_plan plan;
  struct roi_pool_buckets buckets;
  struct roi_pool_blocks blocks;
  struct roi_pool_memory memory;
};

/* The image of a RoI is a number in the data: truncated toward zero, it must exist. */
static inline bool roi_pool_has_image(float image, int64_t images) {
  return image > -1.0f && image < 2147483648.0f && (int64_t)image < images;
}

static inline int64_t roi_pool_bins(const struct roi_pool_args *args) {
  return args->shape.R * args->shape.pooled_h * args->shape.pooled_w;
}

#endif /* MLUOP_SHARED_ROI_POOL_JOB_H_ */
