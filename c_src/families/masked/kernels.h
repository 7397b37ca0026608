/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_KERNELS_H_
#define MLUOP_FAMILIES_MASKED_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(masked_im2col_forward);
MLUOP_KERNEL(masked_col2im_locate); /* item: a position */
MLUOP_KERNEL(masked_col2im_forward);

#endif /* MLUOP_FAMILIES_MASKED_KERNELS_H_ */
