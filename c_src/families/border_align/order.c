/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/geometry.h"
#include "families/border_align/kernels.h"

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
  if (!mluop_axis_at(border.across, list->lines, &across)) return list->a->shape.K;
  const float begin = border.start < border.end ? border.start : border.end;
  return across.low * list->places + nearest_place(begin, list->places);
}

/* A counting sort by key, stable in k. Afterwards the boxes of key i stand in order from first[i]
   to first[i + 1]; while they are filled in, first[i + 1] is where the next one goes. Each key is
   found once, in `keys`: another thread may change the boxes. */
static void order_list(const struct border_list *list) {
  const int64_t K = list->a->shape.K;
  int32_t *const first = list->order.first, *const keys = list->order.keys;
  memset(first, 0, (size_t)(K + 3) * sizeof(*first));
  for (int64_t k = 0; k < K; k++) {
    keys[k] = (int32_t)key_of(list, k);
    first[keys[k] + 2]++;
  }
  for (int64_t key = 0; key <= K; key++) first[key + 2] += first[key + 1];
  for (int64_t k = 0; k < K; k++) list->order.boxes[first[keys[k] + 1]++] = (int32_t)k;
}

/* Item: a list. */
void MLUOP_VARIANT(border_align_order)(const void *vargs, int64_t begin, int64_t end,
                                       void *scratch) {
  (void)scratch;
  const struct border_align_args *a = vargs;
  for (int64_t index = begin; index < end; index++) {
    const struct border_list list = border_list_of(a, index, 0);
    order_list(&list);
  }
}

/* Item: an element of argmax. Notes the first bad one. */
void MLUOP_VARIANT(border_align_check)(const void *vargs, int64_t begin, int64_t end,
                                       void *scratch) {
  (void)scratch;
  const struct border_align_args *a = vargs;
  const uint32_t largest = (uint32_t)a->shape.pool_size;
  uint32_t any = 0;
  for (int64_t i = begin; i < end; i++) any |= (uint32_t)a->argmax[i] > largest;
  if (!any) return;
  int64_t i = begin;
  while (i < end && (uint32_t)a->argmax[i] <= largest) i++;
  int64_t bad = __atomic_load_n(a->bad, __ATOMIC_RELAXED);
  while (i < bad &&
         !__atomic_compare_exchange_n(a->bad, &bad, i, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
