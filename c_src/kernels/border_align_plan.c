/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align_geometry.h"

/* The pixel of a coordinate that only decides an order: anything outside goes to the ends. */
static int64_t nearest_place(float at, int64_t places) {
  if (!(at > 0.0f)) return 0;
  return at < (float)places ? (int64_t)at : places - 1;
}

/* Borders on one line are ordered by where they begin, so that neighbours in the order share
   pixels: line * places + place. Those without a line come last. */
static int64_t key_of(const struct border_list *list, int64_t k) {
  const struct border border = border_of(list, k);
  struct mluop_axis across;
  if (!mluop_axis_at(border.across, list->lines, &across)) return list->a->K;
  const float begin = border.start < border.end ? border.start : border.end;
  return across.low * list->places + nearest_place(begin, list->places);
}

/* Item: a list. A counting sort by key, stable in k. Afterwards the boxes of key i stand in
   plan_order from plan_first[i] to plan_first[i + 1]. */
void MLUOP_VARIANT(border_align_plan)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  (void)scratch;
  const struct border_align_args *a = vargs;
  for (int64_t index = begin; index < end; index++) {
    const struct border_list list = border_list_of(a, index, 0);
    int32_t *first = a->plan_first + index * (a->K + 2), *order = a->plan_order + index * a->K;
    memset(first, 0, (size_t)(a->K + 2) * sizeof(*first));
    for (int64_t k = 0; k < a->K; k++) first[key_of(&list, k) + 1]++;
    for (int64_t key = 0; key <= a->K; key++) first[key + 1] += first[key];
    /* Filling moves each first[key] to the next; shifting them back needs no second array. */
    for (int64_t k = 0; k < a->K; k++) order[first[key_of(&list, k)]++] = (int32_t)k;
    for (int64_t key = a->K; key > 0; key--) first[key] = first[key - 1];
    first[0] = 0;
  }
}

/* Item: an element of argmax. Notes the first bad one. */
void MLUOP_VARIANT(border_align_check)(const void *vargs, int64_t begin, int64_t end,
                                       void *scratch) {
  (void)scratch;
  const struct border_align_args *a = vargs;
  const uint32_t largest = (uint32_t)a->pool_size;
  uint32_t any = 0;
  for (int64_t i = begin; i < end; i++) any |= (uint32_t)a->argmax[i] > largest;
  if (!any) return;
  int64_t i = begin;
  while ((uint32_t)a->argmax[i] <= largest) i++;
  int64_t bad = __atomic_load_n(a->bad, __ATOMIC_RELAXED);
  while (i < bad &&
         !__atomic_compare_exchange_n(a->bad, &bad, i, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
