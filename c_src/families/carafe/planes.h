/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PLANES_H_
#define MLUOP_FAMILIES_CARAFE_PLANES_H_

/* What both kernels of few channels share. A vector holds one channel, or one tap, of VL positions:
   the groups of a column are neighbours, and so are the columns. Rows of the map are kept as a
   plane for each channel, those of the mask as one for each tap. In a plane, a tap lies as many
   positions further as there are groups. */

#include "families/carafe/lanes.h"
#include "families/carafe/small_channels.h"
#include "families/carafe/walk.h"

/* Of 32 registers, 4 x 5 hold sums of taps, and 4 x 4 or 5 x 4 those of channels; of 16, 4 x 3, and
   4 x 2 or 5 x 2. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { LANE_TAPS = 5, LANE_CHANNELS = 4 };
#else
enum { LANE_TAPS = 3, LANE_CHANNELS = 2 };
#endif

/* Numbers of positions: number u of the position `at` is at->at[u * unit + at * scale]. Each has a
   plane, unless a column has whole vectors of groups: then those of a vector stand together. */
struct lane_numbers {
  float *at;
  int64_t unit, scale;
};

static struct lane_numbers numbers_of(const struct walk *s, float *at, int64_t count) {
  const struct carafe_small_scratch *scratch = s->scratch;
  if (scratch->spreads) return (struct lane_numbers){at, VL, count};
  return (struct lane_numbers){at, scratch->plane, 1};
}

/* Positions of a column. */
static int64_t pitch_of(const struct walk *s) {
  return carafe_small_pitch(s->args, s->groups.end - s->groups.begin, VL);
}

/* Of channels, in row y of a ring of the map. */
static struct lane_numbers row_of(const struct walk *s, float *ring, int64_t y) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  return numbers_of(s, ring + y % carafe_small_slots(a) * a->C * scratch->plane, a->C);
}

/* Of position x * pitch + g: from where the block begins, at a line. */
static int64_t place_of(const struct walk *s, int64_t position) {
  const int64_t beside = carafe_padded((s->args->K - 1) / 2 * pitch_of(s));
  return beside + position - s->columns.begin * pitch_of(s);
}

/* Vectors of positions that are prefetched while one is done. */
enum { PREFETCH_VECTORS = 4 };

static int64_t run_of(int64_t position, int64_t pitch, int64_t step) {
  return pitch == step ? position : position / pitch * step + position % pitch;
}

/* The runs of positions from `position` on, before `end`, in a tensor whose columns are `step`
   runs apart. */
static struct runs runs_at(const struct walk *s, int64_t lane[VL], int64_t position, int64_t end,
                           int64_t step) {
  const struct carafe_small_scratch *scratch = s->scratch;
  const int64_t groups = s->groups.end - s->groups.begin, pitch = pitch_of(s);
  int64_t g = position % pitch;
  const int64_t left = scratch->spreads ? groups - g : end - position;
  lane[0] = run_of(position, pitch, step);
  for (int l = 1; l < VL; l++) {
    g = g + 1 < pitch ? g + 1 : 0;
    lane[l] = lane[l - 1] + 1 + (g == 0 ? step - pitch : 0);
  }
  return (struct runs){.neighbours = lane[VL - 1] - lane[0] == VL - 1,
                       .lane = lane,
                       .count = mluop_min(VL, left),
                       .is_half = s->args->is_half,
                       .next = run_of(position + PREFETCH_VECTORS * VL, pitch, step) - lane[0]};
}

static void choose_runs(struct runs *b, const void *tensor, int64_t run, int64_t length) {
  b->tensor = (void *)tensor;
  b->from = run * length;
  b->length = length;
}

static int64_t map_run(const struct walk *s, int64_t y) {
  return (s->n * s->args->H + y) * s->args->W * s->args->G + s->groups.begin;
}

/* Beside the map, windows, weights and gradients are 0. */
static void clear_planes(const struct walk *s) {
  const struct carafe_small_scratch *scratch = s->scratch;
  memset(scratch->input, 0, (size_t)((char *)scratch->taps - (char *)scratch->input));
}

