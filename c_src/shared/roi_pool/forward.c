/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/kernels.h"
#include "shared/roi_pool/taps.h"

/* Vectors of channels that are summed in registers at once. */
enum { SUMS = VL == 16 ? 16 : 8 };

/* A bin of more than LARGE_BIN pixels is summed by rows of about PART_PIXELS. */
enum { LARGE_BIN = 256, PART_PIXELS = 128 };

/* ----------------------------------------------------------------------------- prefetching */

/* Beyond the caches, bins in the order of the map need rows that no bin has read yet. So each bin
   prefetches its part of what is below. */
enum { ROWS_BELOW = 8 };

MLUOP_INLINE void prefetch_below(const struct roi_pool_args *a,
                                 const struct roi_pool_bin_taps *taps, int64_t element) {
  if (taps->cols == 0 || taps->row->at + ROWS_BELOW >= a->shape.H) return;
  const int64_t row = taps->row->at + ROWS_BELOW, col = taps->col->at;
  const int64_t pixel = a->shape.C * element, rest = (a->shape.W - col) * pixel;
  mluop_prefetch_bytes(a->data.input, (taps->image + row * a->shape.W + col) * pixel,
                       mluop_min(rest, a->plan.prefetch_bytes));
}

/* ------------------------------------------------------------------------------------ sums */

/* Pools `count` vectors of channels from c, or one of `part` channels. With a head, vectors but the
   first and the last start at addresses that are multiples of their size, `head` channels from c
   on, since a load across two cache lines costs two. There is one more then; the first and the last
   overlap their neighbours, which compute the same values. `out` has the channels of the bin. */
MLUOP_INLINE void pool_vectors(const struct roi_pool_args *a, const struct roi_pool_bin_taps *taps,
                               int64_t c, int count, int64_t part, int64_t head, int is_half,
                               int to_half, void *out) {
  const int64_t shift = head != 0 ? head - VL : 0; /* of all vectors but the first */
  vf sum[SUMS], last = vf_set(0.0f);
  MLUOP_UNROLL
  for (int k = 0; k < count; k++) sum[k] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = taps->image + taps->row[i].at * a->shape.W;
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->shape.C + c;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      MLUOP_UNROLL
      for (int k = 0; k < count; k++) {
        const int64_t at = pixel + k * VL + (k > 0 ? shift : 0);
        sum[k] = vf_fma(weight, load_channels(a->data.input, at, part, is_half), sum[k]);
      }
      if (head == 0) continue;
      last = vf_fma(weight, vf_load_as(a->data.input, pixel + (count - 1) * VL, is_half), last);
    }
  }
  MLUOP_UNROLL
  for (int k = 0; k < count; k++) {
    const int64_t at = c + k * VL + (k > 0 ? shift : 0);
    if (part == VL) {
      vf_store_as(out, at, sum[k], to_half);
    } else {
      vf_store_part_as(out, at, sum[k], part, to_half);
    }
  }
  if (head != 0) vf_store_as(out, c + (count - 1) * VL, last, to_half);
}

/* Channels from the start of a pixel to the first aligned vector, 0 if pixels are not alike. */
MLUOP_INLINE int64_t head_of(const struct roi_pool_args *a, int is_half) {
  const int64_t element = is_half ? 2 : 4, vector = VL * element;
  if (a->shape.C * element % vector != 0) return 0;
  const int64_t past = (int64_t)((uintptr_t)a->data.input % (uintptr_t)vector);
  return past % element != 0 ? 0 : (vector - past) % vector / element;
}

MLUOP_INLINE void pool_bin(const struct roi_pool_args *a, const struct roi_pool_bin_taps *taps,
                           int64_t head, int is_half, int to_half, void *out) {
  const int64_t channels = a->shape.C;
  int64_t c = 0;
  for (; head != 0 && c + SUMS * VL <= channels; c += SUMS * VL) {
    pool_vectors(a, taps, c, SUMS, VL, head, is_half, to_half, out);
  }
  MLUOP_UNROLL
  for (int count = SUMS; count > 0; count /= 2) {
    for (; c + count * VL <= channels; c += count * VL) {
      pool_vectors(a, taps, c, count, VL, 0, is_half, to_half, out);
    }
  }
  if (c < channels) pool_vectors(a, taps, c, 1, channels - c, 0, is_half, to_half, out);
}

/* The same for a bin of so many pixels that one sum over all would lose digits: by a few rows at a
   time, into floats. It begins with the taps of the first window. */
MLUOP_INLINE void pool_large(const struct roi_pool_args *a, struct roi_pool_bin_taps *taps,
                             int64_t head, int is_half, float *sums, float *part) {
  memset(sums, 0, (size_t)a->shape.C * sizeof(*sums));
  for (int64_t window = 0; window < taps->windows; window++) {
    if (window > 0) window_taps(a, taps->item, window, 0, taps);
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
  const int64_t head = head_of(a, is_half), element = is_half ? 2 : 4;
  for (int64_t item = begin; item < end; item++) {
    window_taps(a, item, 0, 0, &taps);
    if (a->plan.prefetch_bytes > 0) prefetch_below(a, &taps, element);
    const int large = taps.windows > 1 || taps.rows * taps.cols > LARGE_BIN;
    if (!large && !a->plan.stream) {
      char *out = (char *)a->data.output + taps.pooled * element;
      pool_bin(a, &taps, head, is_half, is_half, out);
      continue;
    }
    if (large) {
      pool_large(a, &taps, head, is_half, sums, sums + a->shape.C);
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
