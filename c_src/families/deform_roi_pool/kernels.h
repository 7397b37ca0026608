/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_
#define MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(deform_roi_pool_locate);
MLUOP_KERNEL(deform_roi_pool_sort);
MLUOP_KERNEL(deform_roi_pool_place);
MLUOP_KERNEL(deform_roi_pool_count);
MLUOP_KERNEL(deform_roi_pool_starts);
MLUOP_KERNEL(deform_roi_pool_list);
MLUOP_KERNEL(deform_roi_pool_forward);
MLUOP_KERNEL(deform_roi_pool_clear);
MLUOP_KERNEL(deform_roi_pool_add_bins);
MLUOP_KERNEL(deform_roi_pool_add_pixels);
MLUOP_KERNEL(deform_roi_pool_grad_offset);

#endif /* MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_ */
