/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_OPS_DEFORM_ROI_POOL_PLAN_H_
#define MLUOP_OPS_DEFORM_ROI_POOL_PLAN_H_

/* How the work of a call is ordered and shared out, and the memory for that. */

#include "core/internal.h"
#include "kernels/deform_roi_pool.h"

/* Expects the extents, parameters and data of `args`; everything else is set here. */

/* The bytes of scratch memory that a call needs. */
size_t mluop_deform_roi_pool_plan(mluOpHandle_t handle, struct deform_roi_pool_args *args);

/* Hands out the memory, finds the bins and puts them in order. */
void mluop_deform_roi_pool_prepare(mluOpHandle_t handle, struct deform_roi_pool_args *args,
                                   void *scratch);

/* Runs a kernel over all bins, or over all tiles of grad_input. */
void mluop_deform_roi_pool_run_bins(mluOpHandle_t handle, const struct deform_roi_pool_args *args,
                                    mluop_kernel *kernel);
void mluop_deform_roi_pool_run_tiles(mluOpHandle_t handle, const struct deform_roi_pool_args *args,
                                     mluop_kernel *kernel);

#endif /* MLUOP_OPS_DEFORM_ROI_POOL_PLAN_H_ */
