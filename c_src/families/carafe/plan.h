/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PLAN_H_
#define MLUOP_FAMILIES_CARAFE_PLAN_H_

/* How the work of a call is cut into items, and on which way its tensors are read and written. */

#include "core/contract.h"
#include "families/carafe/job.h"

/* Expects shape, tensors, and `plan.tensors` in `args`; sets its plan and the job. */
void mluop_carafe_plan(mluOpHandle_t handle, struct carafe_args *args, struct mluop_job *job);

#endif /* MLUOP_FAMILIES_CARAFE_PLAN_H_ */
