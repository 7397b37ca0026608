/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_COLUMN_SUMS_H_
#define MLUOP_FAMILIES_CARAFE_COLUMN_SUMS_H_

/* grad_input of VL columns of the map, from rows of the mask and of grad_output in which windows
   that are neighbours lie side by side. */

#include "families/carafe/item.h"

/* Rows of the map, and channels, that are added up at once: of 32 registers, 5 x 4 hold sums. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { ROWS = 5, CHANNELS = 4 };
#else
enum { ROWS = 5, CHANNELS = 2 };
#endif

/* What the pixels of a chunk give to VL columns of some rows of the map. */
struct gather {
  const float *weights, *grads; /* of the centre that puts tap 0 of a row on the first column */
  int64_t K, plane;             /* plane: from a pixel, and from a tap or channel, to the next */
  float *sums[ROWS];
};

/* The centre that puts tap kw on a column lies kw columns before the one that puts tap 0 there. */
MLUOP_INLINE void gather_sums(const struct gather *t, int64_t channel, int pixels, int rows,
                              int channels) {
  const int64_t plane = t->plane, tap_step = CARAFE_TILE * plane, row_step = t->K * tap_step;
  vf sum[ROWS][CHANNELS];
  MLUOP_UNROLL for (int y = 0; y < rows; y++) {
    MLUOP_UNROLL for (int c = 0; c < channels; c++) sum[y][c] = vf_set(0.0f);
  }
  const float *weights = t->weights, *grads = t->grads + channel * tap_step;
  for (int64_t kw = 0; kw < t->K; kw++, weights += tap_step - 1, grads--) {
    for (int64_t e = 0; e < pixels * plane; e += plane) {
      vf grad[CHANNELS];
      MLUOP_UNROLL for (int c = 0; c < channels; c++) {
        grad[c] = vf_pin(vf_load(grads + e + c * tap_step));
      }
      MLUOP_UNROLL for (int y = 0; y < rows; y++) {
        const vf w = vf_pin(vf_load(weights + e + y * row_step));
        MLUOP_UNROLL for (int c = 0; c < channels; c++) sum[y][c] = vf_fma(w, grad[c], sum[y][c]);
      }
    }
  }
  MLUOP_UNROLL for (int y = 0; y < rows; y++) {
    MLUOP_UNROLL for (int c = 0; c < channels; c++) {
      float *to = t->sums[y] + (channel + c) * plane;
      vf_store(to, vf_load(to) + sum[y][c]);
    }
  }
}

MLUOP_INLINE void gather_rows(const struct gather *t, int64_t all, int pixels, int rows) {
  int64_t c = 0;
  for (; c + CHANNELS <= all; c += CHANNELS) gather_sums(t, c, pixels, rows, CHANNELS);
  if (CHANNELS > 2 && all - c == 3) gather_sums(t, c, pixels, rows, CHANNELS - 1);
  if (CHANNELS > 2 && all - c == 2) gather_sums(t, c, pixels, rows, 2);
  if (all - c == 1) gather_sums(t, c, pixels, rows, 1);
}

typedef void gather_function(const struct gather *t, int64_t channels, int pixels);

#define GATHER(rows)                                                                \
  static void gather_##rows(const struct gather *t, int64_t channels, int pixels) { \
    gather_rows(t, channels, pixels, rows);                                         \
  }
GATHER(1)
GATHER(2)
GATHER(3)
GATHER(4)
GATHER(5)

/* By rows - 1. */
static gather_function *const gather_functions[ROWS] = {gather_1, gather_2, gather_3, gather_4,
                                                        gather_5};

#endif /* MLUOP_FAMILIES_CARAFE_COLUMN_SUMS_H_ */
