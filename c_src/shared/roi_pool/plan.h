/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_PLAN_H_
#define MLUOP_SHARED_ROI_POOL_PLAN_H_

/* How the work of a call is ordered and shared out, and the memory for that. */

#include "core/internal.h"
#include "shared/roi_pool/job.h"

/* Expects the extents, parameters and data of `args`; everything else is set here. */

/* Looks at rois before all else: the first row whose image does not exist, R if there is none. */
int64_t mluop_roi_pool_look(struct roi_pool_args *args, float *image);

/* The bytes of scratch memory that a call needs. */
size_t mluop_roi_pool_plan(mluOpHandle_t handle, struct roi_pool_args *args);

/* Hands out the memory, finds the bins and puts them in order. */
void mluop_roi_pool_prepare(mluOpHandle_t handle, struct roi_pool_args *args, void *scratch);

/* Runs a kernel over all bins. */
void mluop_roi_pool_run_bins(mluOpHandle_t handle, const struct roi_pool_args *args,
                             mluop_kernel *kernel);

/* Computes the output. */
void mluop_roi_pool_run_forward(mluOpHandle_t handle, struct roi_pool_args *args);

/* For the plan and its tiles alone. */

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
