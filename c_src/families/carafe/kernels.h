/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_KERNELS_H_
#define MLUOP_FAMILIES_CARAFE_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(carafe_forward);
MLUOP_KERNEL(carafe_forward_small);
MLUOP_KERNEL(carafe_backward);
MLUOP_KERNEL(carafe_backward_small);

#endif /* MLUOP_FAMILIES_CARAFE_KERNELS_H_ */
