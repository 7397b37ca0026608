/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/kernels.h"
#include "shared/roi_pool/row_prefetch.h"

/* Result bytes of the next bin that are prefetched. */
enum { PREFETCH_OUTPUT = 1 << 12 };

/* A bin of more than LARGE_BIN pixels is summed by rows of about PART_PIXELS. */
enum { LARGE_BIN = 256, PART_PIXELS = 128 };

static inline void prefetch_output(const char *out, int64_t bytes) {
  for (int64_t b = 0; b < bytes && b < PREFETCH_OUTPUT; b += 64) __builtin_prefetch(out + b, 1, 3);
}

/* Pools `count` vectors of channels from c. With a head, vectors but the first and the last start
   at addresses that are multiples of their size, `head` channels from c on, since a load across two
   cache lines costs two. There is one more then; the first and the last overlap their neighbours,
   which compute the same values. `out` has the channels of the bin. */
MLUOP_INLINE void pool_vectors(const struct roi_pool_args *a, const struct bin_taps *taps,
                               int64_t c, int count, int64_t head, struct row_prefetch *prefetch,
                               int is_half, int to_half, void *out) {
  const int inner = head != 0 ? count - 1 : count;
  vf first = vf_set(0.0f), last = first, sum[SUMS];
#pragma GCC unroll 16
  for (int k = 0; k < inner; k++) sum[k] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = row_of_pixels(a, taps, i);
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->shape.C + c, aligned = pixel + head;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      if (prefetch != NULL) prefetch_row_lines(prefetch);
      if (head != 0) first = vf_fma(weight, vf_load_as(a->data.input, pixel, is_half), first);
#pragma GCC unroll 16
      for (int k = 0; k < inner; k++) {
        sum[k] = vf_fma(weight, vf_load_as(a->data.input, aligned + k * VL, is_half), sum[k]);
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
#pragma GCC unroll 16
  for (int k = 0; k < inner; k++) vf_store_as(out, c + head + k * VL, sum[k], to_half);
}

/* Channels that are fewer than a vector. */
MLUOP_INLINE void pool_rest(const struct roi_pool_args *a, const struct bin_taps *taps,
                            struct range channels, int is_half, int to_half, void *out) {
  const int64_t c = channels.begin, count = channels.end - channels.begin;
  vf sum = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = row_of_pixels(a, taps, i);
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->shape.C + c;
      const vf value = vf_load_part_as(a->data.input, pixel, count, is_half);
      sum = vf_fma(vf_set(taps->row[i].weight * taps->col[j].weight), value, sum);
    }
  }
  vf_store_part_as(out, c, sum, count, to_half);
}

/* Channels from the start of a pixel to the first aligned vector, 0 if pixels are not alike. */
MLUOP_INLINE int64_t head_of(const struct roi_pool_args *a, int is_half) {
  const int64_t element = is_half ? 2 : 4, vector = VL * element;
  if (a->shape.C * element % vector != 0) return 0;
  const int64_t past = (int64_t)((uintptr_t)a->data.input % (uintptr_t)vector);
  return past % element != 0 ? 0 : (vector - past) % vector / element;
}

/* Pools some channels of a bin into `out`, which has them all. The last vector may overlap the one
   before it, and computes the same. */
MLUOP_INLINE void pool_bin(const struct roi_pool_args *a, const struct bin_taps *taps,
                           struct range channels, int64_t head, struct row_prefetch *prefetch,
                           int is_half, int to_half, void *out) {
  int64_t c = channels.begin;
  for (; c + SUMS * VL <= channels.end; c += SUMS * VL) {
    if (prefetch != NULL && a->plan.prefetch_rows) {
      if (head == 0) {
        pool_vectors(a, taps, c, SUMS, 0, prefetch, is_half, to_half, out);
      } else {
        pool_vectors(a, taps, c, SUMS, head, prefetch, is_half, to_half, out);
      }
    } else if (head == 0) {
      pool_vectors(a, taps, c, SUMS, 0, NULL, is_half, to_half, out);
    } else {
      pool_vectors(a, taps, c, SUMS, head, NULL, is_half, to_half, out);
    }
  }
  MLUOP_UNROLL
  for (int count = SUMS / 2; count > 0; count /= 2) {
    if (c + count * VL <= channels.end) {
      pool_vectors(a, taps, c, count, 0, NULL, is_half, to_half, out);
      c += count * VL;
    }
  }
  if (c == channels.end) return;
  if (channels.end - channels.begin >= VL) {
    pool_vectors(a, taps, channels.end - VL, 1, 0, NULL, is_half, to_half, out);
  } else {
    pool_rest(a, taps, channels, is_half, to_half, out);
  }
}

/* The same for a bin of so many pixels that one sum over all would lose digits: by a few rows at a
   time, into floats. */
MLUOP_INLINE void pool_large(const struct roi_pool_args *a, const struct bin_taps *taps,
                             struct range channels, int64_t head, int is_half, float *sums,
                             float *part) {
  const int64_t rows = taps->cols < PART_PIXELS ? PART_PIXELS / taps->cols : 1;
  for (int64_t i = 0; i < taps->rows; i += rows) {
    struct bin_taps some = *taps;
    some.row += i;
    some.rows = i + rows < taps->rows ? rows : taps->rows - i;
    pool_bin(a, &some, channels, head, NULL, is_half, 0, i == 0 ? sums : part);
    if (i == 0) continue;
    for (int64_t c = channels.begin; c < channels.end; c++) sums[c] += part[c];
  }
}

MLUOP_INLINE struct range channels_of(const struct roi_pool_args *a, int64_t part) {
  const int64_t begin = part * a->plan.part_channels, end = begin + a->plan.part_channels;
  return (struct range){begin, end < a->shape.C ? end : a->shape.C};
}

MLUOP_INLINE void forward(const struct roi_pool_args *a, int64_t begin, int64_t end, void *scratch,
                          int is_half) {
  struct bin_taps taps;
  struct row_prefetch prefetch = {.strip = -1};
  float *sums = place_taps(a, scratch, 1, &taps);
  const int64_t head = head_of(a, is_half), element = is_half ? 2 : 4;
  for (int64_t item = begin; item < end; item++) {
    const int64_t bin = a->plan.parts == 1 ? item : item / a->plan.parts;
    const struct range channels = channels_of(a, item - bin * a->plan.parts);
    const int64_t count = channels.end - channels.begin;
    char *out = (char *)a->data.output + a->memory.bins[bin].index * a->shape.C * element;
    if (!a->plan.stream) prefetch_output(out + channels.begin * element, count * element);
    describe_bin(a, bin, 0, &taps);
    if (a->plan.prefetch_rows) next_rows(a, bin, &taps, &prefetch);
    const int large = taps.rows * taps.cols > LARGE_BIN;
    if (!large && !a->plan.stream) {
      pool_bin(a, &taps, channels, head, &prefetch, is_half, is_half, out);
      continue;
    }
    if (large) {
      pool_large(a, &taps, channels, head, is_half, sums, sums + a->shape.C);
    } else {
      pool_bin(a, &taps, channels, head, &prefetch, is_half, 0, sums);
    }
    store_sums(a, sums, channels, is_half, out);
  }
  if (a->plan.stream) vf_stream_end();
}

/* Item: a part of the channels of a bin, in the order of `bins`. */
void MLUOP_VARIANT(roi_pool_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct roi_pool_args *a = vargs;
  if (a->shape.is_half) {
    forward(a, begin, end, scratch, 1);
  } else {
    forward(a, begin, end, scratch, 0);
  }
}
