/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"
#include "families/psamask/job.h"
#include "families/psamask/kernels.h"

enum { MASKS, SPREAD }; /* x or dx, of h_mask * w_mask channels; y or dy, of H * W channels */

static bool rules_hold(struct mluop_call *call, bool forward, bool nchw, mluOpStatus_t *status) {
  const mluOpTensorLayout_t layout = nchw ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC;
  const char *const masks = nchw ? "N h_mask*w_mask H W" : "N H W h_mask*w_mask";
  const char *const spread = nchw ? "N H*W H W" : "N H W H*W";
  const unsigned input = forward ? MLUOP_BIT(MASKS) : MLUOP_BIT(SPREAD); /* may be empty */
  const struct mluop_rule rules[] = {
      {.check = CHECK_HANDLE, .status = BAD_PARAM},
      {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
      {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = layout},
      {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = MLUOP_DTYPE_FLOAT},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "psa_type", .value = 0},
      {.check = CHECK_MAX, .status = BAD_PARAM, .text = "psa_type", .value = 1},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "h_mask", .value = 0},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "w_mask", .value = 0},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MASKS), .text = masks},
      {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(SPREAD), .text = spread},
      {.check = CHECK_CONTIGUOUS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_ELEMENTS, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = input},
      {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
      {.check = CHECK_OVERLAP, .status = BAD_PARAM},
      {.check = CHECK_END}};
  return mluop_contract_holds(call, rules, status);
}

enum {
  BYTE_COST = 76,        /* of the target, in picoseconds */
  NEAR_BYTES = 1 << 21,  /* so near that a prefetch costs more than the wait */
  WIDEST_MASK = 1 << 12, /* that distribute backward streams */
  WIDEST_VECTOR = 16,
  NARROW_MAP = 40 /* up to which shorter vectors are better where distribute backward streams */
};

/* What a call brings into the caches: the target, and what is read. Of masks, that are runs, with
   the lines where they begin. */
static int64_t moved_bytes(const struct psamask_args *a) {
  const int64_t target = a->forward ? a->H * a->W : a->h_mask * a->w_mask;
  const int64_t row = mluop_min(a->w_mask, a->forward ? a->W + 16 : a->W);
  const int64_t floats = target + mluop_min(a->h_mask, a->H) * row;
  return a->N * a->H * a->W * floats * (int64_t)sizeof(float);
}

/* Lets scratch rows of `floats` begin an odd number of lines apart: they must not share a set of
   the cache. */
static int64_t odd_lines(int64_t floats) {
  return ((floats + PSAMASK_LINE - 1) / PSAMASK_LINE | 1) * PSAMASK_LINE;
}

static bool reaches_all(int64_t extent, int64_t mask) {
  const int64_t before = (mask - 1) / 2;
  return before >= extent - 1 && mask - 1 - before >= extent - 1;
}

/* Bytes of scratch. The size of blocks, in targets, was measured: where runs are put together,
   larger ones are better, and smaller ones where they stay in the first cache on their way to the
   memory. */
static size_t plan_distribute(struct psamask_args *a) {
  a->blocks.whole =
      a->W >= WIDEST_VECTOR && reaches_all(a->H, a->h_mask) && reaches_all(a->W, a->w_mask);
  if (!a->forward && !(a->blocks.whole && a->w_mask <= WIDEST_MASK)) a->stream = 0;
  const int64_t targets = a->forward && a->blocks.whole ? 64 : !a->forward && a->stream ? 128 : 256;
  a->blocks.rows = mluop_min(a->H, mluop_max(1, targets / a->W));
  int64_t floats = a->blocks.rows * a->W + WIDEST_VECTOR;
  if (!a->forward && a->stream) {
    floats = PSAMASK_LINE + mluop_max(PSAMASK_ROOM, a->blocks.rows * a->w_mask);
  }
  a->blocks.pitch = odd_lines(floats);
  floats = PSAMASK_PIXELS * a->blocks.pitch;
  if (a->forward && a->stream) {
    floats += (a->blocks.rows * a->W + WIDEST_VECTOR) * (PSAMASK_PIXELS + PSAMASK_LINE);
  }
  return (size_t)floats * sizeof(float);
}

/* A job of so many items, which write so many floats each. (Runs are no longer than a row.) */
static struct mluop_job job_of(const struct psamask_args *a, int64_t count, int64_t floats) {
  return (struct mluop_job){.args = a,
                            .count = count,
                            .grain = mluop_grain(floats * (int64_t)sizeof(float) * BYTE_COST),
                            .schedule = MLUOP_STATIC,
                            .run = a->W};
}

static mluOpStatus_t run_nhwc(const struct mluop_call *call, struct psamask_args *a) {
  const int64_t pixels = a->distributes && a->forward ? a->W : 1; /* of an item */
  const int64_t floats = pixels * (a->forward ? a->H * a->W : a->h_mask * a->w_mask);
  struct mluop_job job = job_of(a, a->N * a->H * a->W / pixels, floats);
  if (a->distributes) job.scratch_bytes = plan_distribute(a);
  if (a->distributes && !a->forward && a->stream && a->W <= NARROW_MAP) job.run = 1;
  mluop_kernel *const *const distribute =
      a->forward ? psamask_distribute_forward : psamask_distribute_backward;
  job.kernel =
      (a->distributes ? distribute : psamask_collect)[mluop_isa_for_run(call->handle, job.run)];
  if (a->distributes && mluop_reserve(call->handle, 0, &job) == NULL) return mluop_no_scratch(call);
  mluop_parallel_for(call->handle, &job);
  return mluop_end_call(call, SUCCESS);
}

