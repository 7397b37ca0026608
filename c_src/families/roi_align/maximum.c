/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "families/roi_align/job.h"
#include "families/roi_align/kernels.h"
#include "shared/bilinear.h"
#include "shared/roi_pool/bin.h"

/* The maximum of each bin and where it is, channel by channel. All arithmetic has one rounding per
   operation, in the order of the contract: every CPU finds the same maxima. */

/* Samples that are compared before the next ones are looked for; columns of them that are kept from
   row to row. */
enum { CANDIDATES = 64, COLUMNS = 128 };

/* Vectors of channels whose maxima are held in registers at once, with both coordinates. */
enum { VECTORS = VL == 16 ? 8 : 2 };

/* A sample that may be the maximum: the four pixels around it, and their weights. */
struct candidate {
  const char *pixel[4];
  float weight[4];
  float x, y;
};

struct column {
  int64_t low, high;
  float frac, at;
};

/* The search for the maxima of a bin. */
struct search {
  const struct roi_pool_args *args;
  const char *image;
  float *best, *x, *y; /* of each channel, so far */
  const char *zeros;   /* a pixel */
  int begun;           /* best, x and y are set */
  int exact;           /* NaN is told from minus infinity */
  int count, column_count;
  int all_columns; /* `columns` are those of every row */
  struct candidate candidates[CANDIDATES];
  struct column columns[COLUMNS];
};

/* ---------------------------------------------------------------------------- comparisons */

/* Compares `count` vectors of channels from c, or one of `part` channels. What is never greater,
   NaN and minus infinity, leaves minus infinity and the first sample. */
MLUOP_INLINE void compare_vectors(const struct search *s, int64_t c, int count, int64_t part,
                                  int is_half) {
  const int64_t element = is_half ? 2 : 4;
  vf best[VECTORS], x[VECTORS], y[VECTORS];
  MLUOP_UNROLL
  for (int k = 0; k < count; k++) {
    best[k] = s->begun ? vf_load(s->best + c + k * VL) : vf_set(-INFINITY);
    x[k] = s->begun ? vf_load(s->x + c + k * VL) : vf_set(s->candidates[0].x);
    y[k] = s->begun ? vf_load(s->y + c + k * VL) : vf_set(s->candidates[0].y);
  }
  for (int i = 0; i < s->count; i++) {
    const struct candidate *candidate = &s->candidates[i];
    vf weight[4];
    for (int j = 0; j < 4; j++) weight[j] = vf_set(candidate->weight[j]);
    MLUOP_UNROLL
    for (int k = 0; k < count; k++) {
      vf value = vf_set(0.0f);
      for (int j = 0; j < 4; j++) {
        const char *from = candidate->pixel[j] + (c + k * VL) * element;
        const vf product = weight[j] * load_channels(from, 0, part, is_half);
        value = j == 0 ? product : (vf)(value + product);
      }
      const vm greater = vf_greater(value, best[k]);
      best[k] = vf_max(value, best[k]);
      x[k] = vf_select(greater, vf_set(candidate->x), x[k]);
      y[k] = vf_select(greater, vf_set(candidate->y), y[k]);
    }
  }
  MLUOP_UNROLL
  for (int k = 0; k < count; k++) {
    vf_store(s->best + c + k * VL, best[k]);
    vf_store(s->x + c + k * VL, x[k]);
    vf_store(s->y + c + k * VL, y[k]);
  }
}

/* All channels. The last vector may overlap the one before it: that changes nothing. */
MLUOP_INLINE void compare_channels(const struct search *s, int is_half) {
  const int64_t channels = s->args->shape.C;
  int64_t c = 0;
  MLUOP_UNROLL
  for (int count = VECTORS; count > 0; count /= 2) {
    for (; c + count * VL <= channels; c += count * VL) compare_vectors(s, c, count, VL, is_half);
  }
  if (c == channels) return;
  if (channels > VL) {
    compare_vectors(s, channels - VL, 1, VL, is_half);
  } else {
    compare_vectors(s, 0, 1, channels, is_half);
  }
}

