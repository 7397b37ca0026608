/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_KERNELS_H_
#define MLUOP_FAMILIES_PSAMASK_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(psamask_collect_forward);
MLUOP_KERNEL(psamask_collect_backward);
MLUOP_KERNEL(psamask_distribute_forward);
MLUOP_KERNEL(psamask_distribute_backward);
MLUOP_KERNEL(psamask_nchw_collect_forward);
MLUOP_KERNEL(psamask_nchw_collect_backward);
MLUOP_KERNEL(psamask_nchw_distribute_forward);
MLUOP_KERNEL(psamask_nchw_distribute_backward);

#endif /* MLUOP_FAMILIES_PSAMASK_KERNELS_H_ */