static mluOpStatus_t run_nchw(const struct mluop_call *call, struct psamask_args *a) {
  const int64_t planes = a->forward ? a->W : a->w_mask;
  const int64_t room = PSAMASK_NCHW_SCRATCH / (int64_t)sizeof(float) / planes;
  struct mluop_job job = job_of(a, a->N * (a->forward ? a->H : a->h_mask) * a->H, planes * a->W);
  job.kernel = psamask_nchw[mluop_isa_for_run(call->handle, job.run)];
  job.scratch_bytes = PSAMASK_NCHW_SCRATCH;
  /* Without scratch, results are written directly. */
  if (a->W + PSAMASK_NCHW_SPARE > room || mluop_reserve(call->handle, 0, &job) == NULL) {
    a->stream = 0;
  }
  mluop_parallel_for(call->handle, &job);
  return mluop_end_call(call, SUCCESS);
}

/* `call` has what differs between the functions: its names and the handle. */
static mluOpStatus_t run(struct mluop_call call, bool forward, bool nchw, int psa_type, int h_mask,
                         int w_mask, mluOpTensorDescriptor_t masks_desc, const void *masks,
                         mluOpTensorDescriptor_t spread_desc, const void *spread) {
  call.tensors[MASKS] =
      (struct mluop_tensor){forward ? "x" : "dx", masks_desc, masks, .output = !forward};
  call.tensors[SPREAD] =
      (struct mluop_tensor){forward ? "y" : "dy", spread_desc, spread, .output = forward};
  call.scalars[0] = mluop_integer("psa_type", psa_type);
  call.scalars[1] = mluop_integer("h_mask", h_mask);
  call.scalars[2] = mluop_integer("w_mask", w_mask);
  mluOpStatus_t status;
  if (!rules_hold(&call, forward, nchw, &status)) return status;
  struct psamask_args args = {.source = forward ? masks : spread,
                              .target = (void *)(forward ? spread : masks),
                              .N = mluop_extent(&call, 'N'),
                              .H = mluop_extent(&call, 'H'),
                              .W = mluop_extent(&call, 'W'),
                              .h_mask = h_mask,
                              .w_mask = w_mask,
                              .forward = forward,
                              .distributes = psa_type == 1};
  if (args.h_mask * args.w_mask == 0) return mluop_end_call(&call, SUCCESS); /* an empty dx */
  const int64_t moved = moved_bytes(&args);
  args.prefetch = moved > NEAR_BYTES;
  args.stream = mluop_exceeds_caches(call.handle, moved);
  return nchw ? run_nchw(&call, &args) : run_nhwc(&call, &args);
}

mluOpStatus_t mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                  const mluOpTensorDescriptor_t x_desc, const void *x,
                                  const int h_mask, const int w_mask,
                                  const mluOpTensorDescriptor_t y_desc, void *y) {
  const struct mluop_call call = {.api = "mluOpPsamaskForward",
                                  .gen_case = "psamask_forward psamask_forward_param",
                                  .handle = handle};
  return run(call, true, false, psa_type, h_mask, w_mask, x_desc, x, y_desc, y);
}

mluOpStatus_t mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                   const mluOpTensorDescriptor_t dy_desc, const void *dy,
                                   const int h_mask, const int w_mask,
                                   const mluOpTensorDescriptor_t dx_desc, void *dx) {
  const struct mluop_call call = {.api = "mluOpPsamaskBackward",
                                  .gen_case = "psamask_backward psamask_backward_param",
                                  .handle = handle};
  return run(call, false, false, psa_type, h_mask, w_mask, dx_desc, dx, dy_desc, dy);
}

mluOpStatus_t mluOpCpuPsamaskNchwForward(mluOpHandle_t handle, const int psa_type,
                                         const mluOpTensorDescriptor_t x_desc, const void *x,
                                         const int h_mask, const int w_mask,
                                         const mluOpTensorDescriptor_t y_desc, void *y) {
  const struct mluop_call call = {.api = "mluOpCpuPsamaskNchwForward",
                                  .gen_case = "cpu_psamask_nchw_forward psamask_forward_param",
                                  .handle = handle};
  return run(call, true, true, psa_type, h_mask, w_mask, x_desc, x, y_desc, y);
}

mluOpStatus_t mluOpCpuPsamaskNchwBackward(mluOpHandle_t handle, const int psa_type,
                                          const mluOpTensorDescriptor_t dy_desc, const void *dy,
                                          const int h_mask, const int w_mask,
                                          const mluOpTensorDescriptor_t dx_desc, void *dx) {
  const struct mluop_call call = {.api = "mluOpCpuPsamaskNchwBackward",
                                  .gen_case = "cpu_psamask_nchw_backward psamask_backward_param",
                                  .handle = handle};
  return run(call, false, true, psa_type, h_mask, w_mask, dx_desc, dx, dy_desc, dy);
}
