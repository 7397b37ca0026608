/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_RUN_H_
#define MLUOP_FAMILIES_DCN_RUN_H_

#include "core/internal.h"
#include "families/dcn/job.h"

/* Operators on tensors that fit together. False without memory to work in: then nothing has been
   written. */
bool dcn_run_forward(mluOpHandle_t handle, struct dcn_args *args);
bool dcn_run_backward_data(mluOpHandle_t handle, struct dcn_args *args);
bool dcn_run_backward_weight(mluOpHandle_t handle, struct dcn_args *args);

#endif /* MLUOP_FAMILIES_DCN_RUN_H_ */
