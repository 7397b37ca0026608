/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_taps.h"

/* Vectors of channels that are summed in registers at once. */
enum { SUMS = VL == 16 ? 16 : 8 };

struct taps {
  int64_t image, rows, cols;
  struct deform_roi_pool_tap *row, *col;
};

static void describe(const struct deform_roi_pool_args *a, int64_t index, struct taps *taps) {
  const struct bin bin = bin_at(a, index);
  taps->image = bin.image;
  taps->cols = 0;
  taps->rows = axis_taps(&bin.y, (struct range){0, a->H}, taps->row);
  if (taps->rows > 0) taps->cols = axis_taps(&bin.x, (struct range){0, a->W}, taps->col);
}

/* `count` vectors of channels from c; the last of `part` channels. */
MLUOP_INLINE void pool_channels(const struct deform_roi_pool_args *a, const struct taps *taps,
                                int64_t out, int64_t c, int count, int64_t part, int is_half) {
  vf sum[SUMS];
  for (int k = 0; k < count; k++) sum[k] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = ((taps->image * a->H + taps->row[i].at) * a->W) * a->C + c;
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = row + taps->col[j].at * a->C;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      for (int k = 0; k < count; k++) {
        const vf value = part == VL ? vf_load_as(a->input, pixel + k * VL, is_half)
                                    : vf_load_part_as(a->input, pixel, part, is_half);
        sum[k] = vf_fma(weight, value, sum[k]);
      }
    }
  }
  for (int k = 0; k < count; k++) {
    if (part == VL) {
      vf_store_as(a->output, out + c + k * VL, sum[k], is_half);
    } else {
      vf_store_part_as(a->output, out + c, sum[k], part, is_half);
    }
  }
}

MLUOP_INLINE void pool_bin(const struct deform_roi_pool_args *a, const struct taps *taps,
                           int64_t index, int is_half) {
  const int64_t out = index * a->C;
  int64_t c = 0;
  for (; c + SUMS * VL <= a->C; c += SUMS * VL) pool_channels(a, taps, out, c, SUMS, VL, is_half);
  for (; c + 4 * VL <= a->C; c += 4 * VL) pool_channels(a, taps, out, c, 4, VL, is_half);
  for (; c + VL <= a->C; c += VL) pool_channels(a, taps, out, c, 1, VL, is_half);
  if (c < a->C) pool_channels(a, taps, out, c, 1, a->C - c, is_half);
}

/* Item: a bin. */
void MLUOP_VARIANT(deform_roi_pool_forward)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  struct deform_roi_pool_tap *memory = scratch;
  struct taps taps = {.row = memory, .col = memory + a->max_taps_h};
  for (int64_t index = begin; index < end; index++) {
    describe(a, index, &taps);
    if (a->is_half) {
      pool_bin(a, &taps, index, 1);
    } else {
      pool_bin(a, &taps, index, 0);
    }
  }
}
