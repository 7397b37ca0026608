/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_STORE_H_
#define MLUOP_FAMILIES_CARAFE_STORE_H_

/* How the sums of a tile are stored: through the caches or past them, in whole lines where rows of
   the input are turned. */

#include "families/carafe/line.h"

/* Past the caches, the vectors of the first line of a group, `first` of them: with the end of the
   group before. */
MLUOP_INLINE void stream_ends(vf sum[PIXELS][VECTORS], const struct line *t, int64_t j, int64_t out,
                              float *ends, int pixels, int first) {
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = (float *)t->values + out + t->values_pixel[e], *at = ends + t->ends_pixel[e];
    MLUOP_UNROLL for (int v = 0; v < first; v++) vf_store(at + v * VL, sum[e][v]);
    if (t->at_once[e] <= (j == t->row_begin)) continue;
    MLUOP_UNROLL for (int v = 0; v < first; v++) {
      const vf before = vf_load(at - CARAFE_PAD + v * VL);
      vf_stream(to + v * VL, vf_select(t->turned[v], before, sum[e][v]));
    }
  }
}

MLUOP_INLINE void stream_sums(vf sum[PIXELS][VECTORS], const struct line *t, int64_t j, int64_t out,
                              float *ends, int pixels, int vectors) {
  const int first = vectors < END_VECTORS ? vectors : END_VECTORS;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = (float *)t->values + out + t->values_pixel[e];
    MLUOP_UNROLL for (int v = first; v < vectors; v++) vf_stream(to + v * VL, sum[e][v]);
  }
  if (ends != NULL) {
    stream_ends(sum, t, j, out, ends, pixels, first);
    return;
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = (float *)t->values + out + t->values_pixel[e];
    MLUOP_UNROLL for (int v = 0; v < first; v++) vf_stream(to + v * VL, sum[e][v]);
  }
}

/* Two vectors of sums are one of the output. */
MLUOP_INLINE void stream_halves(vf sum[PIXELS][VECTORS], const struct line *t, int64_t j,
                                int64_t out, float *ends, int pixels, int vectors) {
  vf words[PIXELS][VECTORS];
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    MLUOP_UNROLL for (int v = 0; v + 1 < vectors; v += 2) {
      words[e][v / 2] = vf_two_as_halves(sum[e][v], sum[e][v + 1]);
    }
  }
  stream_sums(words, t, j, out, ends, pixels, vectors / 2);
}

/* The first vector goes to both ends of a group. */
MLUOP_INLINE void store_joined(vf sum[PIXELS][VECTORS], const struct line *t, int64_t out,
                               int64_t turn, int pixels, int vectors) {
  const int64_t group = t->group;
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    float *to = (float *)t->values + out + t->values_pixel[e];
    vf_store_joined(turn, to + group, to, sum[e][0]);
    MLUOP_UNROLL for (int v = 1; v < vectors; v++) vf_store(to + v * VL, sum[e][v]);
  }
}

MLUOP_INLINE void store_sums(vf sum[PIXELS][VECTORS], const struct line *t, int64_t j, int64_t out,
                             float *ends, int64_t turn, int pixels, int kind, int vectors) {
  const int64_t last = t->length - (vectors - 1) * VL;
  if (t->stream && t->is_half) {
    stream_halves(sum, t, j, out, ends, pixels, vectors);
    return;
  }
  if (t->stream) {
    stream_sums(sum, t, j, out, ends, pixels, vectors);
    return;
  }
  if (kind == JOINED) {
    store_joined(sum, t, out, turn, pixels, vectors);
    return;
  }
  MLUOP_UNROLL for (int e = 0; e < pixels; e++) {
    const int64_t at = out + t->values_pixel[e];
    void *const values = t->values;
    if (last < VL) {
      MLUOP_UNROLL for (int v = 0; v < vectors - 1; v++) {
        vf_store_as(values, at + v * VL, sum[e][v], t->is_half);
      }
      vf_store_part_as(values, at + (vectors - 1) * VL, sum[e][vectors - 1], last, t->is_half);
    } else if (t->is_half) {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        vf_store_as(values, at + v * VL, sum[e][v], 1);
      }
    } else {
      MLUOP_UNROLL for (int v = 0; v < vectors; v++) {
        vf_store_as(values, at + v * VL, sum[e][v], 0);
      }
    }
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_STORE_H_ */
