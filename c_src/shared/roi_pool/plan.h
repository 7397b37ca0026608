/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_PLAN_H_
#define MLUOP_SHARED_ROI_POOL_PLAN_H_

/* How the work of a call is ordered and shared out, and the memory for that. */

#include "core/contract.h"
#include "shared/roi_pool/job.h"

/* Expects the shape and the data of `args`, and own_bytes if the caller has a kernel of its own;
   everything else is set here. False if a number in the data is no image, or without memory. `rois`
   is the tensor of the call that is to be blamed. */
bool mluop_roi_pool_begin(const struct mluop_call *call, int rois, struct roi_pool_args *args,
                          mluOpStatus_t *status);

/* Runs a kernel over all bins. */
void mluop_roi_pool_run_bins(mluOpHandle_t handle, const struct roi_pool_args *args,
                             mluop_kernel *kernel);

/* Computes the output. */
void mluop_roi_pool_run_forward(mluOpHandle_t handle, struct roi_pool_args *args);

/* For the plan and its blocks alone. */

/* Memory that a thread works on at a time: half of a usual L2 cache. */
enum { ROI_POOL_NEAR_BYTES = 1 << 19 };

/* A share of work that is worth a thread, in nanoseconds. */
enum { ROI_POOL_SHARE_COST = 20000 };

/* Of items that take so many nanoseconds. */
static inline int64_t mluop_roi_pool_grain(int64_t cost) {
  return mluop_grain(mluop_min(cost, MLUOP_SHARE_COST) * MLUOP_NANOSECOND);
}

static inline int64_t mluop_roi_pool_bins(const struct roi_pool_args *args) {
  return args->shape.R * args->shape.pooled_h * args->shape.pooled_w;
}

/* What a bin costs on average, in nanoseconds. */
int64_t mluop_roi_pool_bin_cost(const struct roi_pool_args *args);

#endif /* MLUOP_SHARED_ROI_POOL_PLAN_H_ */
