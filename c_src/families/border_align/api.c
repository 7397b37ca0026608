/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/contract.h"
#include "families/border_align/job.h"
#include "families/border_align/kernels.h"

/* input or grad_input; boxes; output or grad_output; argmax_idx */
enum { MAP, BOXES, ROWS, ARGMAX };

#define NHWC (MLUOP_BIT(MAP) | MLUOP_BIT(ROWS) | MLUOP_BIT(ARGMAX))

/* The order of the contract, for both directions. */
static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .value = 3},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = NHWC, .value = 4},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SAME_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(BOXES) | MLUOP_BIT(ROWS),
     .value = MAP},
    {.check = CHECK_DTYPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(ARGMAX),
     .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = NHWC, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP), .text = "N H W 4*C"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .text = "N H*W 4"},
    {.check = CHECK_SHAPE,
     .status = BAD_PARAM,
     .tensors = MLUOP_BIT(ROWS) | MLUOP_BIT(ARGMAX),
     .text = "N H*W 4 C"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pool_size", .value = 1},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Costs in samples of one channel, about 1/25 of a nanosecond: what is worth a second thread, and
   what a border costs whatever its channels. */
enum {
  BLOCK_COST = 1 << 19,
  FIXED_COST = 1 << 11,
  FIXED_COST_FEW = 1 << 7,
  COST_OF_GRADIENT = 16,
  SHARES_PER_THREAD = 8
};

/* What the lesser jobs hand to a thread at least. */
enum { PLAN_BOXES = 1 << 10, CHECK_ELEMENTS_PER_THREAD = 1 << 16 };

/* Two lines of the map, one block of channels of them, should stay in the caches of a core. */
enum { LINES_BYTES = 384 << 10, CACHE_LINE_FLOATS = 16 };

/* Hardware prefetches run ahead of what a thread reads in its scratch memory: without a gap they
   would take lines away that the next thread writes. */
enum { APART_BYTES = 8 << 10 };

/* Fewer channels than these, of maps whose sums stay in the caches of a core, the backward adds up
   without plan and lines. */
enum { FEW_CHANNELS = 16, FEW_SUMS = 1 << 18 };

static int64_t round_up(int64_t value, int64_t unit) { return mluop_div_up(value, unit) * unit; }

static void choose_blocks(struct border_align_args *args) {
  const int64_t longest = mluop_max(args->H, args->W) + 1;
  const int64_t fitting = LINES_BYTES / (2 * longest * (int64_t)sizeof(float));
  args->blocks = mluop_div_up(args->C, mluop_max(fitting, 4 * CACHE_LINE_FLOATS));
  args->block = round_up(mluop_div_up(args->C, args->blocks), CACHE_LINE_FLOATS);
  args->blocks = mluop_div_up(args->C, args->block);
  /* One cache line more than the channels need: else pixels would compete for the same sets. */
  args->pixel_floats = args->C < CACHE_LINE_FLOATS ? args->C : args->block + CACHE_LINE_FLOATS;
  args->line_floats = round_up(longest * args->pixel_floats, CACHE_LINE_FLOATS) + CACHE_LINE_FLOATS;
}

static void set_args(const struct mluop_call *call, struct border_align_args *args) {
  args->N = mluop_extent(call, 'N');
  args->H = mluop_extent(call, 'H');
  args->W = mluop_extent(call, 'W');
  args->C = mluop_extent(call, 'C');
  args->K = args->H * args->W;
  args->pool_size = (int32_t)mluop_integer_of(call, "pool_size");
  args->is_half = mluop_is_half(call, MAP);
  choose_blocks(args);
}

/* Returns the most points that a border is sampled at. */
static int64_t choose_samples(struct border_align_args *args) {
  const int64_t longest = mluop_max(args->H, args->W), all = (int64_t)args->pool_size + 1;
  const int64_t samples = args->pool_size <= BORDER_ALIGN_POOL_LIMIT ? all : 2 * (longest + 2);
  const int few = args->pool_size <= BORDER_ALIGN_TOGETHER_POOL;
  args->together = few && longest <= BORDER_ALIGN_TOGETHER_EXTENT ? BORDER_ALIGN_LANES : 1;
  args->sample_blocks = mluop_div_up(samples * args->together, BORDER_ALIGN_LANES);
  return samples;
}

/* What to do if tensors do not fit the caches. Only results of whole lines can go past these. */
static void choose_stores(const struct mluop_call *call, struct border_align_args *args,
                          const void *first, const void *second) {
  const uintptr_t addresses = (uintptr_t)first | (uintptr_t)second;
  args->large = mluop_exceeds_caches(call->handle, mluop_tensor_bytes(call));
  args->stream =
      args->large && !args->is_half && addresses % 64 == 0 && args->C % CACHE_LINE_FLOATS == 0;
}

/* Runs a kernel over the planned lists of borders; `extra` is what a thread needs besides its
   lines. A kernel that goes through lists in order plans those that it comes to by itself, unless
   threads would have to share them. */
static mluOpStatus_t run(const struct mluop_call *call, struct border_align_args *args,
                         struct mluop_job *job, int64_t extra) {
  const int64_t lists = args->N * 4, threads = mluop_num_threads(call->handle);
  const int64_t workers = mluop_min(threads, mluop_div_up(job->count, job->grain));
  const bool by_kernel = job->schedule == MLUOP_STATIC && workers <= lists;
  const int64_t planned = by_kernel ? 1 : lists;
  const size_t order = (size_t)round_up(planned * args->K, 16) * sizeof(int32_t);
  const size_t plan = 2 * order + (size_t)round_up(planned * (args->K + 2), 16) * sizeof(int32_t);
  const size_t room = (size_t)(2 * args->line_floats) * sizeof(float) + (size_t)round_up(extra, 64);
  job->scratch_stride = room + (by_kernel ? plan : 0) + APART_BYTES;
  const size_t bytes = (by_kernel ? 0 : plan) + (size_t)workers * job->scratch_stride;
  char *scratch = mluop_scratch(call->handle, bytes);
  if (scratch == NULL) return mluop_no_scratch(call, bytes);
  job->args = args;
  job->scratch = scratch;
  args->plan_at = room;
  if (!by_kernel) {
    args->plan_order = (int32_t *)(void *)scratch;
    args->plan_keys = (int32_t *)(void *)(scratch + order);
    args->plan_first = (int32_t *)(void *)(scratch + 2 * order);
    job->scratch = scratch + plan;
    const struct mluop_job planning = {.kernel = border_align_plan[call->handle->isa],
                                       .args = args,
                                       .count = lists,
                                       .grain = mluop_grain(PLAN_BOXES, args->K),
                                       .schedule = MLUOP_DYNAMIC};
    mluop_parallel_for(call->handle, &planning);
  }
  mluop_parallel_for(call->handle, job);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpBorderAlignForward(mluOpHandle_t handle,
                                      const mluOpTensorDescriptor_t input_desc, const void *input,
                                      const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                      const int32_t pool_size,
                                      const mluOpTensorDescriptor_t output_desc, void *output,
                                      const mluOpTensorDescriptor_t argmax_idx_desc,
                                      void *argmax_idx) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignForward",
      .handle = handle,
      .tensors = {[MAP] = {"input", input_desc, input, .output = false},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"output", output_desc, output, .output = true},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = true}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = {
      .map = input, .boxes = boxes, .rows_out = output, .argmax_out = argmax_idx};
  set_args(&call, &args);
  const int64_t borders = args.N * args.K * 4, samples = choose_samples(&args);
  choose_stores(&call, &args, output, argmax_idx);
  struct mluop_job job = {.kernel = border_align_forward[handle->isa],
                          .count = borders,
                          .grain = mluop_grain(BLOCK_COST, FIXED_COST + samples * args.C),
                          .schedule = MLUOP_STATIC};
  return run(&call, &args, &job, args.sample_blocks * (int64_t)sizeof(struct border_sample_block));
}

