/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_taps.h"

/* --------------------------------------------------------------------------- grad_offset */

/* Adds g * (d value / d x, d value / d y) of one vector of channels to *x and *y. */
MLUOP_INLINE void add_slopes(const struct deform_roi_pool_args *a, int64_t pixel0, int64_t rows,
                             const struct deform_roi_pool_tap *row, int64_t cols,
                             const struct deform_roi_pool_tap *col, vf g, int64_t part, int is_half,
                             vf *x, vf *y) {
  vf dx = vf_set(0.0f), dy = vf_set(0.0f);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      const int64_t pixel = pixel0 + (row[i].at * a->W + col[j].at) * a->C;
      const vf value = part == VL ? vf_load_as(a->input, pixel, is_half)
                                  : vf_load_part_as(a->input, pixel, part, is_half);
      dx = vf_fma(vf_set(row[i].slope * col[j].step), value, dx);
      dy = vf_fma(vf_set(row[i].step * col[j].slope), value, dy);
    }
  }
  *x = vf_fma(g, dx, *x);
  *y = vf_fma(g, dy, *y);
}

/* Item: a bin. */
void MLUOP_VARIANT(deform_roi_pool_grad_offset)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  struct deform_roi_pool_tap *row = scratch, *col = row + a->max_taps_h;
  const int64_t plane = a->pooled_h * a->pooled_w;
  for (int64_t index = begin; index < end; index++) {
    const struct bin bin = bin_at(a, index);
    const int64_t rows = axis_taps(&bin.y, (struct range){0, a->H}, row);
    const int64_t cols = rows > 0 ? axis_taps(&bin.x, (struct range){0, a->W}, col) : 0;
    vf x = vf_set(0.0f), y = vf_set(0.0f);
    for (int64_t c = 0; cols > 0 && c < a->C; c += VL) {
      const int64_t part = a->C - c < VL ? a->C - c : VL;
      const vf g = vf_load_part_as(a->grad_output, index * a->C + c, part, a->is_half);
      add_slopes(a, bin.image * a->H * a->W * a->C + c, rows, row, cols, col, g, part, a->is_half,
                 &x, &y);
    }
    const struct roi roi = roi_at(a, index / plane);
    const int64_t at = index / plane * 2 * plane + index % plane;
    const float zero = 0.0f; /* a bin without samples has the gradient 0, also if its RoI is NaN */
    mluop_store_as(a->grad_offset, at, cols > 0 ? a->gamma * roi.width * vf_sum(x) : zero,
                   a->is_half);
    mluop_store_as(a->grad_offset, at + plane, cols > 0 ? a->gamma * roi.height * vf_sum(y) : zero,
                   a->is_half);
  }
}

/* ---------------------------------------------------------------------------- grad_input */

struct tile {
  int64_t image, channel, channels, stride; /* floats per pixel in memory */
  struct range rows, cols;
  float *sums, *gradient;
};

static void add_bin(const struct deform_roi_pool_args *a, const struct tile *tile, int64_t index,
                    int64_t rows, const struct deform_roi_pool_tap *row, int64_t cols,
                    const struct deform_roi_pool_tap *col) {
  const int64_t width = tile->cols.end - tile->cols.begin;
  for (int64_t c = 0; c < tile->channels; c += VL) {
    const int64_t part = tile->channels - c < VL ? tile->channels - c : VL;
    vf_store(tile->gradient + c,
             vf_load_part_as(a->grad_output, index * a->C + tile->channel + c, part, a->is_half));
  }
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      float *sum =
          tile->sums +
          ((row[i].at - tile->rows.begin) * width + col[j].at - tile->cols.begin) * tile->stride;
      const vf weight = vf_set(row[i].weight * col[j].weight);
      for (int64_t c = 0; c < tile->channels; c += VL) {
        vf_store(sum + c, vf_fma(weight, vf_load(tile->gradient + c), vf_load(sum + c)));
      }
    }
  }
}

static void store_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const float *sum = tile->sums;
  for (int64_t h = tile->rows.begin; h < tile->rows.end; h++) {
    for (int64_t w = tile->cols.begin; w < tile->cols.end; w++, sum += tile->stride) {
      const int64_t at = ((tile->image * a->H + h) * a->W + w) * a->C + tile->channel;
      for (int64_t c = 0; c < tile->channels; c += VL) {
        const int64_t part = tile->channels - c < VL ? tile->channels - c : VL;
        vf_store_part_as(a->grad_input, at + c, vf_load(sum + c), part, a->is_half);
      }
    }
  }
}

static struct range block(int64_t index, int64_t size, int64_t extent) {
  const struct range range = {index * size,
                              (index + 1) * size < extent ? (index + 1) * size : extent};
  return range;
}

static struct tile tile_at(const struct deform_roi_pool_args *a, int64_t item, float *memory) {
  const int64_t tiles_h = (a->H + a->tile_h - 1) / a->tile_h;
  const int64_t tiles_w = (a->W + a->tile_w - 1) / a->tile_w;
  const int64_t tiles_c = (a->C + a->tile_c - 1) / a->tile_c;
  const int64_t tile = item / tiles_c;
  const struct range channels = block(item % tiles_c, a->tile_c, a->C);
  struct tile t = {.image = tile / tiles_w / tiles_h,
                   .channel = channels.begin,
                   .channels = channels.end - channels.begin,
                   .rows = block(tile / tiles_w % tiles_h, a->tile_h, a->H),
                   .cols = block(tile % tiles_w, a->tile_w, a->W),
                   .gradient = memory};
  t.stride = (t.channels + VL - 1) / VL * VL;
  t.sums = memory + t.stride;
  return t;
}

/* Item: a tile of grad_input, of tile_h x tile_w pixels and tile_c channels. It belongs to one
   thread, and adds the bins in the order of their numbers: so the sum for an element does not
   depend on threads or tiles. */
void MLUOP_VARIANT(deform_roi_pool_grad_input)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  struct deform_roi_pool_tap *row = scratch, *col = row + a->max_taps_h;
  float *memory = (float *)(void *)(col + a->max_taps_w);
  for (int64_t item = begin; item < end; item++) {
    const struct tile tile = tile_at(a, item, memory);
    const int64_t pixels = (tile.rows.end - tile.rows.begin) * (tile.cols.end - tile.cols.begin);
    memset(tile.sums, 0, (size_t)(pixels * tile.stride) * sizeof(float));
    for (int64_t index = 0; index < a->R * a->pooled_h * a->pooled_w; index++) {
      const struct bin bin = bin_at(a, index);
      if (bin.image != tile.image) continue;
      const int64_t rows = axis_taps(&bin.y, tile.rows, row);
      if (rows == 0) continue;
      const int64_t cols = axis_taps(&bin.x, tile.cols, col);
      add_bin(a, &tile, index, rows, row, cols, col);
    }
    store_tile(a, &tile);
  }
}
