/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_API_H_
#define MLUOP_FAMILIES_MASKED_API_H_

/* What masked im2col and masked col2im have in common: two tensors of indices between the one that
   is read and the one that is written, and the first rules of a call and of a workspace query. */

#include <string.h>

#include "core/contract.h"

/* Indices that are worth a second thread. */
enum { COPIES_PER_THREAD = 1 << 17 };

enum { MASK_H_IDX = 1, MASK_W_IDX = 2 };

#define INDICES (MLUOP_BIT(MASK_H_IDX) | MLUOP_BIT(MASK_W_IDX))

static const struct mluop_rule null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_END}};

static const struct mluop_rule query_null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_END}};

struct index_copy {
  const int32_t *from[2];
  int32_t *to[2];
};

/* Item: a position. */
static void copy_indices(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct index_copy *copy = vargs;
  const size_t bytes = (size_t)(end - begin) * sizeof(int32_t);
  for (int i = 0; i < 2; i++) memcpy(copy->to[i] + begin, copy->from[i] + begin, bytes);
}

/* Replaces both lists of indices by copies: another thread may change the caller's while they are
   judged and used. */
static bool hold_indices(const struct mluop_call *call, const int32_t **h_idx,
                         const int32_t **w_idx, mluOpStatus_t *status) {
  const int64_t count = mluop_extent(call, 'M');
  const size_t bytes = 2 * (size_t)count * sizeof(int32_t);
  int32_t *held = mluop_scratch(call->handle, bytes);
  if (held == NULL) {
    *status = mluop_no_scratch(call, bytes);
    return false;
  }
  const struct index_copy copy = {.from = {*h_idx, *w_idx}, .to = {held, held + count}};
  const struct mluop_job job = {.kernel = copy_indices,
                                .args = &copy,
                                .count = count,
                                .grain = COPIES_PER_THREAD,
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(call->handle, &job);
  *h_idx = copy.to[0];
  *w_idx = copy.to[1];
  return true;
}

#endif /* MLUOP_FAMILIES_MASKED_API_H_ */
