/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "families/carafe/ahead.h"
#include "families/carafe/column_sums.h"
#include "families/carafe/kernels.h"
#include "families/carafe/lane_dots.h"
#include "families/carafe/lanes.h"

/* Both gradients where groups are few, and have few channels: a vector holds one channel, or one
   tap, of the windows around VL columns. Rows of the input, of grad_output and of grad_input are
   kept channel by channel, those of the mask tap by tap. */

struct strip {
  const struct carafe_backward_args *args;
  const struct carafe_item *item;
  struct carafe_span rows;    /* of the strip */
  struct carafe_span centres; /* columns of windows that reach the strip */
  int64_t first, plane;       /* column at the beginning of a row; to the next channel or tap */
  float *input, *sums;        /* rings of rows, channel by channel of all groups */
  float *weights, *grads;     /* of the windows of a row: of a chunk of pixels and a group */
  float *taps, *tile_grads;   /* of VL of them */
  struct ahead ahead;
  int64_t ahead_lines;
  struct carafe_span seen, owned; /* rows of the window on the map, and in rows of the strip */
  int32_t place[MAX_TAPS];
};

static float *ring_row(const struct strip *s, float *ring, int64_t y) {
  return ring + y % carafe_ring_rows(&s->args->shape) * carafe_columns_row(s->args);
}

/* Block number `block` of a tensor, and those of its neighbours in a row. */
static struct blocks columns_of(const struct strip *s, const void *tensor, int64_t block,
                                int64_t step, int64_t length, int64_t count) {
  return (struct blocks){.tensor = (void *)tensor,
                         .from = block * length,
                         .stride = step * length,
                         .count = carafe_min(count, VL),
                         .length = length,
                         .is_half = s->args->shape.is_half};
}

static void see_row(const struct strip *s, int64_t y) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_item *item = s->item;
  const int64_t end = carafe_min(a->W, s->centres.end);
  float *row = ring_row(s, s->input, y);
  for (int64_t x = s->centres.begin; x < end; x += VL) {
    struct blocks columns = columns_of(s, s->args->input, 0, 1, a->C * a->G, end - x);
    columns.from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    columns.length = item->groups * a->C;
    lanes_take(row + x - s->first, s->plane, &columns);
  }
}

/* Which of two NaNs a sum keeps may depend on how many rows of a strip are done at once. */
static void make_nans_equal(float *row, int64_t count) {
  for (int64_t i = 0; i < count; i += VL) {
    const vf sum = vf_load(row + i);
    vf_store(row + i, vf_select(vf_at_least(sum, sum), sum, vf_set(NAN)));
  }
}

static void write_row(const struct strip *s, int64_t y) {
  const struct carafe_shape *a = &s->args->shape;
  const struct carafe_item *item = s->item;
  const int64_t end = item->column + item->columns, floats = item->groups * a->C * s->plane;
  float *row = ring_row(s, s->sums, y);
  make_nans_equal(row, floats);
  for (int64_t x = item->column; x < end; x += VL) {
    struct blocks columns = columns_of(s, s->args->grad_input, 0, 1, a->C * a->G, end - x);
    columns.from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
    columns.length = item->groups * a->C;
    lanes_put(&columns, row + x - s->first, s->plane);
  }
  memset(row, 0, (size_t)floats * sizeof(*row));
}

/* Where the taps of windows in row item->row are. */
static void see_windows(struct strip *s) {
  const int64_t K = s->args->shape.K, top = s->item->row - (K - 1) / 2;
  const struct carafe_span window = carafe_window(s->item->row, K, s->args->shape.H);
  s->seen = (struct carafe_span){window.begin - top, window.end - top};
  s->owned = (struct carafe_span){carafe_max(window.begin, s->rows.begin) - top,
                                  carafe_min(window.end, s->rows.end) - top};
  for (int64_t y = window.begin; y < window.end; y++) {
    const int64_t row = ring_row(s, s->input, y) - s->input;
    for (int64_t i = 0; i < K; i++) s->place[(y - top) * K + i] = (int32_t)(row + i);
  }
}

/* Taps beside the map are 0, whatever the gradient: those of VL windows, the first around j. */
static void clear_outside(const struct strip *s, int64_t j) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t K = a->K, r = (K - 1) / 2;
  memset(s->taps, 0, (size_t)(s->seen.begin * K * STEP) * sizeof(*s->taps));
  memset(s->taps + s->seen.end * K * STEP, 0,
         (size_t)((K - s->seen.end) * K * STEP) * sizeof(*s->taps));
  for (int64_t kw = 0; kw < K; kw++) {
    const int64_t left = carafe_min(VL, r - kw - j), right = carafe_max(0, a->W + r - kw - j);
    for (int64_t tap = s->seen.begin * K + kw; tap < s->seen.end * K; tap += K) {
      for (int e = 0; e < TILE; e++) {
        float *lanes = s->taps + tap * STEP + e * VL;
        for (int64_t l = 0; l < left; l++) lanes[l] = 0.0f;
        for (int64_t l = right; l < VL; l++) lanes[l] = 0.0f;
      }
    }
  }
}

