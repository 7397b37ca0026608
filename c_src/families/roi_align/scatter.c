/* SPDX-License-Identifier: Apache-2.0 */
#include "families/roi_align/job.h"
#include "families/roi_align/kernels.h"
#include "shared/bilinear.h"
#include "shared/roi_pool/block.h"

/* The gradient of the maxima: each channel of a bin goes to the four pixels around a point of its
   own. */

/* On up to so many rows and columns, all pixels of a bin take something from each channel: mostly
   zeros, but in vectors. */
enum { FEW_PIXELS = 8 };

/* Fewer channels than these are done one by one. */
enum { FEW_CHANNELS = 4 };

/* Whole numbers that are floats. */
enum { EXACT_FLOATS = 1 << 24 };

/* The sums of a block are added up after so many bins: rounding does not grow with their number. */
enum { SUMMED_BINS = 1024 };

/* ---------------------------------------------------------------------------------- points */

struct scatter_point {
  struct mluop_axis row, col;
};

/* The point of element `at`; false if it adds nothing. */
MLUOP_INLINE int point_at(const struct roi_align_args *args, int64_t at, int is_half,
                          struct scatter_point *point) {
  const float y = mluop_load_as(args->given_argmax_y, at, is_half);
  const float x = mluop_load_as(args->given_argmax_x, at, is_half);
  return y != -1.0f && mluop_axis_at(y, args->pool.shape.H, &point->row) &&
         mluop_axis_at(x, args->pool.shape.W, &point->col);
}

/* The points of a vector of channels, or of `part` of them: on the map, what lies at its rim moved
   onto it. */
struct points {
  vf y, x;
  vm inside; /* adds something */
};

MLUOP_INLINE vf within(vf v, float low, float high, vf flag) {
  flag = vf_select(vf_at_least(v, vf_set(low)), flag, vf_set(0.0f));
  return vf_select(vf_at_least(vf_set(high), v), flag, vf_set(0.0f));
}

MLUOP_INLINE vf onto(vf v, int64_t extent) {
  const vf last = vf_set((float)(extent - 1)), some = vf_max(v, vf_set(0.0f));
  return vf_select(vf_greater(some, last), last, some);
}

MLUOP_INLINE struct points points_at(const struct roi_align_args *args, int64_t at, int64_t part,
                                     int is_half) {
  const struct roi_pool_shape *shape = &args->pool.shape;
  const vf y = load_channels(args->given_argmax_y, at, part, is_half);
  const vf x = load_channels(args->given_argmax_x, at, part, is_half);
  vf flag = vf_select(vf_nonzero(y - vf_set(-1.0f)), vf_set(1.0f), vf_set(0.0f));
  flag = within(y, -1.0f, (float)shape->H, flag);
  flag = within(x, -1.0f, (float)shape->W, flag);
  return (struct points){onto(y, shape->H), onto(x, shape->W), vf_nonzero(flag)};
}

/* ----------------------------------------------------------------------------------- reach */

MLUOP_INLINE void widen(struct roi_pool_box *box, const struct scatter_point *point) {
  if (point->row.low < box->top) box->top = (int32_t)point->row.low;
  if (point->row.high >= box->bottom) box->bottom = (int32_t)point->row.high + 1;
  if (point->col.low < box->left) box->left = (int32_t)point->col.low;
  if (point->col.high >= box->right) box->right = (int32_t)point->col.high + 1;
}

