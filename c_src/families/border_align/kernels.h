/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_KERNELS_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(border_align_order);
MLUOP_KERNEL(border_align_check);
MLUOP_KERNEL(border_align_forward);
MLUOP_KERNEL(border_align_backward);

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_KERNELS_H_ */