static void pack_row(struct walk *s) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const struct carafe_span columns = columns_seen(s);
  const int64_t y = s->packed_row++, end = columns.end * pitch_of(s);
  const struct lane_numbers row = row_of(s, scratch->input, y);
  for (int64_t p = columns.begin * pitch_of(s); p < end; p += VL) {
    int64_t lane[VL];
    struct runs b = runs_at(s, lane, p, end, a->G);
    choose_runs(&b, s->args->input, map_run(s, y), a->C);
    lanes_take(row.at + place_of(s, p) * row.scale, row.unit, &b);
  }
}

/* Of the first group of each pixel of a slice, around column 0. Returns how many pixels. */
static int runs_of_slice(const struct walk *s, int64_t slice, int64_t *run) {
  const struct carafe_args *a = s->args;
  const struct carafe_span pixels = carafe_slice(a, slice);
  for (int64_t u = pixels.begin; u < pixels.end; u++) {
    const int64_t offset = u / a->S * a->S * a->W + u % a->S;
    *run++ = (first_pixel(s, s->row, 0) + offset) * a->G + s->groups.begin;
  }
  return (int)(pixels.end - pixels.begin);
}

/* Taps beside the map are 0, whatever the gradient: those of VL positions. */
static void clear_outside(const struct walk *s, int64_t position, float *taps) {
  const struct carafe_span rows = rows_seen(s);
  const struct carafe_args *a = s->args;
  const int64_t K = a->K, r = (K - 1) / 2, top = s->row - r, step = CARAFE_TILE * VL;
  const int64_t pitch = pitch_of(s), left = position / pitch, right = (position + VL - 1) / pitch;
  for (int64_t y = 0; y < K; y++) {
    if (top + y >= rows.begin && top + y < rows.end) continue;
    memset(taps + y * K * step, 0, (size_t)(K * step) * sizeof(*taps));
  }
  for (int64_t kw = 0; kw < K; kw++) {
    if (left + kw >= r && right + kw < a->W + r) continue;
    const int64_t begin = (r - kw) * pitch - position;
    const int64_t end = (a->W + r - kw) * pitch - position;
    for (int64_t y = rows.begin - top; y < rows.end - top; y++) {
      float *at = taps + (y * K + kw) * step;
      for (int64_t i = 0; i < step; i += VL) {
        vf_store(at + i, vf_load_span(at + i, begin, end));
      }
    }
  }
}

/* A slice of the windows of VL positions. */
struct lane_windows {
  const float *input;      /* of the first position, in the middle of its window */
  const int64_t *place;    /* of each tap, from there */
  float *taps;             /* tap t of pixel e is number 4 * t + e, of VL floats */
  float *values;           /* of output pixels: channel c of pixel e is number 4 * c + e */
  struct carafe_span span; /* of taps on the map, and those between */
  int64_t channels, input_unit, values_unit; /* units: to the next number */
};

/* For all windows of the row in turn. place: room for all taps. */
static struct lane_windows windows_of(const struct walk *s, float *taps, int64_t values_unit,
                                      int64_t *place) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const int64_t K = a->K, r = (K - 1) / 2, top = s->row - r;
  const struct carafe_span rows = rows_seen(s);
  const struct lane_numbers input = numbers_of(s, scratch->input, a->C);
  for (int64_t y = rows.begin; y < rows.end; y++) {
    const int64_t row = row_of(s, scratch->input, y).at - scratch->input;
    for (int64_t i = 0; i < K; i++) {
      place[(y - top) * K + i] = row + (i - r) * pitch_of(s) * input.scale;
    }
  }
  return (struct lane_windows){.place = place,
                               .taps = taps,
                               .span = {(rows.begin - top) * K, (rows.end - top) * K},
                               .channels = a->C,
                               .input_unit = input.unit,
                               .values_unit = values_unit};
}

#endif /* MLUOP_FAMILIES_CARAFE_PLANES_H_ */
