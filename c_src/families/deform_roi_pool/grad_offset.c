/* SPDX-License-Identifier: Apache-2.0 */
#include "families/deform_roi_pool/kernels.h"
#include "shared/roi_pool/block.h"

/* Vectors of channels whose gradients are held in registers at once. */
enum { VECTORS = VL == 16 ? 16 : 8 };

/* Adds `count` vectors of channels from c, or one of `part` channels, to the sums of gradient times
   slope along x and y. A pixel is multiplied by the gradient first: it is loaded once for both. */
MLUOP_INLINE void add_slopes(const struct roi_pool_args *a, const struct roi_pool_bin_taps *taps,
                             int64_t c, int count, int64_t part, int is_half, vf slopes[2]) {
  vf g[VECTORS];
  for (int k = 0; k < count; k++) {
    const int64_t at = taps->pooled + c + k * VL;
    g[k] = load_channels(a->data.grad_output, at, part, is_half);
  }
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = taps->image + taps->row[i].at * a->shape.W;
    vf x = vf_set(0.0f), y = x;
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->shape.C + c;
      vf sum[4];
      for (int k = 0; k < 4; k++) sum[k] = vf_set(0.0f);
      for (int k = 0; k < count; k++) {
        const vf value = load_channels(a->data.input, pixel + k * VL, part, is_half);
        sum[k % 4] = vf_fma(g[k], value, sum[k % 4]);
      }
      const vf product = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      x = vf_fma(vf_set(taps->col[j].step), product, x);
      y = vf_fma(vf_set(taps->col[j].slope), product, y);
    }
    slopes[0] = vf_fma(vf_set(taps->row[i].slope), x, slopes[0]);
    slopes[1] = vf_fma(vf_set(taps->row[i].step), y, slopes[1]);
  }
}

/* The sums over all pixels of a bin. */
MLUOP_INLINE struct roi_pool_slopes whole_bin(const struct roi_pool_args *a, int64_t item,
                                              struct roi_pool_bin_taps *taps, int is_half) {
  vf slopes[2] = {vf_set(0.0f), vf_set(0.0f)};
  taps->windows = 1;
  for (int64_t window = 0; window < taps->windows; window++) {
    if (!window_taps(a, item, window, 1, taps)) continue;
    int64_t c = 0;
    MLUOP_UNROLL
    for (int count = VECTORS; count > 0; count /= 2) {
      for (; c + count * VL <= a->shape.C; c += count * VL) {
        add_slopes(a, taps, c, count, VL, is_half, slopes);
      }
    }
    if (c < a->shape.C) add_slopes(a, taps, c, 1, a->shape.C - c, is_half, slopes);
  }
  return (struct roi_pool_slopes){vf_sum(slopes[0]), vf_sum(slopes[1])};
}

/* The sums over the blocks of a bin. */
static struct roi_pool_slopes sum_blocks(const struct roi_pool_slopes *slopes) {
  return (struct roi_pool_slopes){(slopes[0].x + slopes[1].x) + (slopes[2].x + slopes[3].x),
                                  (slopes[0].y + slopes[1].y) + (slopes[2].y + slopes[3].y)};
}

/* A bin without samples has the gradient 0, also if its RoI is infinite. */
static float scaled(float gamma, float size, float slope) {
  return slope == 0.0f ? 0.0f : gamma * size * slope;
}

/* Item: a bin, in the order of `bins`. */
void MLUOP_VARIANT(deform_roi_pool_grad_offset)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct roi_pool_args *a = vargs;
  const int64_t plane = a->shape.pooled_h * a->shape.pooled_w;
  struct roi_pool_bin_taps taps = {.row = scratch};
  for (int64_t item = begin; item < end; item++) {
    struct roi_pool_slopes slopes;
    if (keeps_slopes(a, item)) {
      slopes = sum_blocks(a->memory.slopes + item * ROI_POOL_SLOPES);
    } else {
      if (item + AHEAD < end) prefetch_gradient(a, item + AHEAD);
      slopes = a->shape.is_half ? whole_bin(a, item, &taps, 1) : whole_bin(a, item, &taps, 0);
    }
    const struct roi_pool_roi *roi = &a->memory.rois[a->memory.bins[item].roi];
    const int64_t index = a->memory.bins[item].index, at = index + index / plane * plane;
    mluop_store_as(a->data.grad_offset, at, scaled(a->shape.gamma, roi->width, slopes.x),
                   a->shape.is_half);
    mluop_store_as(a->data.grad_offset, at + plane, scaled(a->shape.gamma, roi->height, slopes.y),
                   a->shape.is_half);
  }
}
