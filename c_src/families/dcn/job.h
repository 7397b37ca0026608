/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_JOB_H_
#define MLUOP_FAMILIES_DCN_JOB_H_

#include "core/arena.h"
#include "core/kernel.h"
#include "shared/product_size.h"

/* The tensors of a call, by the letters of the contract. */
struct dcn_shape {
  int64_t N, H, W, C;
  int64_t ho, wo, co;
  int64_t kh, kw;
  int64_t pad_top, pad_left, stride_h, stride_w, dilation_h, dilation_w;
  int64_t deformable_groups, groups;
  int is_half;
};

struct dcn_data {
  const void *input, *offset, *mask; /* mask: NULL without one */
  const void *filter, *bias, *grad_output;
  void *output, *grad_input, *grad_offset, *grad_mask, *grad_filter, *grad_bias;
};

/* How the work is cut. All of it follows from the shape, but for what says otherwise: the cuts
   along sums decide their bits. */
struct dcn_plan {
  int64_t width;   /* of a band of an image, but for the last one */
  int64_t step;    /* pixels: blocks are multiples of it, but for the last one of an image */
  int64_t steps;   /* of an image */
  int64_t blocks;  /* of an image */
  int64_t rows;    /* the pixels of a block, at most */
  int64_t depth;   /* columns of a block: a column is a channel of a tap, taps x C/groups of them */
  int64_t outputs; /* output channels of a block, of each group */
  int64_t merged;  /* groups of the convolution, so narrow that they are sampled together */
  int64_t parts;   /* backward weight: the blocks of pixels are dealt out to so many sums */
  int64_t slice;   /* backward data: the channels that one thread owns at a time */
  int64_t slices;  /* of a group, or of merged groups */
  int64_t finish;  /* backward weight: the outputs of an item at the end */
  int64_t taps;    /* whose samples are placed at a time */
  int64_t slabs;   /* backward data: of the map, from top to bottom (their number changes no bit) */
  int64_t stretch; /* backward data: the blocks of pixels among which a slice may begin anywhere */
  int64_t wave_images, wave_blocks; /* the latter are whole stretches */
};

/* Backward data goes through images by waves: some blocks of pixels of some images. (Their number
   changes no bit.) */
struct dcn_wave {
  int64_t image, images;
  int64_t begin, end; /* blocks of each */
};

struct dcn_args {
  struct dcn_shape shape;
  struct dcn_data data;
  struct dcn_plan plan;
  struct dcn_wave wave;
  struct mluop_interrupt *interrupt;
  float *filter;   /* packed */
  float *sums;     /* backward weight: the sums of each part; half backward data: grad_input */
  float *partials; /* backward data: of each slice and sample in the wave, three sums */
};

/* Extents that follow. */
static inline int64_t dcn_taps(const struct dcn_shape *s) { return s->kh * s->kw; }
static inline int64_t dcn_group_channels(const struct dcn_shape *s) { return s->C / s->groups; }
static inline int64_t dcn_group_outputs(const struct dcn_shape *s) { return s->co / s->groups; }
static inline int64_t dcn_columns(const struct dcn_shape *s) {
  return dcn_taps(s) * dcn_group_channels(s);
}

/* The channels of merged groups. */
static inline int64_t dcn_block_channels(const struct dcn_args *a) {
  return a->plan.merged * dcn_group_channels(&a->shape);
}

/* Columns of merged groups stand side by side in the rows of a matrix, so far apart: there is one
   more, for the bias. */
static inline int64_t dcn_group_stride(const struct dcn_args *a) {
  return dcn_columns(&a->shape) + 1;
}

static inline int64_t dcn_whole_rows(int64_t rows) {
  return mluop_div_up(rows, PRODUCT_WHOLE_ROWS) * PRODUCT_WHOLE_ROWS;
}

/* --------------------------------------------------------------------------------- pixels */

/* An image of outputs has bands from top to bottom. Its pixels are in the order of the bands, and
   of the lines in each. A block is some of them that follow each other: most of what one samples,
   the next one samples, too, and finds it in the cache. */
struct dcn_pixels {
  int64_t image, first, count;
};

