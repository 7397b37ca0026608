/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_PLAN_H_
#define MLUOP_FAMILIES_PSAMASK_PLAN_H_

#include "core/contract.h"
#include "families/psamask/job.h"

enum {
  BYTE_COST = 76,      /* of the target, in picoseconds */
  NEAR_BYTES = 1 << 21 /* so near that a prefetch costs more than the wait */
};

/* H, W, N and the numbers of a call whose rules hold. */
static inline struct psamask_args psamask_args_of(const struct mluop_call *call, const void *source,
                                                  void *target) {
  return (struct psamask_args){.source = source,
                               .target = target,
                               .N = mluop_extent(call, 'N'),
                               .H = mluop_extent(call, 'H'),
                               .W = mluop_extent(call, 'W'),
                               .h_mask = mluop_integer_of(call, "h_mask"),
                               .w_mask = mluop_integer_of(call, "w_mask")};
}

/* What a call brings into the caches: the target, and what is read. Of masks, that are runs, with
   the lines where they begin. */
static inline int64_t psamask_moved_bytes(const struct psamask_args *a, bool forward) {
  const int64_t target = forward ? a->H * a->W : a->h_mask * a->w_mask;
  const int64_t row = mluop_min(a->w_mask, forward ? a->W + 16 : a->W);
  const int64_t floats = target + mluop_min(a->h_mask, a->H) * row;
  return a->N * a->H * a->W * floats * (int64_t)sizeof(float);
}

#endif /* MLUOP_FAMILIES_PSAMASK_PLAN_H_ */