/* The same where NaN or minus infinity may be all there is: NaN loses against every number. */
static void compare_exactly(const struct search *s) {
  const int is_half = s->args->shape.is_half;
  for (int64_t c = 0; c < s->args->shape.C; c++) {
    if (!s->begun) {
      s->best[c] = NAN;
      s->x[c] = s->candidates[0].x;
      s->y[c] = s->candidates[0].y;
    }
    for (int i = 0; i < s->count; i++) {
      const struct candidate *candidate = &s->candidates[i];
      float value = candidate->weight[0] * mluop_load_as(candidate->pixel[0], c, is_half);
      for (int j = 1; j < 4; j++) {
        value += candidate->weight[j] * mluop_load_as(candidate->pixel[j], c, is_half);
      }
      const int first = s->best[c] != s->best[c] && value == value;
      if (!first && !(value > s->best[c])) continue;
      s->best[c] = value;
      s->x[c] = candidate->x;
      s->y[c] = candidate->y;
    }
  }
}

static void compare(struct search *s) {
  if (s->exact) {
    compare_exactly(s);
  } else if (s->args->shape.is_half) {
    compare_channels(s, 1);
  } else {
    compare_channels(s, 0);
  }
  s->begun = 1;
  s->count = 0;
}

/* -------------------------------------------------------------------------------- samples */

static inline struct candidate *next_candidate(struct search *s) {
  if (s->count == CANDIDATES) compare(s);
  return &s->candidates[s->count++];
}

/* Sample number k in the order of the contract. */
MLUOP_INLINE float sample_number(const struct axis *axis, int64_t k) {
  return sample_at(axis, axis->bin < 0.0f ? axis->grid - 1 - k : k);
}

/* The numbers of those on the map: they follow each other. */
static struct range numbers_inside(const struct axis *axis) {
  const struct range inside = samples_within(axis, (struct range){0, axis->extent});
  if (inside.begin >= inside.end) return (struct range){0, 0};
  if (axis->bin >= 0.0f) return inside;
  return (struct range){axis->grid - inside.end, axis->grid - inside.begin};
}

/* The first sample outside stands for all of them. */
static void add_outside(struct search *s, float y, float x) {
  *next_candidate(s) = (struct candidate){
      .pixel = {s->zeros, s->zeros, s->zeros, s->zeros}, .weight = {1.0f}, .x = x, .y = y};
}

/* Fills `columns` from sample k on, and returns the first one that they have no room for. Of
   samples at one and the same place the first is the maximum. */
static int64_t find_columns(struct search *s, const struct axis *x, int64_t k, int64_t end) {
  s->column_count = 0;
  for (; k < end && s->column_count < COLUMNS; k++) {
    struct column *column = &s->columns[s->column_count];
    struct mluop_axis where = {0};
    column->at = sample_number(x, k);
    if (s->column_count > 0 && column->at == column[-1].at) continue;
    mluop_axis_at(column->at, x->extent, &where);
    column->low = where.low;
    column->high = where.high;
    column->frac = where.frac;
    s->column_count++;
  }
  return k;
}

static void add_row(struct search *s, float y, const struct axis *x, struct range columns) {
  const struct roi_pool_shape *shape = &s->args->shape;
  struct mluop_axis row = {0};
  mluop_axis_at(y, shape->H, &row);
  const int64_t pixel = shape->C * (shape->is_half ? 2 : 4);
  const char *top = s->image + row.low * shape->W * pixel;
  const char *bottom = s->image + row.high * shape->W * pixel;
  for (int64_t k = columns.begin; k < columns.end;) {
    const int64_t begin = k;
    k = s->all_columns ? columns.end : find_columns(s, x, k, columns.end);
    s->all_columns = begin == columns.begin && k == columns.end;
    for (int i = 0; i < s->column_count; i++) {
      const struct column *column = &s->columns[i];
      struct candidate *candidate = next_candidate(s);
      candidate->pixel[0] = top + column->low * pixel;
      candidate->pixel[1] = top + column->high * pixel;
      candidate->pixel[2] = bottom + column->low * pixel;
      candidate->pixel[3] = bottom + column->high * pixel;
      candidate->weight[0] = (1.0f - row.frac) * (1.0f - column->frac);
      candidate->weight[1] = (1.0f - row.frac) * column->frac;
      candidate->weight[2] = row.frac * (1.0f - column->frac);
      candidate->weight[3] = row.frac * column->frac;
      candidate->x = column->at;
      candidate->y = y;
    }
  }
}

