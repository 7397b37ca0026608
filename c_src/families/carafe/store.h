/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_STORE_H_
#define MLUOP_FAMILIES_CARAFE_STORE_H_

/* Store: the sums of a tile leave straight from its registers. Packed groups are rotated by as many
   channels as the output is off a cache line, so that all vectors are whole lines of it, which may
   go past the caches, but those of the first line: the split line, with both ends of a group.

       off by 4 floats      |    line 0    |  line 1  |  line 2  | ... |    line C/16
       the output           |        0..11 | 12 .. 27 | 28 .. 43 | ... | C-4..C-1, next
       a packed group       | C-4..C-1 0..11 | 12 .. 27 | 28 .. 43 | ... | C-20 .. C-5 |

   Where that cannot be, vectors are stored where they belong, the last one in part. */

#include "families/carafe/forward.h"
#include "vector/simd.h"

/* Of 32 registers, 4 x 4 hold sums; of 16, 4 x 3, or 4 x 2 where products need one as well. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { VECTORS = 4 };
#elif defined(__AVX2__)
enum { VECTORS = 3 };
#else
enum { VECTORS = 2 };
#endif

enum { PIXELS = 4, LINE_VECTORS = CARAFE_PAD / VL };

/* Vectors of 16 bytes lie within lines wherever NumPy's arrays begin, and have no stores of parts.
 */
enum { ROTATES = VL > 4 };

struct output {
  void *values;
  int64_t C;
  int is_half;
  int in_lines;     /* vectors are whole lines, but for the split line; then: */
  int64_t rotation; /* 0, or elements that it begins after a line */
  int past_caches;
  int64_t write_ahead; /* words from a split line to one that will be written soon */
};

/* A word of the output is a float, or two halves. */
MLUOP_INLINE int64_t words_of(const struct output *o, int64_t elements) {
  return o->is_half ? elements / 2 : elements;
}

/* Vectors of sums that make one of words. */
static inline int64_t vectors_at_once(const struct output *o) {
  return o->in_lines && o->is_half ? 2 : 1;
}

static inline struct output output_of(const struct carafe_args *args) {
  const struct carafe_shape *a = &args->shape;
  struct output o = {.values = args->output, .C = a->C, .is_half = a->is_half};
  const int64_t line = (ROTATES ? CARAFE_PAD : VL) * (int64_t)sizeof(float);
  const int64_t off = (int64_t)((uintptr_t)args->output % (uintptr_t)line);
  o.in_lines = off % (ROTATES ? 4 : line) == 0 && a->C % carafe_line_elements(a) == 0 &&
               (!a->is_half || LINE_VECTORS == 1);
  o.rotation = o.in_lines ? off / (a->is_half ? 2 : 4) : 0;
  o.past_caches = o.in_lines && args->large;
  o.write_ahead = words_of(&o, (a->S == 1 ? 4 : a->S) * a->G * a->C);
  return o;
}

/* Whole vectors of words. */
MLUOP_INLINE void store_whole(float *to, const vf *words, int begin, int end, int past_caches) {
  if (past_caches) {
    MLUOP_UNROLL for (int v = begin; v < end; v++) vf_stream(to + v * VL, words[v]);
  } else {
    MLUOP_UNROLL for (int v = begin; v < end; v++) vf_store(to + v * VL, words[v]);
  }
}

/* Vectors of words. Those of the split line, if it is among them, have `rotation` words of the end
   of the group first. */
MLUOP_INLINE void store_words(vf words[PIXELS][VECTORS], const struct output *o, int64_t at,
                              const int64_t *at_of, int64_t channel, int pixels, int vectors) {
  const int64_t rotation = words_of(o, o->rotation), end = words_of(o, o->C);
  const int first = vectors < LINE_VECTORS ? vectors : LINE_VECTORS;
  const int split = ROTATES && rotation > 0 && channel == 0;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = (float *)o->values + words_of(o, at + at_of[e] + channel) - rotation;
    if (split) {
      MLUOP_UNROLL for (int v = 0; v < first; v++) {
        vf_store_split(rotation - v * VL, to + v * VL + end, to + v * VL, words[e][v]);
      }
      mluop_prefetch_write(to + o->write_ahead);
      mluop_prefetch_write(to + end + o->write_ahead);
    } else {
      store_whole(to, words[e], 0, first, o->past_caches);
    }
    store_whole(to, words[e], LINE_VECTORS, vectors, o->past_caches);
  }
}

MLUOP_INLINE void store_lines(vf sum[PIXELS][VECTORS], const struct output *o, int64_t at,
                              const int64_t *at_of, int64_t channel, int pixels, int vectors) {
  if (!o->is_half) {
    store_words(sum, o, at, at_of, channel, pixels, vectors);
    return;
  }
  vf words[PIXELS][VECTORS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v + 1 < vectors; v += 2) {
      words[e][v / 2] = vf_narrow_to_half(sum[e][v], sum[e][v + 1]);
    }
  }
  store_words(words, o, at, at_of, channel, pixels, vectors / 2);
}

MLUOP_INLINE void store_vectors(vf sum[PIXELS][VECTORS], void *values, int64_t at,
                                const int64_t *at_of, int64_t channel, int64_t length, int is_half,
                                int pixels, int vectors) {
  const int64_t last = (vectors - 1) * VL, part = length - last;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const int64_t to = at + at_of[e] + channel;
    MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
      vf_store_as(values, to + v * VL, sum[e][v], is_half);
    }
    if (part < VL) {
      vf_store_part_as(values, to + last, sum[e][vectors - 1], part, is_half);
    } else {
      vf_store_as(values, to + last, sum[e][vectors - 1], is_half);
    }
  }
}

/* `length` channels of a group from number `channel` on, as they are packed. Pixel e
   has the group at element at + at_of[e]. */
MLUOP_INLINE void store_sums(vf sum[PIXELS][VECTORS], const struct output *o, int64_t at,
                             const int64_t *at_of, int64_t channel, int64_t length, int pixels,
                             int vectors) {
  if (o->in_lines) {
    store_lines(sum, o, at, at_of, channel, pixels, vectors);
  } else if (o->is_half) {
    store_vectors(sum, o->values, at, at_of, channel, length, 1, pixels, vectors);
  } else {
    store_vectors(sum, o->values, at, at_of, channel, length, 0, pixels, vectors);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_STORE_H_ */
