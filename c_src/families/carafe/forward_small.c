/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/carafe/kernels.h"
#include "families/carafe/planes.h"

/* small_channels: the forward where groups have few channels. The weights of a vector of positions
   are transposed, its sums made in registers, and transposed again when they are stored. */

/* `count` channels from number `channel` on, of some taps: added to what the taps before made. */
MLUOP_INLINE void sum_channels(const struct lane_windows *t, int64_t channel,
                               struct carafe_span taps, int pixels, int count) {
  const int64_t unit = t->input_unit;
  vf sum[CARAFE_TILE][LANE_CHANNELS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int c = 0; c < count; c++) sum[e][c] = vf_set(0.0f);
  }
  const float *input = t->input + channel * unit,
              *weights = t->taps + taps.begin * CARAFE_TILE * VL;
  for (int64_t tap = taps.begin; tap < taps.end; tap++, weights += CARAFE_TILE * VL) {
    const float *x = input + t->place[tap];
    vf seen[LANE_CHANNELS];
    MLUOP_UNROLL for (int c = 0; c < count; c++) seen[c] = vf_opaque(vf_load(x + c * unit));
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      const vf w = vf_opaque(vf_load(weights + e * VL));
      MLUOP_UNROLL for (int c = 0; c < count; c++) sum[e][c] = vf_fma(w, seen[c], sum[e][c]);
    }
  }
  float *to = t->values + channel * CARAFE_TILE * VL;
  MLUOP_UNROLL for (int c = 0; c < count; c++) {
    MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
      float *at = to + (c * CARAFE_TILE + e) * VL;
      if (taps.begin > t->span.begin) sum[e][c] = vf_load(at) + sum[e][c];
      vf_store(at, sum[e][c]);
    }
  }
}

/* `length` taps at once: long sums are made in two levels. */
MLUOP_INLINE void sum_taps(const struct lane_windows *t, int64_t length, int pixels) {
  for (int64_t tap = t->span.begin; tap < t->span.end; tap += length) {
    const struct carafe_span taps = {tap, mluop_min(tap + length, t->span.end)};
    int64_t c = 0;
    for (; c + LANE_CHANNELS <= t->channels; c += LANE_CHANNELS) {
      sum_channels(t, c, taps, pixels, LANE_CHANNELS);
    }
    if (LANE_CHANNELS > 2 && t->channels - c >= 2) {
      sum_channels(t, c, taps, pixels, 2);
      c += 2;
    }
    if (c < t->channels) sum_channels(t, c, taps, pixels, 1);
  }
}

static void sum_lanes(const struct lane_windows *t, int64_t length, int pixels) {
  if (pixels == 1) sum_taps(t, length, 1);
  if (pixels == 3) sum_taps(t, length, 3);
  if (pixels == 4) sum_taps(t, length, 4);
}

/* All windows of a row of the block. */
static void do_row(struct walk *s) {
  const struct carafe_args *a = s->args;
  const struct carafe_small_scratch *scratch = s->scratch;
  const struct lane_numbers input = numbers_of(s, scratch->input, a->C);
  const int64_t pitch = pitch_of(s), begin = s->windows.begin * pitch, end = s->windows.end * pitch;
  int64_t place[CARAFE_FORWARD_K * CARAFE_FORWARD_K];
  struct lane_windows t = windows_of(s, scratch->weights, VL, place);
  t.values = scratch->grads;
  for (int64_t slice = 0; slice < carafe_slices(a); slice++) {
    int64_t run[CARAFE_TILE];
    const int pixels = runs_of_slice(s, slice, run);
    for (int64_t p = begin; p < end; p += VL) {
      int64_t lane[VL];
      struct runs b = runs_at(s, lane, p, end, a->S * a->G);
      for (int e = 0; e < pixels; e++) {
        choose_runs(&b, s->args->mask, run[e], a->K * a->K);
        lanes_take(t.taps + e * VL, CARAFE_TILE * VL, &b);
      }
      clear_outside(s, p, t.taps);
      t.input = input.at + place_of(s, p) * input.scale;
      sum_lanes(&t, CARAFE_SUM_LENGTH / a->K * a->K, pixels);
      for (int e = 0; e < pixels; e++) {
        choose_runs(&b, s->args->output, run[e], a->C);
        lanes_put(&b, t.values + e * VL, CARAFE_TILE * VL);
      }
    }
  }
}

void MLUOP_VARIANT(carafe_forward_small)(const void *vargs, int64_t begin, int64_t end,
                                         void *memory) {
  const struct carafe_args *args = vargs;
  struct mluop_arena arena = {memory, 0};
  struct carafe_small_scratch scratch = carafe_small_layout(&arena, args, VL);
  while (begin < end) {
    struct walk s = next_block(args, &begin, end);
    s.scratch = &scratch;
    clear_planes(&s);
    while (next_windows(&s)) {
      while (s.packed_row < rows_seen(&s).end) pack_row(&s);
      do_row(&s);
    }
  }
}