/* Where part `index` of an extent begins, of so many. */
static inline int64_t dcn_part(int64_t extent, int64_t parts, int64_t index) {
  return extent * index / parts;
}

/* Block `index` of all images. */
static inline struct dcn_pixels dcn_pixels(const struct dcn_args *a, int64_t index) {
  const int64_t blocks = a->plan.blocks, block = index % blocks, steps = a->plan.steps;
  const int64_t first = dcn_part(steps, blocks, block) * a->plan.step;
  const int64_t end = dcn_part(steps, blocks, block + 1) * a->plan.step;
  return (struct dcn_pixels){index / blocks, first,
                             mluop_min(end, a->shape.ho * a->shape.wo) - first};
}

/* A pixel of a block. */
struct dcn_pixel {
  int64_t p, q;
  int64_t left, right; /* of its band */
};

static inline struct dcn_pixel dcn_first_pixel(const struct dcn_args *a,
                                               const struct dcn_pixels *b) {
  const int64_t band = b->first / (a->shape.ho * a->plan.width), left = band * a->plan.width;
  const int64_t right = mluop_min(left + a->plan.width, a->shape.wo);
  const int64_t at = b->first - left * a->shape.ho, p = at / (right - left);
  return (struct dcn_pixel){p, left + at - p * (right - left), left, right};
}

static inline void dcn_next_pixel(const struct dcn_args *a, struct dcn_pixel *pixel) {
  if (++pixel->q < pixel->right) return;
  if (++pixel->p == a->shape.ho) {
    pixel->p = 0;
    pixel->left = pixel->right;
    pixel->right = mluop_min(pixel->left + a->plan.width, a->shape.wo);
  }
  pixel->q = pixel->left;
}

/* Its number among those of all images. */
static inline int64_t dcn_number(const struct dcn_args *a, const struct dcn_pixels *b,
                                 const struct dcn_pixel *pixel) {
  return (b->image * a->shape.ho + pixel->p) * a->shape.wo + pixel->q;
}

/* -------------------------------------------------------------------------------- samples */

enum {
  DCN_LANES = 16,
  DCN_AHEAD = 4 /* pixels, that corners are fetched ahead: up to a fifth of the time */
};

/* Where DCN_LANES samples lie. The corners of a sample are the pixels (y0, x0), (y0, x0+1), (y0+1,
   x0) and (y0+1, x0+1) of an image. */
struct dcn_places {
  int32_t at[4][DCN_LANES]; /* the first element of the pixel, -1 outside of the map */
  float weight[4][DCN_LANES];
  float ly[DCN_LANES], lx[DCN_LANES];
  float mask[DCN_LANES]; /* 0 where all corners are outside */
};

/* What a sample is for, the same for each pixel: some channels, and their columns. */
struct dcn_piece {
  int64_t sample; /* of a pixel */
  int64_t channel, count;
  int64_t column; /* in the row of the pixel */
};

/* Samples of some pixels: pixel by pixel, tap by tap, deformable group by group. */
struct dcn_range {
  struct dcn_pixels pixels;
  int64_t tap, taps;
  int64_t group, groups; /* deformable ones */
};

/* The range of columns [begin, begin + depth), of which each tap has one for each of `count`
   channels. */
static inline struct dcn_range dcn_range(const struct dcn_shape *s, const struct dcn_pixels *pixels,
                                         int64_t channel, int64_t count, int64_t begin,
                                         int64_t depth) {
  const int64_t shared = s->C / s->deformable_groups, group = channel / shared, tap = begin / count;
  return (struct dcn_range){*pixels, tap, mluop_div_up(begin + depth, count) - tap, group,
                            (channel + count - 1) / shared + 1 - group};
}

static inline int dcn_same_range(const struct dcn_range *a, const struct dcn_range *b) {
  return a->pixels.image == b->pixels.image && a->pixels.first == b->pixels.first &&
         a->pixels.count == b->pixels.count && a->tap == b->tap && a->taps == b->taps &&
         a->group == b->group && a->groups == b->groups;
}

/* Of a range the places are known, some of its samples are wanted. */
struct dcn_samples {
  struct dcn_range range;
  struct dcn_places *places;
  struct dcn_piece *pieces;
  int64_t piece_count;
};

