/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_KERNELS_H_
#define MLUOP_SHARED_ROI_POOL_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(roi_pool_locate);
MLUOP_KERNEL(roi_pool_sort);
MLUOP_KERNEL(roi_pool_place);
MLUOP_KERNEL(roi_pool_runs);
MLUOP_KERNEL(roi_pool_forward);
MLUOP_KERNEL(roi_pool_add_bins);
MLUOP_KERNEL(roi_pool_add_pixels);

#endif /* MLUOP_SHARED_ROI_POOL_KERNELS_H_ */
