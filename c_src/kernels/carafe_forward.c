/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/carafe.h"
#include "kernels/simd.h"

static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Item: a row of the input map. */
void MLUOP_VARIANT(carafe_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int64_t r = (a->K - 1) / 2, channels = a->G * a->C;
  for (int64_t row = begin; row < end; row++) {
    const int64_t n = row / a->H, i = row % a->H;
    for (int64_t pixel = 0; pixel < a->S * a->S * a->W; pixel++) {
      const int64_t q = pixel % (a->S * a->W), j = q / a->S;
      const int64_t out = row * a->S * a->S * a->W + pixel;
      for (int64_t c = 0; c < channels; c++) {
        const int64_t mask = (out * a->G + c / a->C) * a->K * a->K;
        float sum = 0.0f;
        for (int64_t y = max64(0, i - r); y < min64(a->H, i + r + 1); y++) {
          for (int64_t x = max64(0, j - r); x < min64(a->W, j + r + 1); x++) {
            sum +=
                mluop_load_as(args->mask, mask + (y - i + r) * a->K + x - j + r, a->is_half) *
                mluop_load_as(args->input, ((n * a->H + y) * a->W + x) * channels + c, a->is_half);
          }
        }
        mluop_store_as(args->output, out * channels + c, sum, a->is_half);
      }
    }
  }
}
