/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PLAN_H_
#define MLUOP_FAMILIES_CARAFE_PLAN_H_

/* How the work of a call is cut into items, and on which way its tensors are read and written. */

#include "core/internal.h"
#include "families/carafe/backward_plan.h"
#include "families/carafe/forward.h"

/* Both expect shape and data of `args`, and set everything else there and in the job. */
void mluop_carafe_plan_forward(mluOpHandle_t handle, struct carafe_forward_args *args,
                               struct mluop_job *job);
void mluop_carafe_plan_backward(mluOpHandle_t handle, struct carafe_backward_args *args,
                                struct mluop_job *job);

#endif /* MLUOP_FAMILIES_CARAFE_PLAN_H_ */
