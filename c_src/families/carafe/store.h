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

#include "families/carafe/tile.h"

enum { LINE_VECTORS = CARAFE_PAD / VL };

/* A word of the output is a float, or two halves. */
MLUOP_INLINE int64_t words_of(const struct carafe_args *a, int64_t elements) {
  return a->is_half ? elements / 2 : elements;
}

/* Vectors of sums that make one of words. */
static inline int64_t vectors_at_once(const struct carafe_args *a) {
  return a->plan.rotation >= 0 && a->is_half ? 2 : 1;
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
MLUOP_INLINE void store_words(vf words[PIXELS][VECTORS], const struct tile *t, int64_t channel,
                              int pixels, int vectors) {
  const struct carafe_args *a = t->walk->args;
  const int64_t rotation = words_of(a, a->plan.rotation), end = words_of(a, a->C);
  const int64_t write_ahead = (a->S == 1 ? PIXELS : a->S) * a->G * end; /* of split lines */
  const int64_t begin = words_of(a, channel) - rotation;
  const int first = vectors < LINE_VECTORS ? vectors : LINE_VECTORS;
  const int past_caches = a->plan.tensors == CARAFE_EXCEED_CACHES && a->plan.planes == NULL;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = pixel_at(&t->values, e) + begin;
    if (VL > 4 && rotation > 0 && channel == 0) {
      MLUOP_UNROLL for (int v = 0; v < first; v++) {
        vf_store_split(rotation - v * VL, to + v * VL + end, to + v * VL, words[e][v]);
      }
      mluop_prefetch_write(to + write_ahead);
      mluop_prefetch_write(to + end + write_ahead);
    } else {
      store_whole(to, words[e], 0, first, past_caches);
    }
    store_whole(to, words[e], LINE_VECTORS, vectors, past_caches);
  }
}

MLUOP_INLINE void store_lines(vf sum[PIXELS][VECTORS], const struct tile *t, int64_t channel,
                              int pixels, int vectors) {
  if (!t->walk->args->is_half) {
    store_words(sum, t, channel, pixels, vectors);
    return;
  }
  vf words[PIXELS][VECTORS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v + 1 < vectors; v += 2) {
      words[e][v / 2] = vf_narrow_to_half(sum[e][v], sum[e][v + 1]);
    }
  }
  store_words(words, t, channel, pixels, vectors / 2);
}

MLUOP_INLINE void store_vectors(vf sum[PIXELS][VECTORS], const struct tile *t, int64_t channel,
                                int64_t part, int is_half, int pixels, int vectors) {
  const int64_t last = channel + (vectors - 1) * VL;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = pixel_at(&t->values, e);
    MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
      vf_store_as(to, channel + v * VL, sum[e][v], is_half);
    }
    if (part < VL) {
      vf_store_part_as(to, last, sum[e][vectors - 1], part, is_half);
    } else {
      vf_store_as(to, last, sum[e][vectors - 1], is_half);
    }
  }
}

/* A tile's sums, of channels as they are packed. */
MLUOP_INLINE void store_sums(vf sum[PIXELS][VECTORS], const struct tile *t, int pixels,
                             int vectors) {
  const struct walk *s = t->walk;
  const int64_t channel = s->channel + t->channel;
  const int64_t part = channels_of(s) - t->channel - (vectors - 1) * VL; /* of the last vector */
  if (s->args->plan.rotation >= 0) {
    store_lines(sum, t, channel, pixels, vectors);
  } else if (s->args->is_half) {
    store_vectors(sum, t, channel, part, 1, pixels, vectors);
  } else {
    store_vectors(sum, t, channel, part, 0, pixels, vectors);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_STORE_H_ */
