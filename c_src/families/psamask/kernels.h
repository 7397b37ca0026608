/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_KERNELS_H_
#define MLUOP_FAMILIES_PSAMASK_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(psamask_collect);
MLUOP_KERNEL(psamask_distribute_forward);
MLUOP_KERNEL(psamask_distribute_backward);
MLUOP_KERNEL(psamask_nchw);

#endif /* MLUOP_FAMILIES_PSAMASK_KERNELS_H_ */
