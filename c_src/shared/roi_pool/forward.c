/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/kernels.h"
#include "shared/roi_pool/taps.h"

/* Vectors of channels that are summed in registers at once. */
enum { SUMS = VL == 16 ? 16 : 8 };

/* A bin of more than LARGE_BIN pixels is summed by rows of about PART_PIXELS. */
enum { LARGE_BIN = 256, PART_PIXELS = 128 };

/* ----------------------------------------------------------------------------- prefetching */

/* Of a map that does not fit into the caches, and of which bins, in the order of buckets, need
   every pixel: row by row through the strip of the present bin, some rows ahead of it. */
enum { ROWS_AHEAD = 16 };

struct row_prefetch {
  int64_t strip, row; /* what comes next: strip of which image, row of the map, */
  int64_t done;       /* bytes of that row of the strip */
};

/* Prefetches a quarter of what a bin reads. */
static inline void prefetch_rows(const struct roi_pool_args *a,
                                 const struct roi_pool_bin_taps *taps,
                                 struct row_prefetch *prefetch) {
  const struct roi_pool_bin *bin = &a->memory.bins[taps->item];
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  const int shift = a->buckets.shift, strip_shift = shift + a->buckets.strip_shift;
  const int64_t row = middle_pixel(bin->y, roi->bin_h, a->shape.H) >> shift << shift;
  const int64_t in_image = middle_pixel(bin->x, roi->bin_w, a->shape.W) >> strip_shift;
  const int64_t strip = roi->image * a->buckets.strips + in_image;
  if (strip != prefetch->strip || row > prefetch->row) {
    *prefetch = (struct row_prefetch){.strip = strip, .row = row};
  }
  if (prefetch->row >= row + ROWS_AHEAD || prefetch->row >= a->shape.H) return;
  const int64_t pixel = a->shape.C * (a->shape.is_half ? 2 : 4);
  const struct range cols =
      part_of((struct range){0, a->shape.W}, in_image, INT64_C(1) << strip_shift);
  const int64_t width = (cols.end - cols.begin) * pixel;
  const char *from =
      (const char *)a->data.input + (taps->image + prefetch->row * a->shape.W + cols.begin) * pixel;
  int64_t end = prefetch->done + taps->rows * taps->cols * pixel / 4;
  if (end > width) end = width;
  for (int64_t b = prefetch->done; b < end; b += 64) mluop_prefetch(from + b);
  prefetch->done = end;
  if (end < width) return;
  prefetch->row++;
  prefetch->done = 0;
}

/* ------------------------------------------------------------------------------------ sums */

/* Pools `count` vectors of channels from c, or one of `part` channels. With a head, vectors but the
   first and the last start at addresses that are multiples of their size, `head` channels from c
   on, since a load across two cache lines costs two. There is one more then; the first and the last
   overlap their neighbours, which compute the same values. `out` has the channels of the bin. */
MLUOP_INLINE void pool_vectors(const struct roi_pool_args *a, const struct roi_pool_bin_taps *taps,
                               int64_t c, int count, int64_t part, int64_t head, int is_half,
                               int to_half, void *out) {
  const int inner = head != 0 ? count - 1 : count;
  vf first = vf_set(0.0f), last = first, sum[SUMS];
  MLUOP_UNROLL
  for (int k = 0; k < inner; k++) sum[k] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = taps->image + taps->row[i].at * a->shape.W;
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->shape.C + c, aligned = pixel + head;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      if (head != 0) first = vf_fma(weight, vf_load_as(a->data.input, pixel, is_half), first);
      MLUOP_UNROLL
      for (int k = 0; k < inner; k++) {
        const vf value = part == VL ? vf_load_as(a->data.input, aligned + k * VL, is_half)
                                    : vf_load_part_as(a->data.input, aligned, part, is_half);
        sum[k] = vf_fma(weight, value, sum[k]);
      }
      if (head != 0) {
        last = vf_fma(weight, vf_load_as(a->data.input, pixel + (count - 1) * VL, is_half), last);
      }
    }
  }
  if (head != 0) {
    vf_store_as(out, c, first, to_half);
    vf_store_as(out, c + (count - 1) * VL, last, to_half);
  }
  MLUOP_UNROLL
  for (int k = 0; k < inner; k++) {
    if (part == VL) {
      vf_store_as(out, c + head + k * VL, sum[k], to_half);
    } else {
      vf_store_part_as(out, c, sum[k], part, to_half);
    }
  }
}

