/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_NMS_ONE_BY_ONE_H_
#define MLUOP_TESTS_NMS_ONE_BY_ONE_H_

/* Hard and linear selection, of boxes in any order and with labels: one candidate after the other.
   For fuzz.c alone. */

#include <limits.h>
#include <math.h>

#include "fuzz.h"

enum { BOXES, CONFIDENCE, OUTPUT, SCORES, LABELS };                     /* tensors */
enum { BOX_MODE, OUTPUT_MODE, ALGO, METHOD, MOST, BOX_LAYOUT, PADDED }; /* integers */
enum { THRESHOLD, SIGMA, LEAST, EXTRA };                                /* floats */
enum { N = FUZZ_MOST_NUMBERS - 4, IMAGES, CLASSES, WIDTH };             /* not bent */
enum { MOST_BOXES = 512 };

struct chosen {
  int64_t index;
  float score;
};

static float number(const struct fuzz *f, int64_t image, int64_t box, int64_t k) {
  const int64_t n = f->p[N], v = f->p[WIDTH];
  return (float)fuzz_get(&f->t[BOXES],
                         image * n * v + (f->p[BOX_LAYOUT] ? k * n + box : box * v + k));
}

static void ends(const struct fuzz *f, int64_t image, int64_t box, int axis, float *low,
                 float *high) {
  float a = number(f, image, box, axis), b = number(f, image, box, axis + 2);
  if (f->p[BOX_MODE] == MLUOP_NMS_BOX_CENTER) {
    a = a - 0.5f * b;
    b = a + b;
  }
  *low = a > b ? b : a;
  *high = a > b ? a : b;
}

static float iou(const struct fuzz *f, int64_t image, int64_t i, int64_t j) {
  const float d = f->p[ALGO] == MLUOP_NMS_ALGO_INCLUDE_BOUNDARY ? f->r[EXTRA] : 0;
  float shared = 1, area_i = 1, area_j = 1;
  for (int axis = 0; axis < 2; axis++) {
    float low_i, high_i, low_j, high_j;
    ends(f, image, i, axis, &low_i, &high_i);
    ends(f, image, j, axis, &low_j, &high_j);
    const float side = ((high_i < high_j ? high_i : high_j) - (low_i > low_j ? low_i : low_j)) + d;
    shared *= side < 0 ? 0 : side;
    area_i *= (high_i - low_i) + d;
    area_j *= (high_j - low_j) + d;
  }
  return shared / ((area_i + area_j) - shared);
}

/* Without a descriptor labels and scores are not given, wherever their addresses point. */
static bool is_given(const struct fuzz_tensor *t) { return t->held > 0 && t->desc != NULL; }

static int64_t select_boxes(const struct fuzz *f, int64_t set, struct chosen *chosen) {
  float scores[MOST_BOXES];
  const int64_t n = f->p[N], image = set / f->p[CLASSES];
  const struct fuzz_tensor *labels = &f->t[LABELS];
  for (int64_t i = 0; i < n; i++) scores[i] = (float)fuzz_get(&f->t[CONFIDENCE], set * n + i);
  int64_t count = 0;
  while (count < f->p[MOST]) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
      if (scores[i] > f->r[LEAST] && (best < 0 || scores[i] > scores[best])) best = i;
    }
    if (best < 0) break;
    chosen[count++] = (struct chosen){best, scores[best]};
    scores[best] = NAN;
    for (int64_t i = 0; i < n; i++) {
      if (is_given(labels) && fuzz_get(labels, i) != fuzz_get(labels, best)) continue;
      const float overlap = iou(f, image, best, i);
      if (f->p[METHOD] == MLUOP_NMS_HARD_NMS && overlap > f->r[THRESHOLD]) scores[i] = NAN;
      if (f->p[METHOD] == MLUOP_NMS_SOFT_NMS_LINEAR && overlap >= f->r[THRESHOLD])
        scores[i] = scores[i] * (1 - overlap);
    }
  }
  return count;
}

#endif /* MLUOP_TESTS_NMS_ONE_BY_ONE_H_ */
