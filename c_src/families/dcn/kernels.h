/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_KERNELS_H_
#define MLUOP_FAMILIES_DCN_KERNELS_H_

#include "core/kernel.h"

MLUOP_KERNEL(dcn_pack_forward);
MLUOP_KERNEL(dcn_forward);
MLUOP_KERNEL(dcn_pack_data);
MLUOP_KERNEL(dcn_backward_data);
MLUOP_KERNEL(dcn_finish_data);
MLUOP_KERNEL(dcn_backward_weight);
MLUOP_KERNEL(dcn_finish_weight);

#endif /* MLUOP_FAMILIES_DCN_KERNELS_H_ */
