/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_API_H_
#define MLUOP_FAMILIES_MASKED_API_H_

/* What masked im2col and masked col2im have in common: two tensors of indices between the one that
   is read and the one that is written, and the first rules of a call and of a workspace query. */

#include <string.h>

#include "core/contract.h"
#include "families/masked/call.h"

/* Picoseconds of an index that is copied. */
enum { COPY_COST = 153 };

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

static inline struct masked_call masked_call_of(const struct mluop_call *call, int source,
                                                int target) {
  return (struct masked_call){
      .source = call->tensors[source].data,
      .target = (void *)call->tensors[target].data,
      .mask_h_idx = call->tensors[MASK_H_IDX].data,
      .mask_w_idx = call->tensors[MASK_W_IDX].data,
      .element_size = mluop_is_half(call, source) ? 2 : 4,
      .C = mluop_extent(call, 'C'),
      .H = mluop_extent(call, 'H'),
      .W = mluop_extent(call, 'W'),
      .M = mluop_extent(call, 'M'),
  };
}

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
static bool hold_indices(const struct mluop_call *call, struct masked_call *masked,
                         mluOpStatus_t *status) {
  const int64_t count = masked->M;
  int32_t *held = mluop_scratch(call->handle, 2 * (size_t)count * sizeof(int32_t));
  if (held == NULL) {
    *status = mluop_no_scratch(call);
    return false;
  }
  const struct index_copy copy = {.from = {masked->mask_h_idx, masked->mask_w_idx},
                                  .to = {held, held + count}};
  const struct mluop_job job = {.kernel = copy_indices,
                                .args = &copy,
                                .count = count,
                                .grain = mluop_grain(COPY_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(call->handle, &job);
  masked->mask_h_idx = copy.to[0];
  masked->mask_w_idx = copy.to[1];
  return true;
}

#endif /* MLUOP_FAMILIES_MASKED_API_H_ */
