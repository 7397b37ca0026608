/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/run.h"

#include "families/dcn/kernels.h"

static bool run(mluOpHandle_t handle, struct dcn_args *args, struct mluop_job *job, size_t shared) {
  job->args = args;
  job->schedule = MLUOP_DYNAMIC;
  job->grain = 1;
  void *memory = mluop_reserve(handle, shared, job);
  if (memory == NULL) return false;
  if (args->sums == NULL) args->sums = memory;
  mluop_parallel_for(handle, job);
  return true;
}

bool dcn_run_forward(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  struct mluop_job job = {.kernel = dcn_forward[handle->isa], .count = s->N * s->ho * s->wo};
  return run(handle, args, &job, 0);
}

bool dcn_run_backward_data(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  struct mluop_job job = {.kernel = dcn_backward_data[handle->isa], .count = s->N};
  if (!s->is_half) args->sums = args->data.grad_input;
  return run(handle, args, &job, s->is_half ? (size_t)(s->N * s->H * s->W * s->C) * 4 : 0);
}

bool dcn_run_backward_weight(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  struct mluop_job job = {.kernel = dcn_backward_weight[handle->isa],
                          .count = s->kh * s->kw * s->C,
                          .scratch_bytes = (size_t)(s->co / s->groups) * 8};
  return run(handle, args, &job, 0);
}
