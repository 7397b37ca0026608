/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_API_H_
#define MLUOP_FAMILIES_MASKED_API_H_

/* What masked im2col and masked col2im have in common: two tensors of indices between the one that
   is read and the one that is written, the last rules of a call, and how a job is shared out. */

#include <string.h>

#include "core/contract.h"
#include "families/masked/job.h"

/* Picoseconds of a byte of the target, and of a position that is judged; channels of a thread that
   are worth describing every block again. */
enum { BYTE_COST = 153, POSITION_COST = 610, CHANNELS_PER_THREAD = 8 };

enum { SOURCE, MASK_H_IDX, MASK_W_IDX, TARGET };

#define VALUES (MLUOP_BIT(SOURCE) | MLUOP_BIT(TARGET))
#define INDICES (MLUOP_BIT(MASK_H_IDX) | MLUOP_BIT(MASK_W_IDX))

/* The rules of a workspace query, and the first ones of a call. Columns without rows need no rule
   of their own: their shape says that the map is empty. */
static inline bool masked_rules_hold(struct mluop_call *call, bool im2col, mluOpStatus_t *status) {
  const unsigned source = MLUOP_BIT(SOURCE), target = MLUOP_BIT(TARGET);
  const unsigned map = im2col ? source : target;
  const struct mluop_rule tensor_rules[] = {
      {.check = CHECK_HANDLE, .status = BAD_PARAM},
      {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_OBJECT, .status = BAD_PARAM},
      {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = source, .value = im2col ? 4 : 2},
      {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = INDICES, .value = 1},
      {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = target, .value = im2col ? 2 : 4},
      {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = map, .value = MLUOP_LAYOUT_NCHW},
      {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = source},
      {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = SOURCE},
      {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = INDICES, .value = MLUOP_DTYPE_INT32},
      {.check = CHECK_END}};
  static const struct mluop_rule kernel_rules[] = {
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "kernel_h", .value = 1},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "kernel_w", .value = 1},
      {.check = CHECK_END}};
  const char *const from = im2col ? "1 C H W" : "C M";
  const char *const to = im2col ? "C*kernel_h*kernel_w M" : "1 C H W";
  const struct mluop_rule shape_rules[] = {
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = source, .text = from},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = INDICES, .text = "M"},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = target, .text = to},
      {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
      {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
      {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = map},
      {.check = CHECK_END}};
  return mluop_contract_holds(call, tensor_rules, status) &&
         (!im2col || mluop_contract_holds(call, kernel_rules, status)) &&
         mluop_contract_holds(call, shape_rules, status);
}

/* Those of memory, which a workspace query has not. */
static const struct mluop_rule data_rules[] = {
    {.check = CHECK_WORKSPACE, .status = BAD_PARAM},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

static inline struct masked_args masked_args_of(const struct mluop_call *call) {
  return (struct masked_args){
      .source = call->tensors[SOURCE].data,
      .target = (void *)call->tensors[TARGET].data,
      .mask_h_idx = call->tensors[MASK_H_IDX].data,
      .mask_w_idx = call->tensors[MASK_W_IDX].data,
      .element_size = mluop_is_half(call, SOURCE) ? 2 : 4,
      .C = mluop_extent(call, 'C'),
      .H = mluop_extent(call, 'H'),
      .W = mluop_extent(call, 'W'),
      .M = mluop_extent(call, 'M'),
      .plan = {.stream = mluop_exceeds_caches(call->handle, mluop_tensor_bytes(call))},
  };
}

/* Replaces both lists of indices by copies: another thread may change the caller's while they are
   judged and used. Before the first stands -1, which comes before any position; behind them is room
   for the places. */
static bool hold_indices(mluOpHandle_t handle, struct masked_args *args) {
  const size_t count = (size_t)args->M, bytes = count * sizeof(int32_t);
  int32_t *held = mluop_scratch(handle, 3 * (bytes + sizeof(int32_t)));
  if (held == NULL) return false;
  int32_t *h_idx = held + 1, *w_idx = h_idx + count + 1;
  h_idx[-1] = w_idx[-1] = -1;
  if (count > 0) { /* lists of nothing may be null */
    memcpy(h_idx, args->mask_h_idx, bytes);
    memcpy(w_idx, args->mask_w_idx, bytes);
  }
  args->mask_h_idx = h_idx;
  args->mask_w_idx = w_idx;
  args->plan.places = w_idx + count;
  return true;
}

/* `cost`: of a channel. */
static void masked_run(mluOpHandle_t handle, struct masked_args *args, mluop_kernel *const *kernel,
                       int64_t cost) {
  const bool many = args->C >= CHANNELS_PER_THREAD * (int64_t)mluop_num_threads(handle);
  if (args->plan.share == MASKED_BLOCKS && many) args->plan.share = MASKED_CHANNELS;
  const int64_t parts = args->plan.share == MASKED_BLOCKS ? args->plan.blocks : 1;
  const struct mluop_job job = {.kernel = kernel[handle->isa],
                                .args = args,
                                .count = args->C * parts,
                                .grain = mluop_grain(cost / parts),
                                .schedule = MLUOP_STATIC,
                                .piece = mluop_max(CHANNELS_PER_THREAD, mluop_piece(cost / parts))};
  mluop_parallel_for(handle, &job);
}

#endif /* MLUOP_FAMILIES_MASKED_API_H_ */
