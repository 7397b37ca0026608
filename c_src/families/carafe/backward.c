/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/grad_input.h"
#include "families/carafe/grad_mask.h"
#include "families/carafe/kernels.h"
#include "families/carafe/narrow.h"

/* Both gradients of a strip of columns, window row by window row and segment by segment, so that
   the second reader of grad_output finds it in the cache. */

/* The input under the windows of the current row: a ring of rows for each part of the channels. */
struct input_ring {
  const struct carafe_backward_args *args;
  const struct carafe_item *item;
  float *ring;
  int64_t packed; /* rows before this one are complete; of those from there on ... */
  int64_t column; /* ... the columns before this one are */
  struct carafe_rows rows;
};

static float *packed_row(const struct input_ring *in, int64_t y) {
  return in->ring + y % carafe_ring_rows(&in->args->shape) * carafe_row_floats(in->args);
}

static void clear_margins(const struct input_ring *in, int64_t end) {
  const struct carafe_backward_args *args = in->args;
  const int64_t floats = carafe_margin(&args->shape) * in->rows.pixel;
  const int64_t rows = carafe_ring_rows(&args->shape) * carafe_div_up(args->shape.C, args->part);
  for (int64_t row = 0; row < rows && floats > 0; row++) {
    float *at = in->ring + row * carafe_row_floats(args);
    memset(at, 0, (size_t)floats * sizeof(*at));
    memset(at + (end - in->rows.first) * in->rows.pixel, 0, (size_t)floats * sizeof(*at));
  }
}

static void see_row(struct input_ring *in) {
  const struct carafe_shape *a = &in->args->shape;
  const struct carafe_span window = carafe_window(in->item->row, a->K, a->H);
  for (int64_t y = window.begin; y < window.end; y++) {
    in->rows.row[y - window.begin] = packed_row(in, y);
  }
  in->packed = carafe_max(in->packed, window.begin);
  in->column = in->rows.first + carafe_margin(a);
}

/* Packs what windows up to column `last` see and no earlier one did. */
static void see_columns(struct input_ring *in, int64_t last) {
  const struct carafe_backward_args *args = in->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_item *item = in->item;
  const int64_t end = carafe_window(last, a->K, a->W).end;
  const int64_t bottom = carafe_window(item->row, a->K, a->H).end;
  for (int64_t y = in->packed; y < bottom; y++) {
    for (int64_t x = in->column; x < end; x++) {
      int64_t from = (((item->n * a->H + y) * a->W + x) * a->G + item->group) * a->C;
      for (int64_t g = 0; g < item->groups; g++) {
        float *to = packed_row(in, y) + (x - in->rows.first) * in->rows.pixel + g * in->rows.group;
        for (int64_t c = 0; c < a->C; c += args->part) {
          pack_pixel(to, args->input, from + c, carafe_min(args->part, a->C - c), a->is_half);
          to += carafe_part_floats(args);
        }
        from += a->C;
      }
    }
  }
  in->column = end;
}

/* Bytes of grad_output of a segment that stay near until their second reader. */
enum { SEGMENT_BYTES = 1 << 16 };

/* Columns of a segment: whole tiles, about as many in each. */
static int64_t segment_of(const struct carafe_shape *a, const struct carafe_item *item) {
  const int64_t floats = a->S * a->S * item->groups * a->C;
  const int64_t most = SEGMENT_BYTES / (floats * (int64_t)sizeof(float));
  const int64_t columns = carafe_max(2 * DOT_PIXELS, carafe_min(most, CARAFE_SEGMENT));
  const int64_t segments = carafe_div_up(item->columns, columns);
  return carafe_div_up(carafe_div_up(item->columns, segments), DOT_PIXELS) * DOT_PIXELS;
}

static void do_strip(const struct carafe_backward_args *args, struct carafe_item item, int64_t end,
                     float *scratch) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, below = carafe_min(a->H, end + r);
  const struct carafe_span own = {item.column, item.column + item.columns};
  const int64_t left = carafe_max(0, own.begin - r), right = carafe_min(a->W, own.end + r);
  const int64_t step = segment_of(a, &item);
  float *grads = scratch + carafe_weights_size(a);
  struct input_ring in = {.args = args,
                          .item = &item,
                          .ring = grads + carafe_grads_size(args),
                          .rows = {.first = left - carafe_margin(a),
                                   .group = carafe_padded(args->part),
                                   .pixel = item.groups * carafe_padded(args->part)}};
  struct mask_row mask = {.args = args,
                          .item = &item,
                          .map = &in.rows,
                          .part_step = carafe_part_floats(args),
                          .grads = grads,
                          .results = scratch};
  const struct look look = {.args = args, .item = &item, .strip = {item.row, end}, .masks = 1};
  struct spread spread = {.args = args,
                          .item = &item,
                          .begin = item.row,
                          .end = end,
                          .weights = scratch,
                          .ring = in.ring + carafe_input_floats(args)};
  clear_margins(&in, right);
  begin_spread(&spread);
  for (item.row = carafe_max(0, spread.begin - r); item.row < below; item.row++) {
    const int is_own = item.row >= look.strip.begin && item.row < end;
    if (is_own) see_row(&in);
    for (int64_t j = own.begin; j < own.end; j += step) {
      const int64_t stop = carafe_min(j + step, own.end);
      const struct carafe_span centres = {j == own.begin ? left : j,
                                          stop == own.end ? right : stop};
      if (is_own) {
        see_columns(&in, stop - 1);
        if (stop < own.end) {
          look_ahead(&mask.ahead, &look, item.row, stop,
                     stop + step < own.end ? stop + step : right);
        } else {
          look_ahead(&mask.ahead, &look, item.row + 1, left,
                     own.begin + step < own.end ? own.begin + step : right);
        }
        mask_segment(&mask, j, stop);
      }
      spread_segment(&spread, centres.begin, centres.end);
      write_columns(&spread, stop == own.end ? stop : stop - r);
    }
    end_row(&spread, item.row + 1 == below);
    if (is_own) in.packed = carafe_window(item.row, a->K, a->H).end;
  }
}

void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct carafe_backward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int is_narrow =
      a->C <= CARAFE_NARROW && a->K <= CARAFE_NARROW_K && a->K <= VL && !carafe_sums_are_long(a);
  carafe_do_strips(args, begin, end, scratch, is_narrow ? do_narrow_strip : do_strip);
}
