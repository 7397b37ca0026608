/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_ORDER_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_ORDER_H_

#include "families/border_align/geometry.h"

/* The pixel of a coordinate that only decides an order: anything outside goes to the ends. */
static inline int64_t nearest_place(float at, int64_t places) {
  if (!(at > 0.0f)) return 0;
  return at < (float)places ? (int64_t)at : places - 1;
}

/* Borders on one line are ordered by where they begin, so that neighbours in the order share
   pixels: line * places + place. Those without a line come last. */
static inline int64_t key_of(const struct border_list *list, int64_t k) {
  const struct border border = border_of(list, k);
  struct mluop_axis across;
  if (!mluop_axis_at(border.across, list->lines, &across)) return list->a->shape.K;
  const float begin = border.start < border.end ? border.start : border.end;
  return across.low * list->places + nearest_place(begin, list->places);
}

/* A counting sort of a list by key, stable in k. Afterwards the boxes of key i stand in order from
   first[i] to first[i + 1]; first has K + 2 numbers. Each key is found once, in `keys`: another
   thread may change the boxes. */
static inline void order_list(const struct border_list *list,
                              const struct border_align_order *order) {
  const int64_t K = list->a->shape.K;
  int32_t *const first = order->first, *const keys = order->keys;
  memset(first, 0, (size_t)(K + 2) * sizeof(*first));
  for (int64_t k = 0; k < K; k++) {
    keys[k] = (int32_t)key_of(list, k);
    first[keys[k] + 1]++;
  }
  for (int64_t key = 0; key <= K; key++) first[key + 1] += first[key];
  /* Filling moves each first[key] to the next; shifting them back needs no second array. */
  for (int64_t k = 0; k < K; k++) order->boxes[first[keys[k]]++] = (int32_t)k;
  for (int64_t key = K; key > 0; key--) first[key] = first[key - 1];
  first[0] = 0;
}

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_ORDER_H_ */
