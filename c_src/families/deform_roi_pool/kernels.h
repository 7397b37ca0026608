/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_
#define MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(deform_roi_pool_grad_offset);

#endif /* MLUOP_FAMILIES_DEFORM_ROI_POOL_KERNELS_H_ */