/* Channels from the start of a pixel to the first aligned vector, 0 if pixels are not alike. */
MLUOP_INLINE int64_t head_of(const struct roi_pool_args *a, int is_half) {
  const int64_t element = is_half ? 2 : 4, vector = VL * element;
  if (a->shape.C * element % vector != 0) return 0;
  const int64_t past = (int64_t)((uintptr_t)a->data.input % (uintptr_t)vector);
  return past % element != 0 ? 0 : (vector - past) % vector / element;
}

/* The last vector may overlap the one before it, and computes the same. */
MLUOP_INLINE void pool_bin(const struct roi_pool_args *a, const struct roi_pool_bin_taps *taps,
                           int64_t head, int is_half, int to_half, void *out) {
  const int64_t channels = a->shape.C;
  if (channels < VL) {
    pool_vectors(a, taps, 0, 1, channels, 0, is_half, to_half, out);
    return;
  }
  int64_t c = 0;
  for (; c + SUMS * VL <= channels; c += SUMS * VL) {
    if (head == 0) {
      pool_vectors(a, taps, c, SUMS, VL, 0, is_half, to_half, out);
    } else {
      pool_vectors(a, taps, c, SUMS, VL, head, is_half, to_half, out);
    }
  }
  MLUOP_UNROLL
  for (int count = SUMS / 2; count > 0; count /= 2) {
    if (c + count * VL <= channels) {
      pool_vectors(a, taps, c, count, VL, 0, is_half, to_half, out);
      c += count * VL;
    }
  }
  if (c < channels) pool_vectors(a, taps, channels - VL, 1, VL, 0, is_half, to_half, out);
}

/* The same for a bin of so many pixels that one sum over all would lose digits: by a few rows at a
   time, into floats. It begins with the taps of the first window. */
MLUOP_INLINE void pool_large(const struct roi_pool_args *a, struct roi_pool_bin_taps *taps,
                             const struct windows *windows, int64_t head, int is_half, float *sums,
                             float *part) {
  memset(sums, 0, (size_t)a->shape.C * sizeof(*sums));
  for (int64_t window = 0; window < windows->count; window++) {
    if (window > 0) window_taps(a, taps->item, windows, window, 0, taps);
    const int64_t rows = taps->cols < PART_PIXELS ? PART_PIXELS / (taps->cols + 1) : 1;
    for (int64_t i = 0; i < taps->rows; i += rows) {
      struct roi_pool_bin_taps some = *taps;
      some.row += i;
      some.rows = i + rows < taps->rows ? rows : taps->rows - i;
      pool_bin(a, &some, head, is_half, 0, part);
      for (int64_t c = 0; c < a->shape.C; c++) sums[c] += part[c];
    }
  }
}

MLUOP_INLINE void forward(const struct roi_pool_args *a, int64_t begin, int64_t end, void *scratch,
                          int is_half) {
  struct roi_pool_bin_taps taps = {.row = scratch};
  float *sums = (float *)(void *)(taps.row + 2 * ROI_POOL_WINDOW_TAPS);
  struct row_prefetch prefetch = {.strip = -1};
  const int64_t head = head_of(a, is_half), element = is_half ? 2 : 4;
  for (int64_t item = begin; item < end; item++) {
    const struct windows windows = windows_of(a, item);
    window_taps(a, item, &windows, 0, 0, &taps);
    if (a->plan.prefetch_rows) prefetch_rows(a, &taps, &prefetch);
    const int large = windows.count > 1 || taps.rows * taps.cols > LARGE_BIN;
    if (!large && !a->plan.stream) {
      char *out = (char *)a->data.output + taps.pooled * element;
      pool_bin(a, &taps, head, is_half, is_half, out);
      continue;
    }
    if (large) {
      pool_large(a, &taps, &windows, head, is_half, sums, sums + a->shape.C);
    } else {
      pool_bin(a, &taps, head, is_half, 0, sums);
    }
    store_run(a, sums, a->shape.C, is_half, a->data.output, taps.pooled);
  }
  if (a->plan.stream) vf_stream_end();
}

/* Item: a bin, in the order of `bins`. */
void MLUOP_VARIANT(roi_pool_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct roi_pool_args *a = vargs;
  if (a->shape.is_half) {
    forward(a, begin, end, scratch, 1);
  } else {
    forward(a, begin, end, scratch, 0);
  }
}