/* Sets the pieces for columns [begin, begin + depth), of which each tap has one for each of `count`
   channels. The range has the samples of these at least. */
static inline void dcn_set_pieces(const struct dcn_shape *s, int64_t channel, int64_t count,
                                  int64_t begin, int64_t depth, struct dcn_samples *b) {
  const int64_t shared = s->C / s->deformable_groups, end = begin + depth;
  b->piece_count = 0;
  for (int64_t column = begin; column < end;) {
    const int64_t tap = column / count, first = tap * count - channel; /* c is column first + c */
    const int64_t group = (column - first) / shared;
    const int64_t high = mluop_min((group + 1) * shared, channel + count);
    const int64_t next = mluop_min(first + high, end);
    b->pieces[b->piece_count++] =
        (struct dcn_piece){(tap - b->range.tap) * b->range.groups + group - b->range.group,
                           column - first, next - column, column - begin};
    column = next;
  }
}

/* At most so many samples has a pixel for some taps, of so many channels that follow each other. */
static inline int64_t dcn_most_samples(const struct dcn_args *a, int64_t taps, int64_t channels) {
  const struct dcn_shape *s = &a->shape;
  const int64_t groups = channels / (s->C / s->deformable_groups) + 2;
  return mluop_min(dcn_taps(s), taps) * mluop_min(channels, groups);
}

/* ---------------------------------------------------------------------- memory of a thread */

/* Rows that a product adds to come first, then those that it reads, then the rest. Where rows are
   far from each other, prefetches of the CPU run ahead by more than MLUOP_THREAD_GAP: what they
   fetch should not be another thread's. */

/* For so many samples of a pixel; no place is known. */
static inline struct dcn_samples dcn_samples(const struct dcn_args *a, int64_t channels,
                                             struct mluop_arena *arena) {
  const int64_t samples = dcn_most_samples(a, a->plan.taps, channels);
  struct dcn_samples b = {.piece_count = 0};
  b.places = mluop_take(arena, mluop_div_up(a->plan.rows * samples, DCN_LANES), sizeof(*b.places));
  b.pieces = mluop_take(arena, samples, sizeof(*b.pieces));
  return b;
}

/* Of forward and of backward weight. */
struct dcn_block_memory {
  struct dcn_samples samples;
  float *matrix;  /* columns of a block: a row for each pixel, PRODUCT_STRIDE apart */
  float *outputs; /* the results of a block; backward weight: grad_output of it, in panels */
};

static inline struct dcn_block_memory dcn_block_memory(const struct dcn_args *a,
                                                       struct mluop_arena *arena) {
  struct dcn_block_memory m;
  m.outputs = mluop_take(arena, a->plan.rows * a->plan.merged * a->plan.outputs, sizeof(float));
  m.matrix = mluop_take(arena, dcn_whole_rows(a->plan.rows) * PRODUCT_STRIDE, sizeof(float));
  m.samples = dcn_samples(a, dcn_block_channels(a), arena);
  return m;
}

struct dcn_data_memory {
  struct dcn_samples samples;
  float *grads; /* grad_output of a block, as a matrix */
  float
      *columns; /* gradients of columns: a row for each pixel, the taps of the block side by side */
  float *nowhere;  /* gets what no pixel of the map gets */
  int32_t *chosen; /* pixels of a block */
};

static inline struct dcn_data_memory dcn_data_memory(const struct dcn_args *a,
                                                     struct mluop_arena *arena) {
  const int64_t columns = a->plan.taps * a->plan.slice;
  struct dcn_data_memory m;
  m.columns = mluop_take(arena, a->plan.rows * columns, sizeof(float));
  m.grads = mluop_take(arena, dcn_whole_rows(a->plan.rows) * PRODUCT_STRIDE, sizeof(float));
  m.samples = dcn_samples(a, a->plan.slice, arena);
  m.nowhere = mluop_take(arena, a->plan.slice, sizeof(float));
  m.chosen = mluop_take(arena, a->plan.rows, sizeof(int32_t));
  return m;
}

#endif /* MLUOP_FAMILIES_DCN_JOB_H_ */
