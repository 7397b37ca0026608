/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/order.h"

#include "families/border_align/kernels.h"

/* Item: a list. */
void MLUOP_VARIANT(border_align_order)(const void *vargs, int64_t begin, int64_t end,
                                       void *scratch) {
  (void)scratch;
  const struct border_align_args *a = vargs;
  for (int64_t index = begin; index < end; index++) {
    const struct border_list list = border_list_of(a, index, 0);
    const struct border_align_order order = {a->order.boxes + index * a->shape.K,
                                             a->order.first + index * (a->shape.K + 2),
                                             a->order.keys + index * a->shape.K};
    order_list(&list, &order);
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
