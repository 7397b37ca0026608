/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_KERNELS_H_
#define MLUOP_FAMILIES_NMS_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(nms_select);

#endif /* MLUOP_FAMILIES_NMS_KERNELS_H_ */