MLUOP_INLINE float largest_lane(vf v) {
  float lanes[VL], largest = -FLT_MAX;
  vf_store(lanes, v);
  for (int i = 0; i < VL; i++) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

/* Of the rows of its image. Vectors find the outermost points, the first ones as the last ones with
   the other sign; the last vector may overlap the one before it. */
MLUOP_INLINE struct roi_pool_box reach_of(const struct roi_align_args *args, int64_t bin,
                                          int is_half) {
  const struct roi_pool_shape *shape = &args->pool.shape;
  const int64_t at = bin * shape->C;
  struct roi_pool_box box = {INT32_MAX, 0, INT32_MAX, 0};
  if (shape->C < VL) {
    for (int64_t c = 0; c < shape->C; c++) {
      struct scatter_point point;
      if (point_at(args, at + c, is_half, &point)) widen(&box, &point);
    }
    return box;
  }
  const vf none = vf_set(-FLT_MAX), zero = vf_set(0.0f);
  vf edges[4] = {none, none, none, none};
  for (int64_t c = 0; c < shape->C; c += VL) {
    const int64_t first = c + VL <= shape->C ? c : shape->C - VL;
    const struct points points = points_at(args, at + first, VL, is_half);
    edges[0] = vf_max(vf_select(points.inside, points.y, none), edges[0]);
    edges[1] = vf_max(vf_select(points.inside, points.x, none), edges[1]);
    edges[2] = vf_max(vf_select(points.inside, zero - points.y, none), edges[2]);
    edges[3] = vf_max(vf_select(points.inside, zero - points.x, none), edges[3]);
  }
  float most[4];
  for (int i = 0; i < 4; i++) most[i] = largest_lane(edges[i]);
  if (most[0] < 0.0f) return box;
  struct scatter_point low = {0}, high = {0};
  mluop_axis_at(-most[2], shape->H, &low.row);
  mluop_axis_at(-most[3], shape->W, &low.col);
  mluop_axis_at(most[0], shape->H, &high.row);
  mluop_axis_at(most[1], shape->W, &high.col);
  widen(&box, &low);
  widen(&box, &high);
  return box;
}

/* Item: a bin, in the order of `bins`. The pixels that its points touch. */
void MLUOP_VARIANT(roi_align_reach)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_align_args *args = vargs;
  const struct roi_pool_args *a = &args->pool;
  for (int64_t item = begin; item < end; item++) {
    const struct roi_pool_bin *bin = &a->memory.bins[item];
    struct roi_pool_box box =
        a->shape.is_half ? reach_of(args, bin->index, 1) : reach_of(args, bin->index, 0);
    if (box.bottom > 0) {
      const int32_t first = a->memory.rois[bin->roi].image * (int32_t)a->shape.H;
      box.top += first;
      box.bottom += first;
    }
    a->memory.boxes[item] = box;
  }
}

/* --------------------------------------------------------------------------------- scatter */

MLUOP_INLINE void add_at(struct roi_block *block, int64_t row, int64_t col, int64_t c,
                         float value) {
  if (row < block->rows.begin || row >= block->rows.end || col < block->cols.begin ||
      col >= block->cols.end) {
    return;
  }
  block->sums[(row - block->rows.begin) * block->pitch + (col - block->cols.begin) * block->stride +
              c] += value;
}

/* Channels from c on, one by one. */
MLUOP_INLINE void scatter_channels(const struct roi_align_args *args, struct roi_block *block,
                                   int64_t bin, int64_t c, int is_half) {
  const int64_t channels = args->pool.shape.C;
  for (; c < channels; c++) {
    const int64_t at = bin * channels + c;
    struct scatter_point point;
    if (!point_at(args, at, is_half, &point)) continue;
    const float gradient = mluop_load_as(args->pool.data.grad_output, at, is_half);
    const float below = point.row.frac, right = point.col.frac;
    const float above = 1.0f - below, left = 1.0f - right;
    add_at(block, point.row.low, point.col.low, c, above * left * gradient);
    add_at(block, point.row.low, point.col.high, c, above * right * gradient);
    add_at(block, point.row.high, point.col.low, c, below * left * gradient);
    add_at(block, point.row.high, point.col.high, c, below * right * gradient);
  }
}

/* How much of a point belongs to a row or column: less the farther it is, nothing from 1 on. Before
   the pixel that is the distance to the one before, which is exact; what is left of the distance to
   the pixel itself would be rounded twice. */
MLUOP_INLINE vf share_of(vf at, int64_t pixel) {
  const vf before = at - vf_set((float)(pixel - 1)), past = at - vf_set((float)pixel);
  const vf share = vf_select(vf_at_least(past, vf_set(0.0f)), vf_set(1.0f) - past, before);
  return vf_max(share, vf_set(0.0f));
}

/* Channels that are enough for a vector, to all pixels of a box that is on the block. Their number
   is returned. */
MLUOP_INLINE int64_t scatter_vectors(const struct roi_align_args *args, struct roi_block *block,
                                     int64_t bin, struct range rows, struct range cols,
                                     int is_half) {
  const int64_t channels = args->pool.shape.C, stride = block->stride;
  float *first = block->sums + (rows.begin - block->rows.begin) * block->pitch +
                 (cols.begin - block->cols.begin) * stride;
  int64_t c = 0;
  for (int64_t part = VL; c + FEW_CHANNELS <= channels; c += part) {
    const int64_t at = bin * channels + c;
    if (channels - c < VL) part = channels - c;
    const struct points points = points_at(args, at, part, is_half);
    const vf given = load_channels(args->pool.data.grad_output, at, part, is_half);
    const vf gradient = vf_select(points.inside, given, vf_set(0.0f));
    vf shares[FEW_PIXELS];
    for (int64_t j = 0; j < cols.end - cols.begin; j++)
      shares[j] = share_of(points.x, cols.begin + j);
    for (int64_t i = 0; i < rows.end - rows.begin; i++) {
      const vf of_row = share_of(points.y, rows.begin + i) * gradient;
      float *sum = first + i * block->pitch + c;
      for (int64_t j = 0; j < cols.end - cols.begin; j++, sum += stride) {
        vf_store(sum, vf_fma(of_row, shares[j], vf_load(sum)));
      }
    }
  }
  return c;
}

