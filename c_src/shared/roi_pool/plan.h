/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_PLAN_H_
#define MLUOP_SHARED_ROI_POOL_PLAN_H_

/* How the work of a call is ordered and shared out, and the memory for that. */

#include "core/contract.h"
#include "shared/roi_pool/job.h"

/* Expects the shape and the data of `args`, and own_bytes or own_blocks if the caller has kernels
   of its own; everything else is set here. False if a number in the data is no image, or without
   memory. `rois` is the tensor of the call that is to be blamed. */
bool mluop_roi_pool_begin(const struct mluop_call *call, int rois, struct roi_pool_args *args,
                          mluOpStatus_t *status);

/* Runs a kernel over all bins: that of the caller, or, if it is NULL, pooling. */
void mluop_roi_pool_run_bins(mluOpHandle_t handle, const struct roi_pool_args *args,
                             mluop_kernel *const *kernel);

/* Computes grad_input by blocks, and slopes for grad_offset: or what the caller's kernel does. */
void mluop_roi_pool_run_blocks(mluOpHandle_t handle, struct roi_pool_args *args,
                               mluop_kernel *const *kernel);

#endif /* MLUOP_SHARED_ROI_POOL_PLAN_H_ */
