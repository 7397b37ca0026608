/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_PLAN_H_
#define MLUOP_FAMILIES_CARAFE_PLAN_H_

/* How the work of a call is cut into items, and on which way its tensors are read and written. */

#include "core/internal.h"
#include "families/carafe/job.h"

/* Expects shape and data of `args`; everything else is set here. Returns the kernel, and the floats
   of scratch memory that a thread needs. */
mluop_kernel *mluop_carafe_plan_forward(mluOpHandle_t handle, struct carafe_forward_args *args,
                                        int64_t *floats);
mluop_kernel *mluop_carafe_plan_backward(mluOpHandle_t handle, struct carafe_backward_args *args,
                                         int64_t *floats);

#endif /* MLUOP_FAMILIES_CARAFE_PLAN_H_ */
