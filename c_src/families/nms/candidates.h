/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_CANDIDATES_H_
#define MLUOP_FAMILIES_NMS_CANDIDATES_H_

#include <string.h>

#include "families/nms/job.h"
#include "vector/simd.h"

/* Scores in the order of preference. A score becomes a key, an unsigned number that is smaller for
   a higher score and the same for 0 and -0; keys are sorted digit by digit, from the lowest on.
   Each pass keeps the order of equal digits, so equal scores stay in the order of their boxes. */

enum { NMS_DIGITS = 4, NMS_DIGIT_BITS = 8, NMS_DIGIT_VALUES = 1 << NMS_DIGIT_BITS };

struct nms_candidate {
  uint32_t key;
  int32_t box;
};

MLUOP_INLINE uint32_t nms_key(float score) {
  const uint32_t bits = mluop_bits_of_float(score + 0.0f);
  return bits >> 31 != 0 ? bits : ~bits & 0x7fffffffu;
}

/* The boxes with a score above the threshold, in the order of their numbers; returns how many. */
static inline int64_t nms_find_candidates(const struct nms_form *form, const void *scores,
                                          float threshold, struct nms_candidate *found) {
  int64_t count = 0;
  for (int64_t i = 0; i < form->n; i++) {
    const float score = mluop_load_as(scores, i, form->scores_half);
    found[count] = (struct nms_candidate){nms_key(score), (int32_t)i};
    count += score > threshold;
  }
  return count;
}

static inline void nms_sort_by_digit(const struct nms_candidate *from, struct nms_candidate *to,
                                     int64_t count, int digit, const int32_t *sizes) {
  int32_t next[NMS_DIGIT_VALUES];
  int32_t at = 0;
  for (int v = 0; v < NMS_DIGIT_VALUES; v++) {
    next[v] = at;
    at += sizes[v];
  }
  for (int64_t i = 0; i < count; i++) {
    to[next[from[i].key >> (digit * NMS_DIGIT_BITS) & (NMS_DIGIT_VALUES - 1)]++] = from[i];
  }
}

/* Sorts; the result lies in `a` or in `b`, which is returned. */
static inline const struct nms_candidate *nms_sort_candidates(struct nms_candidate *a,
                                                              struct nms_candidate *b,
                                                              int64_t count) {
  int32_t sizes[NMS_DIGITS][NMS_DIGIT_VALUES];
  memset(sizes, 0, sizeof(sizes));
  for (int64_t i = 0; i < count; i++) {
    for (int d = 0; d < NMS_DIGITS; d++) {
      sizes[d][a[i].key >> (d * NMS_DIGIT_BITS) & (NMS_DIGIT_VALUES - 1)]++;
    }
  }
  for (int d = 0; d < NMS_DIGITS; d++) {
    const uint32_t any = count > 0 ? a[0].key : 0;
    if (sizes[d][any >> (d * NMS_DIGIT_BITS) & (NMS_DIGIT_VALUES - 1)] == count) continue;
    nms_sort_by_digit(a, b, count, d, sizes[d]);
    struct nms_candidate *const swap = a;
    a = b;
    b = swap;
  }
  return a;
}

#endif /* MLUOP_FAMILIES_NMS_CANDIDATES_H_ */