/* grad_mask of the strip's own columns; block[e] is that of pixel e at column 0. */
static void do_masks(struct strip *s, const int64_t *block, int pixels, int64_t group) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t step = a->S * a->G, end = s->item->column + s->item->columns;
  const struct tile t = {.taps = s->taps,
                         .grads = s->tile_grads,
                         .place = s->place,
                         .span = {s->seen.begin * a->K, s->seen.end * a->K},
                         .channels = a->C,
                         .plane = s->plane};
  for (int64_t j = s->item->column; j < end; j += VL) {
    ahead_ask(&s->ahead, s->ahead_lines);
    for (int64_t i = 0; i < a->C * TILE; i++) {
      vf_store(s->tile_grads + i * VL, vf_load(s->grads + i * s->plane + j - s->first));
    }
    const int64_t corner = j - (a->K - 1) / 2 - s->first + group * a->C * s->plane;
    dots_functions[pixels - 1](&t, s->input + corner);
    clear_outside(s, j);
    for (int e = 0; e < pixels; e++) {
      const struct blocks masks =
          columns_of(s, s->args->grad_mask, block[e] + j * step, step, a->K * a->K, end - j);
      lanes_put(&masks, s->taps + e * VL, STEP);
    }
  }
}

/* grad_input of the strip's own columns. */
static void do_input(const struct strip *s, int pixels, int64_t group) {
  const struct carafe_shape *a = &s->args->shape;
  const int64_t K = a->K, top = s->item->row - (K - 1) / 2;
  for (int64_t x = s->item->column; x < s->item->column + s->item->columns; x += VL) {
    const int64_t at = x - s->first, centre = at + (K - 1) / 2;
    for (int64_t y = s->owned.begin, rows; y < s->owned.end; y += rows) {
      rows = carafe_min(s->owned.end - y, ROWS);
      struct gather t = {.weights = s->weights + y * K * TILE * s->plane + centre,
                         .grads = s->grads + centre,
                         .K = K,
                         .plane = s->plane};
      for (int64_t i = 0; i < rows; i++) {
        t.sums[i] = ring_row(s, s->sums, top + y + i) + group * a->C * s->plane + at;
      }
      gather_functions[rows - 1](&t, a->C, pixels);
    }
  }
}

/* Window row item->row: chunk by chunk of the S x S pixels of a window. */
static void do_row(struct strip *s) {
  const struct carafe_backward_args *args = s->args;
  const struct carafe_shape *a = &args->shape;
  const int64_t S = a->S, chunks = carafe_chunks(a), step = S * a->G;
  const int64_t pixel = (s->item->n * a->H + s->item->row) * S * S * a->W;
  const int is_own = s->item->row >= s->rows.begin && s->item->row < s->rows.end;
  for (int64_t i = 0; i < chunks * s->item->groups; i++) {
    const int64_t chunk = i % chunks, g = i / chunks;
    int64_t block[TILE];
    const int pixels = carafe_chunk_blocks(a, chunk, pixel, s->item->group + g, block);
    for (int64_t j = s->centres.begin; j < s->centres.end; j += VL) {
      ahead_ask(&s->ahead, s->ahead_lines);
      for (int e = 0; e < pixels; e++) {
        float *to = s->weights + e * s->plane + j - s->first;
        const struct blocks masks =
            columns_of(s, args->mask, block[e] + j * step, step, a->K * a->K, s->centres.end - j);
        lanes_take(to, TILE * s->plane, &masks);
        const struct blocks grads =
            columns_of(s, args->grad_output, block[e] + j * step, step, a->C, s->centres.end - j);
        lanes_take(s->grads + (to - s->weights), TILE * s->plane, &grads);
      }
    }
    if (is_own) do_masks(s, block, pixels, g);
    do_input(s, pixels, g);
  }
}

static void do_strip(const struct carafe_backward_args *args, struct carafe_item item, int64_t end,
                     float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, end + r);
  const int64_t ring = carafe_ring_rows(a) * carafe_columns_row(args);
  const struct look look = {.args = args, .item = &item, .strip = {item.row, end}, .masks = 1};
  struct strip s = {
      .args = args,
      .item = &item,
      .rows = look.strip,
      .centres = {carafe_max(0, item.column - r), carafe_min(a->W, item.column + item.columns + r)},
      .first = item.column - (a->K - 1),
      .plane = carafe_columns_plane(args),
      .input = scratch,
      .sums = scratch + ring,
      .weights = scratch + 2 * ring};
  s.grads = s.weights + a->K * a->K * TILE * s.plane;
  s.taps = s.grads + a->C * TILE * s.plane;
  s.tile_grads = s.taps + a->K * a->K * STEP;
  memset(scratch, 0, (size_t)(s.tile_grads - scratch) * sizeof(*scratch));
  const int64_t blocks = carafe_div_up(s.centres.end - s.centres.begin, VL);
  int64_t packed = 0;
  for (item.row = carafe_max(0, s.rows.begin - r); item.row < below; item.row++) {
    see_windows(&s);
    if (item.row >= s.rows.begin && item.row < end) {
      const struct carafe_span window = carafe_window(item.row, a->K, a->H);
      packed = carafe_max(packed, window.begin);
      for (; packed < window.end; packed++) see_row(&s, packed);
    }
    look_ahead(&s.ahead, &look, item.row + 1, s.centres.begin, s.centres.end);
    s.ahead_lines = carafe_div_up(s.ahead.lines, blocks * item.groups);
    do_row(&s);
    const int64_t stop = item.row + 1 == below ? end : carafe_min(end, item.row - r + 1);
    for (int64_t y = carafe_max(item.row - r, s.rows.begin); y < stop; y++) write_row(&s, y);
  }
}

void MLUOP_VARIANT(carafe_backward_columns)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  carafe_do_strips(vargs, begin, end, scratch, do_strip);
}
