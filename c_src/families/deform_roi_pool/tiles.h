/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DEFORM_ROI_POOL_TILES_H_
#define MLUOP_FAMILIES_DEFORM_ROI_POOL_TILES_H_

/* The backward works by tiles of grad_input: how large they are, their memory, and their jobs. */

#include "families/deform_roi_pool/plan.h"

void mluop_deform_roi_pool_cut_tiles(struct deform_roi_pool_args *args);

/* Takes the memory of the lists; returns the bytes that each thread needs for a tile. */
size_t mluop_deform_roi_pool_lay_out_tiles(struct deform_roi_pool_args *args,
                                           struct mluop_arena *arena);

/* Computes the gradients. */
void mluop_deform_roi_pool_run_tiles(mluOpHandle_t handle, struct deform_roi_pool_args *args);

#endif /* MLUOP_FAMILIES_DEFORM_ROI_POOL_TILES_H_ */
