/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_BORDER_ALIGN_PLAN_H_
#define MLUOP_FAMILIES_BORDER_ALIGN_PLAN_H_

/* How a call is done: the plan, the scratch memory, the jobs. Both expect shape and tensors in
   `args`. */

#include "core/contract.h"
#include "families/border_align/job.h"

mluOpStatus_t mluop_border_align_run_forward(const struct mluop_call *call,
                                             struct border_align_args *args);
mluOpStatus_t mluop_border_align_run_backward(const struct mluop_call *call,
                                              struct border_align_args *args);

#endif /* MLUOP_FAMILIES_BORDER_ALIGN_PLAN_H_ */
