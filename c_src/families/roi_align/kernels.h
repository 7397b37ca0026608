/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_ROI_ALIGN_KERNELS_H_
#define MLUOP_FAMILIES_ROI_ALIGN_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(roi_align_maximum);
MLUOP_KERNEL(roi_align_reach);
MLUOP_KERNEL(roi_align_scatter);

#endif /* MLUOP_FAMILIES_ROI_ALIGN_KERNELS_H_ */
