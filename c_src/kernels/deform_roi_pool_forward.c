/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/deform_roi_pool_ahead.h"

/* Result bytes of the next bin that are prefetched. */
enum { PREFETCH_OUTPUT = 1 << 12 };

static inline void prefetch_output(const char *out, int64_t bytes) {
  for (int64_t b = 0; b < bytes && b < PREFETCH_OUTPUT; b += 64) __builtin_prefetch(out + b, 1, 3);
}

/* Pools `count` vectors of channels from c. With a head, vectors but the first and the last start
   at addresses that are multiples of their size, `head` channels from c on, since a load across two
   cache lines costs two. There is one more then; the first and the last overlap their neighbours,
   which compute the same values. `out` has the channels of the bin. */
MLUOP_INLINE void pool_vectors(const struct deform_roi_pool_args *a, const struct bin_taps *taps,
                               int64_t c, int count, int64_t head, struct ahead *ahead, int is_half,
                               void *out) {
  const int inner = head != 0 ? count - 1 : count;
  vf first = vf_set(0.0f), last = first, sum[SUMS];
#pragma GCC unroll 16
  for (int k = 0; k < inner; k++) sum[k] = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = row_of_pixels(a, taps, i);
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->C + c, aligned = pixel + head;
      const vf weight = vf_set(taps->row[i].weight * taps->col[j].weight);
      if (ahead != NULL) prefetch_ahead(ahead);
      if (head != 0) first = vf_fma(weight, vf_load_as(a->input, pixel, is_half), first);
#pragma GCC unroll 16
      for (int k = 0; k < inner; k++) {
        sum[k] = vf_fma(weight, vf_load_as(a->input, aligned + k * VL, is_half), sum[k]);
      }
      if (head != 0) {
        last = vf_fma(weight, vf_load_as(a->input, pixel + (count - 1) * VL, is_half), last);
      }
    }
  }
  if (head != 0) {
    vf_store_as(out, c, first, is_half);
    vf_store_as(out, c + (count - 1) * VL, last, is_half);
  }
#pragma GCC unroll 16
  for (int k = 0; k < inner; k++) vf_store_as(out, c + head + k * VL, sum[k], is_half);
}

/* The last channels, fewer than a vector. */
MLUOP_INLINE void pool_rest(const struct deform_roi_pool_args *a, const struct bin_taps *taps,
                            int64_t c, int is_half, void *out) {
  vf sum = vf_set(0.0f);
  for (int64_t i = 0; i < taps->rows; i++) {
    const int64_t row = row_of_pixels(a, taps, i);
    for (int64_t j = 0; j < taps->cols; j++) {
      const int64_t pixel = (row + taps->col[j].at) * a->C + c;
      const vf value = vf_load_part_as(a->input, pixel, a->C - c, is_half);
      sum = vf_fma(vf_set(taps->row[i].weight * taps->col[j].weight), value, sum);
    }
  }
  vf_store_part_as(out, c, sum, a->C - c, is_half);
}

/* Channels from the start of a pixel to the first aligned vector, 0 if pixels are not alike. */
MLUOP_INLINE int64_t head_of(const struct deform_roi_pool_args *a, int is_half) {
  const int64_t element = is_half ? 2 : 4, vector = VL * element;
  if (a->C * element % vector != 0) return 0;
  const int64_t past = (int64_t)((uintptr_t)a->input % (uintptr_t)vector);
  return past % element != 0 ? 0 : (vector - past) % vector / element;
}

MLUOP_INLINE void pool_bin(const struct deform_roi_pool_args *a, const struct bin_taps *taps,
                           int64_t head, struct ahead *ahead, int is_half, void *out) {
  int64_t c = 0;
  for (; c + SUMS * VL <= a->C; c += SUMS * VL) {
    if (a->look_ahead) {
      if (head == 0) {
        pool_vectors(a, taps, c, SUMS, 0, ahead, is_half, out);
      } else {
        pool_vectors(a, taps, c, SUMS, head, ahead, is_half, out);
      }
    } else if (head == 0) {
      pool_vectors(a, taps, c, SUMS, 0, NULL, is_half, out);
    } else {
      pool_vectors(a, taps, c, SUMS, head, NULL, is_half, out);
    }
  }
  for (; c + 4 * VL <= a->C; c += 4 * VL) pool_vectors(a, taps, c, 4, 0, NULL, is_half, out);
  for (; c + VL <= a->C; c += VL) pool_vectors(a, taps, c, 1, 0, NULL, is_half, out);
  if (c < a->C) pool_rest(a, taps, c, is_half, out);
}

MLUOP_INLINE void forward(const struct deform_roi_pool_args *a, int64_t begin, int64_t end,
                          void *scratch, int is_half) {
  struct bin_taps taps;
  struct ahead ahead = {.strip = -1};
  float *sums = place_taps(a, scratch, 1, &taps);
  const int64_t head = head_of(a, is_half), bytes = a->C * (is_half ? 2 : 4);
  for (int64_t item = begin; item < end; item++) {
    char *out = (char *)a->output + a->bins[item].index * bytes;
    if (!a->stream) prefetch_output(out, bytes);
    describe_bin(a, item, 0, &taps);
    if (a->look_ahead) look_ahead(a, item, &taps, &ahead);
    if (!is_half && a->stream) {
      pool_bin(a, &taps, head, &ahead, 0, sums);
      stream_run((float *)(void *)out, sums, a->C);
    } else {
      pool_bin(a, &taps, head, &ahead, is_half, out);
    }
  }
  if (a->stream) vf_stream_end();
}

/* Item: a bin, in the order of `bins`. */
void MLUOP_VARIANT(deform_roi_pool_forward)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  const struct deform_roi_pool_args *a = vargs;
  if (a->is_half) {
    forward(a, begin, end, scratch, 1);
  } else {
    forward(a, begin, end, scratch, 0);
  }
}
