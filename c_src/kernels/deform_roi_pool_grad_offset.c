/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_gather.h"

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* The gradient of a bin is prefetched while the ones before it are worked on, so many bytes of it.
 */
enum { AHEAD = 2, PREFETCH_GRADIENT = 1 << 12 };

/* Sums over channels, a lane each: gradient times the slope of the value. */
struct slopes {
  vf x, y;
};

/* Adds `count` vectors of channels from c, or one of `part` channels. A pixel is multiplied by the
   gradient first: it is loaded once for both sums. */
MLUOP_INLINE void add_slopes(const struct deform_roi_pool_args *a, const struct bin_taps *taps,
                             int64_t c, int count, int64_t part, int is_half,
                             struct slopes *slopes) {
  vf g[VECTORS];
  for (int k = 0; k < count; k++) {
    const int64_t at = taps->index * a->C + c + k * VL;
    g[k] = part == VL ? vf_load_as(a->grad_output, at, is_half)
                      : vf_load_part_as(a->grad_output, at, part, is_half);
  }
  vf x = slopes->x, y = slopes->y;
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = row_of_pixels(a, taps, i);
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->C + c;
      vf sum[4];
      for (int k = 0; k < 4; k++) sum[k] = vf_set(0.0f);
      for (int k = 0; k < count; k++) {
        const vf value = part == VL ? vf_load_as(a->input, pixel + k * VL, is_half)
                                    : vf_load_part_as(a->input, pixel, part, is_half);
        sum[k % 4] = vf_fma(g[k], value, sum[k % 4]);
      }
      const vf product = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      x = vf_fma(vf_set(taps->row[i].slope * taps->col[j].step), product, x);
      y = vf_fma(vf_set(taps->row[i].step * taps->col[j].slope), product, y);
    }
  }
  slopes->x = x;
  slopes->y = y;
}

MLUOP_INLINE void store_slopes(const struct deform_roi_pool_args *a, const struct bin_taps *taps,
                               int is_half) {
  const int64_t plane = a->pooled_h * a->pooled_w;
  const int64_t at = taps->index + taps->index / plane * plane;
  /* A bin without samples has the gradient 0, also if its RoI is infinite. */
  float x = 0.0f, y = 0.0f;
  if (taps->cols > 0) {
    struct slopes slopes = {vf_set(0.0f), vf_set(0.0f)};
    int64_t c = 0;
    for (; c + VECTORS * VL <= a->C; c += VECTORS * VL) {
      add_slopes(a, taps, c, VECTORS, VL, is_half, &slopes);
    }
    for (; c + VL <= a->C; c += VL) add_slopes(a, taps, c, 1, VL, is_half, &slopes);
    if (c < a->C) add_slopes(a, taps, c, 1, a->C - c, is_half, &slopes);
    x = a->gamma * taps->roi->width * vf_sum(slopes.x);
    y = a->gamma * taps->roi->height * vf_sum(slopes.y);
  }
  mluop_store_as(a->grad_offset, at, x, is_half);
  mluop_store_as(a->grad_offset, at + plane, y, is_half);
}

MLUOP_INLINE void prefetch_gradient(const struct deform_roi_pool_args *a, int64_t item) {
  const int64_t bytes = a->C * (a->is_half ? 2 : 4);
  const char *gradient = (const char *)a->grad_output + a->bins[item].index * bytes;
  for (int64_t b = 0; b < bytes && b < PREFETCH_GRADIENT; b += 64) mluop_prefetch(gradient + b);
}

/* Item: a bin, in the order of `bins`. */
void MLUOP_VARIANT(deform_roi_pool_grad_offset)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  struct bin_taps taps[2];
  place_taps(a, scratch, 2, taps);
  describe_bin(a, begin, 1, &taps[0]);
  for (int64_t item = begin; item < end; item++) {
    struct bin_taps *next = &taps[(item + 1 - begin) & 1];
    if (item + AHEAD < end) prefetch_gradient(a, item + AHEAD);
    if (item + 1 < end) {
      describe_bin(a, item + 1, 1, next);
      prefetch_pixels(a, next);
    }
    if (a->is_half) {
      store_slopes(a, &taps[(item - begin) & 1], 1);
    } else {
      store_slopes(a, &taps[(item - begin) & 1], 0);
    }
  }
}