/* All samples of a bin in their order, row by row. */
static void search(struct search *s, const struct axis *y, const struct axis *x) {
  const struct range rows = numbers_inside(y), columns = numbers_inside(x);
  s->begun = s->count = s->all_columns = 0;
  const int all_outside = rows.begin >= rows.end || columns.begin >= columns.end;
  const int starts_outside = all_outside || rows.begin > 0 || columns.begin > 0;
  const int leaves_first_row = !starts_outside && columns.end < x->grid;
  if (starts_outside) add_outside(s, sample_number(y, 0), sample_number(x, 0));
  float last = 0.0f;
  for (int64_t k = rows.begin; !all_outside && k < rows.end; k++) {
    const float at = sample_number(y, k);
    if (k > rows.begin && at == last) continue;
    add_row(s, at, x, columns);
    last = at;
    if (k == 0 && leaves_first_row) add_outside(s, at, sample_number(x, columns.end));
  }
  if (!starts_outside && !leaves_first_row && rows.end < y->grid) {
    add_outside(s, sample_number(y, rows.end), sample_number(x, 0));
  }
  compare(s);
}

/* --------------------------------------------------------------------------------- kernel */

static int has_lowest(const float *best, int64_t count) {
  int found = 0;
  for (int64_t c = 0; c < count; c++) found |= best[c] == -INFINITY;
  return found;
}

static void find_maxima(struct search *s, const struct roi_pool_bin *bin) {
  const struct roi_pool_args *a = s->args;
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  const struct axes axes = axes_of(a, bin);
  if (axes.y.grid <= 0 || axes.x.grid <= 0) {
    for (int64_t c = 0; c < a->shape.C; c++) {
      s->best[c] = 0.0f;
      s->x[c] = s->y[c] = -1.0f;
    }
    return;
  }
  const int64_t element = a->shape.is_half ? 2 : 4;
  s->image =
      (const char *)a->data.input + roi->image * a->shape.H * a->shape.W * a->shape.C * element;
  s->exact = 0;
  search(s, &axes.y, &axes.x);
  if (!has_lowest(s->best, a->shape.C)) return;
  s->exact = 1;
  search(s, &axes.y, &axes.x);
}

/* Item: a bin, in the order of `bins`. */
void MLUOP_VARIANT(roi_align_maximum)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct roi_align_args *args = vargs;
  const struct roi_pool_args *a = &args->pool;
  const int64_t channels = a->shape.C;
  const size_t row = roi_align_row(channels);
  memset((char *)scratch + 3 * row, 0, row);
  struct search s = {.args = a, .zeros = (const char *)scratch + 3 * row, .best = scratch};
  s.x = s.best + row / sizeof(float);
  s.y = s.x + row / sizeof(float);
  for (int64_t item = begin; item < end; item++) {
    const struct roi_pool_bin *bin = &a->memory.bins[item];
    const int64_t at = bin->index * channels;
    find_maxima(&s, bin);
    store_run(a, s.best, channels, a->shape.is_half, a->data.output, at);
    store_run(a, s.x, channels, a->shape.is_half, args->argmax_x, at);
    store_run(a, s.y, channels, a->shape.is_half, args->argmax_y, at);
  }
  if (a->plan.stream) vf_stream_end();
}
