/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/geometry.h"
#include "families/border_align/kernels.h"

/* A counting sort by line, stable in k; borders without a line come last. Afterwards the boxes of
   line i stand in order from first[i] to first[i + 1]; while they are filled in, first[i + 1] is
   where the next one goes. Each line is found once, in `on_line`: another thread may change the
   boxes. */
static void order_list(const struct border_list *list) {
  const int64_t K = list->a->shape.K, lines = list->lines;
  int32_t *const first = list->order.first, *const on_line = list->order.on_line;
  memset(first, 0, (size_t)(lines + 3) * sizeof(*first));
  for (int64_t k = 0; k < K; k++) {
    struct mluop_axis across = {.low = lines};
    mluop_axis_at(border_of(list, k).across, lines, &across);
    on_line[k] = (int32_t)across.low;
    first[on_line[k] + 2]++;
  }
  for (int64_t line = 0; line <= lines; line++) first[line + 2] += first[line + 1];
  for (int64_t k = 0; k < K; k++) list->order.boxes[first[on_line[k] + 1]++] = (int32_t)k;
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