/* Nothing times infinity is not nothing. */
MLUOP_INLINE int all_finite(const void *gradients, int64_t at, int64_t count, int is_half) {
  int finite = 1;
  for (int64_t c = 0; c < count; c++) {
    const float value = mluop_load_as(gradients, at + c, is_half);
    finite &= value - value == 0.0f;
  }
  return finite;
}

static inline struct range common(struct range a, int64_t begin, int64_t end) {
  return (struct range){a.begin > begin ? a.begin : begin, a.end < end ? a.end : end};
}

MLUOP_INLINE void scatter_bin(const struct roi_align_args *args, struct roi_block *block,
                              int64_t item, int is_half) {
  const struct roi_pool_args *a = &args->pool;
  const struct roi_pool_box *box = &a->memory.boxes[item];
  const int64_t first = block->image * a->shape.H;
  const struct range rows = common(block->rows, box->top - first, box->bottom - first);
  const struct range cols = common(block->cols, box->left, box->right);
  for (int64_t row = rows.begin; row < rows.end; row++) touch(block, row - block->rows.begin);
  const int64_t bin = a->memory.bins[item].index;
  int64_t c = 0;
  if (rows.end - rows.begin <= FEW_PIXELS && cols.end - cols.begin <= FEW_PIXELS &&
      rows.end <= EXACT_FLOATS && cols.end <= EXACT_FLOATS &&
      all_finite(a->data.grad_output, bin * a->shape.C, a->shape.C, is_half)) {
    c = scatter_vectors(args, block, bin, rows, cols, is_half);
  }
  scatter_channels(args, block, bin, c, is_half);
}

/* ----------------------------------------------------------------------------------- blocks */

/* Sums of a block that is added to by many bins: 0, and no pixel of the block is left out. */
static void start_totals(struct roi_block *block, double *totals) {
  const int64_t rows = block->rows.end - block->rows.begin;
  memset(totals, 0, (size_t)(rows * block->pitch) * sizeof(*totals));
  for (int64_t row = 0; row < rows; row++) touch(block, row);
}

/* Moves the sums so far into the totals, or, in the end, all of them back. */
static void sum_up(struct roi_block *block, double *totals, int is_end) {
  const int64_t floats = (block->rows.end - block->rows.begin) * block->pitch;
  for (int64_t i = 0; i < floats; i++) {
    totals[i] += (double)block->sums[i];
    block->sums[i] = is_end ? (float)totals[i] : 0.0f;
  }
}

static void prefetch_points(const struct roi_align_args *args, int64_t item) {
  const int64_t bytes = args->pool.shape.C * (args->pool.shape.is_half ? 2 : 4);
  const int64_t at = args->pool.memory.bins[item].index * bytes;
  mluop_prefetch_bytes(args->given_argmax_x, at, mluop_min(bytes, PREFETCH_GRADIENT));
  mluop_prefetch_bytes(args->given_argmax_y, at, mluop_min(bytes, PREFETCH_GRADIENT));
}

/* Item: a block of grad_input. It belongs to one thread, which adds the bins in their order: the
   sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(roi_align_scatter)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct roi_align_args *args = vargs;
  const struct roi_pool_args *a = &args->pool;
  double *totals = (void *)((char *)scratch + a->blocks.buffer_bytes);
  struct roi_block block;
  for (int64_t number = begin; number < end; number++) {
    start_block(a, number, scratch, &block);
    int64_t count = 0;
    for (int64_t item; (item = next_bin(a, &block)) >= 0; count++) {
      if (block.found >= 0) prefetch_points(args, block.found);
      if (count == SUMMED_BINS) start_totals(&block, totals);
      if (count > 0 && count % SUMMED_BINS == 0) sum_up(&block, totals, 0);
      if (a->shape.is_half) {
        scatter_bin(args, &block, item, 1);
      } else {
        scatter_bin(args, &block, item, 0);
      }
    }
    if (count > SUMMED_BINS) sum_up(&block, totals, 1);
    store_block(a, &block);
  }
  if (a->plan.stream) vf_stream_end();
}
