/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LAYOUT_PLAN_H_
#define MLUOP_LAYOUT_PLAN_H_

/* How a matrix is transposed, for operators that write planes. */

#include "core/internal.h"
#include "layout/kernels.h"

/* Expects the extents, the distances and the size of an element in `args`, and sets the rest but
   the memory. `moved`: bytes that the call reads and writes. */
void mluop_plan_layout(mluOpHandle_t handle, struct layout_args *args, int64_t moved);

#endif /* MLUOP_LAYOUT_PLAN_H_ */
