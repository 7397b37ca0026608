/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_taps.h"

struct tile {
  int64_t image;
  struct range rows, cols, channels;
  int64_t stride;  /* floats per pixel: channels, filled up to whole vectors */
  float *sums;     /* of the pixels of the tile */
  float *gradient; /* of one bin */
  struct deform_roi_pool_tap *row, *col;
};

static struct range part_of(int64_t index, int64_t size, int64_t extent) {
  const int64_t begin = index * size;
  return (struct range){begin, begin + size < extent ? begin + size : extent};
}

static void find_tile(const struct deform_roi_pool_args *a, int64_t number, int64_t channel_block,
                      struct tile *tile) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const int64_t row = number / tiles->across, col = number % tiles->across;
  tile->image = row / tiles->down;
  tile->rows = part_of(row % tiles->down, INT64_C(1) << tiles->shift_h, a->H);
  tile->cols = part_of(col, INT64_C(1) << tiles->shift_w, a->W);
  tile->channels = part_of(channel_block, tiles->channels, a->C);
  tile->stride = (tile->channels.end - tile->channels.begin + VL - 1) / VL * VL;
}

/* The gradient of a bin as floats, zeros up to whole vectors: no pixel needs a part of one. */
MLUOP_INLINE const float *load_gradient(const struct deform_roi_pool_args *a,
                                        const struct tile *tile, int64_t index) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  const int64_t at = index * a->C + tile->channels.begin;
  if (!a->is_half && channels == tile->stride) return (const float *)a->grad_output + at;
  for (int64_t c = 0; c < channels; c += VL) {
    const int64_t part = channels - c < VL ? channels - c : VL;
    vf_store(tile->gradient + c, vf_load_part_as(a->grad_output, at + c, part, a->is_half));
  }
  return tile->gradient;
}

static void add_bin(const struct deform_roi_pool_args *a, const struct tile *tile,
                    const struct deform_roi_pool_bin *bin) {
  const struct deform_roi_pool_roi *roi = &a->rois[bin->roi];
  const struct axis y = axis_y(a, roi, bin->y), x = axis_x(a, roi, bin->x);
  const int64_t rows = axis_taps(&y, tile->rows, tile->row);
  if (rows == 0) return;
  const int64_t cols = axis_taps(&x, tile->cols, tile->col);
  if (cols == 0) return;
  const float *gradient = load_gradient(a, tile, bin->index);
  const int64_t width = tile->cols.end - tile->cols.begin;
  for (int64_t i = 0; i < rows; i++) {
    float *sums = tile->sums + (tile->row[i].at - tile->rows.begin) * width * tile->stride;
    for (int64_t j = 0; j < cols; j++) {
      float *sum = sums + (tile->col[j].at - tile->cols.begin) * tile->stride;
      const vf weight = vf_set(tile->row[i].weight * tile->col[j].weight);
      for (int64_t c = 0; c < tile->stride; c += VL) {
        vf_store(sum + c, vf_fma(weight, vf_load(gradient + c), vf_load(sum + c)));
      }
    }
  }
}

static void add_list(const struct deform_roi_pool_args *a, const struct tile *tile, int64_t list) {
  const struct deform_roi_pool_tiles *tiles = &a->tiles;
  const uint32_t begin = tiles->starts[list], end = tiles->starts[list + 1];
  for (uint32_t i = begin; i < end; i++) add_bin(a, tile, &a->bins[tiles->entries[i]]);
}

/* Stores a run of floats of the tile as elements from `at`. */
MLUOP_INLINE void store_run(const struct deform_roi_pool_args *a, int64_t at, const float *sum,
                            int64_t count, int is_half) {
  if (!is_half && a->stream) {
    stream_run((float *)a->grad_input + at, sum, count);
    return;
  }
  int64_t c = 0;
  for (; c + VL <= count; c += VL) vf_store_as(a->grad_input, at + c, vf_load(sum + c), is_half);
  if (c < count) vf_store_part_as(a->grad_input, at + c, vf_load(sum + c), count - c, is_half);
}

static void store_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  const int64_t width = tile->cols.end - tile->cols.begin;
  /* Pixels that are as wide in the tile as in grad_input make one run per row. */
  const int whole = channels == a->C && channels == tile->stride;
  const int64_t runs = whole ? 1 : width, length = whole ? width * channels : channels;
  const float *sum = tile->sums;
  for (int64_t h = tile->rows.begin; h < tile->rows.end; h++) {
    const int64_t row = ((tile->image * a->H + h) * a->W + tile->cols.begin) * a->C;
    for (int64_t i = 0; i < runs; i++, sum += whole ? length : tile->stride) {
      const int64_t at = row + i * a->C + tile->channels.begin;
      if (a->is_half) {
        store_run(a, at, sum, length, 1);
      } else {
        store_run(a, at, sum, length, 0);
      }
    }
  }
}

/* A tile that no bin touches. */
static void clear_tile(const struct deform_roi_pool_args *a, const struct tile *tile) {
  const int64_t channels = tile->channels.end - tile->channels.begin;
  const int64_t width = tile->cols.end - tile->cols.begin;
  const int64_t runs = channels == a->C ? 1 : width,
                length = runs == 1 ? width * channels : channels;
  const size_t element = a->is_half ? 2 : 4;
  for (int64_t h = tile->rows.begin; h < tile->rows.end; h++) {
    const int64_t row = ((tile->image * a->H + h) * a->W + tile->cols.begin) * a->C;
    for (int64_t i = 0; i < runs; i++) {
      const size_t at = (size_t)(row + i * a->C + tile->channels.begin) * element;
      memset((char *)a->grad_input + at, 0, (size_t)length * element);
    }
  }
}

static int64_t list_length(const struct deform_roi_pool_args *a, int64_t list) {
  return (int64_t)a->tiles.starts[list + 1] - (int64_t)a->tiles.starts[list];
}

/* Item: a tile of grad_input and some of its channels. It belongs to one thread, which adds the
   bins in the order of the lists: the sum for an element does not depend on the number of threads.
 */
void MLUOP_VARIANT(deform_roi_pool_grad_input)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  const int64_t blocks = (a->C + a->tiles.channels - 1) / a->tiles.channels;
  struct tile tile = {.row = scratch};
  tile.col = tile.row + a->max_taps_h;
  for (int64_t item = begin; item < end; item++) {
    const int64_t number = item / blocks;
    find_tile(a, number, item % blocks, &tile);
    tile.gradient = (float *)(void *)(tile.col + a->max_taps_w);
    tile.sums = tile.gradient + tile.stride;
    const int64_t images = a->tiles.count + tile.image;
    if (list_length(a, number) == 0 && list_length(a, images) == 0) {
      clear_tile(a, &tile);
      continue;
    }
    const int64_t pixels = (tile.rows.end - tile.rows.begin) * (tile.cols.end - tile.cols.begin);
    memset(tile.sums, 0, (size_t)(pixels * tile.stride) * sizeof(float));
    add_list(a, &tile, number);
    add_list(a, &tile, images);
    store_tile(a, &tile);
  }
  if (a->stream) vf_stream_end();
}