/* Leaves *first as it is if every argmax is a step. */
static void find_bad_argmax(const struct mluop_call *call, struct border_align_args *args,
                            int64_t *first) {
  args->bad = first;
  const struct mluop_job job = {.kernel = border_align_check[call->handle->isa],
                                .args = args,
                                .count = args->N * args->K * 4 * args->C,
                                .grain = CHECK_ELEMENTS_PER_THREAD,
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(call->handle, &job);
}

static mluOpStatus_t fail_argmax(const struct mluop_call *call,
                                 const struct border_align_args *args, int64_t element) {
  const int64_t c = element % args->C, border = element / args->C, box = border / 4;
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, call->api,
                    "argmax_idx[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "] is %" PRId32
                    ", expected 0 to %" PRId32 " (pool_size)",
                    box / args->K, box % args->K, border % 4, c, args->argmax[element],
                    args->pool_size);
}

static int64_t sums_of_list(const struct border_align_args *args) {
  return (args->H + 1) * (args->W + 1) * args->C;
}

/* The backward of few channels: no plan; a thread holds the sums of one list. */
static mluOpStatus_t run_few(const struct mluop_call *call, struct border_align_args *args) {
  const int64_t cost = args->K * (FIXED_COST_FEW + args->C * COST_OF_GRADIENT);
  struct mluop_job job = {.kernel = border_align_backward_few[call->handle->isa],
                          .args = args,
                          .count = args->N * 4,
                          .grain = mluop_grain(BLOCK_COST, cost),
                          .schedule = MLUOP_STATIC};
  const int64_t threads = mluop_num_threads(call->handle);
  const int64_t workers = mluop_min(threads, mluop_div_up(job.count, job.grain));
  job.scratch_stride =
      (size_t)round_up(sums_of_list(args) * (int64_t)sizeof(double), 64) + APART_BYTES;
  const size_t bytes = (size_t)workers * job.scratch_stride;
  job.scratch = mluop_scratch(call->handle, bytes);
  if (job.scratch == NULL) return mluop_no_scratch(call, bytes);
  mluop_parallel_for(call->handle, &job);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignBackward",
      .handle = handle,
      .tensors = {[MAP] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = false}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = {
      .map_out = grad_input, .boxes = boxes, .rows = grad_output, .argmax = argmax_idx};
  set_args(&call, &args);
  const int64_t elements = args.N * args.K * 4 * args.C;
  int64_t bad = elements;
  find_bad_argmax(&call, &args, &bad);
  if (bad < elements) return fail_argmax(&call, &args, bad);
  if (args.C < FEW_CHANNELS && sums_of_list(&args) <= FEW_SUMS) return run_few(&call, &args);
  choose_stores(&call, &args, grad_input, NULL);
  const int64_t lines = 2 * (args.H + args.W) * args.blocks * args.N;
  const int64_t line_cost = elements / lines * COST_OF_GRADIENT;
  const int64_t fair = lines / (SHARES_PER_THREAD * (int64_t)mluop_num_threads(handle));
  struct mluop_job job = {.kernel = border_align_backward[handle->isa],
                          .count = lines,
                          .grain = mluop_max(fair, mluop_grain(BLOCK_COST, line_cost)),
                          .schedule = MLUOP_OWN_FIRST};
  return run(&call, &args, &job, 2 * args.line_floats * (int64_t)sizeof(float));
}
