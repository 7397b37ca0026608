/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_BLOCKS_H_
#define MLUOP_SHARED_ROI_POOL_BLOCKS_H_

/* The backward works by blocks of grad_input: how large they are, their memory, and their jobs. */

#include "shared/roi_pool/plan.h"

void mluop_roi_pool_cut_blocks(struct roi_pool_args *args);

/* Takes the memory of the lists; returns the bytes that each thread needs for a block. */
size_t mluop_roi_pool_lay_out_blocks(struct roi_pool_args *args, struct mluop_arena *arena);

/* Computes grad_input, and the slopes of bins on blocks: see struct roi_pool_blocks. */
void mluop_roi_pool_run_blocks(mluOpHandle_t handle, struct roi_pool_args *args);

/* The same with a kernel of the caller, which adds to blocks what bins have within their boxes. */
void mluop_roi_pool_run_blocks_by(mluOpHandle_t handle, struct roi_pool_args *args,
                                  mluop_kernel *kernel);

#endif /* MLUOP_SHARED_ROI_POOL_BLOCKS_H_ */
