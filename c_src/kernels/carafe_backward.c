/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe.h"
#include "kernels/simd.h"

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

static void grad_mask_row(const struct carafe_backward_args *args, int64_t row) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, taps = a->K * a->K;
  const int64_t n = row / a->H, i = row % a->H;
  for (int64_t pixel = 0; pixel < a->S * a->S * a->W; pixel++) {
    const int64_t j = pixel % (a->S * a->W) / a->S;
    const int64_t out = row * a->S * a->S * a->W + pixel;
    for (int64_t t = 0; t < a->G * taps; t++) {
      const int64_t g = t / taps, y = t % taps / a->K + i - r, x = t % a->K + j - r;
      float sum = 0.0f;
      for (int64_t c = 0; c < a->C && y >= 0 && y < a->H && x >= 0 && x < a->W; c++) {
        const int64_t in = (((n * a->H + y) * a->W + x) * a->G + g) * a->C + c;
        sum += mluop_load_as(args->grad_output, (out * a->G + g) * a->C + c, a->is_half) *
               mluop_load_as(args->input, in, a->is_half);
      }
      mluop_store_as(args->grad_mask, out * a->G * taps + t, sum, a->is_half);
    }
  }
}

static void grad_input_row(const struct carafe_backward_args *args, int64_t row) {
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, taps = a->K * a->K, channels = a->G * a->C;
  const int64_t n = row / a->H, i = row % a->H;
  for (int64_t j = 0; j < a->W; j++) {
    for (int64_t c = 0; c < channels; c++) {
      float sum = 0.0f;
      for (int64_t p = a->S * max64(0, i - r); p < a->S * min64(a->H, i + r + 1); p++) {
        for (int64_t q = a->S * max64(0, j - r); q < a->S * min64(a->W, j + r + 1); q++) {
          const int64_t out = (n * a->S * a->H + p) * a->S * a->W + q;
          const int64_t tap = (i - p / a->S + r) * a->K + j - q / a->S + r;
          sum += mluop_load_as(args->mask, (out * a->G + c / a->C) * taps + tap, a->is_half) *
                 mluop_load_as(args->grad_output, out * channels + c, a->is_half);
        }
      }
      mluop_store_as(args->grad_input, (row * a->W + j) * channels + c, sum, a->is_half);
    }
  }
}

/* Item: a row of the input map. */
void MLUOP_VARIANT(carafe_backward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  for (int64_t row = begin; row < end; row++) {
    grad_mask_row(vargs, row);
    grad_input_row(vargs, row);
  }
}
