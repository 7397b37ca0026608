/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/contract.h"
#include "families/border_align/job.h"
#include "families/border_align/kernels.h"

/* input or grad_input; output or grad_output; boxes; argmax_idx */
enum { MAP, ROWS, BOXES, ARGMAX };

#define STEPS MLUOP_BIT(ARGMAX)
#define PER_BOX (MLUOP_BIT(ROWS) | STEPS)
#define NHWC (MLUOP_BIT(MAP) | PER_BOX)
#define VALUES (MLUOP_BIT(MAP) | MLUOP_BIT(ROWS) | MLUOP_BIT(BOXES))

/* The order of the contract, for both directions. */
static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .value = 3},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = NHWC, .value = 4},
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_FLOATING, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = VALUES, .value = MAP},
    {.check = CHECK_DTYPE, .status = BAD_PARAM, .tensors = STEPS, .value = MLUOP_DTYPE_INT32},
    {.check = CHECK_LAYOUT, .status = BAD_PARAM, .tensors = NHWC, .value = MLUOP_LAYOUT_NHWC},
    {.check = CHECK_EMPTY, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP)},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(MAP), .text = "N H W 4*C"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(BOXES), .text = "N H*W 4"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = PER_BOX, .text = "N H*W 4 C"},
    {.check = CHECK_MIN, .status = BAD_PARAM, .text = "pool_size", .value = 1},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Picoseconds: of a sample of one channel and of a border whatever its channels, of a gradient, of
   a box that is put in order, of an element of argmax that is checked. */
enum {
  SAMPLE_COST = 38,
  BORDER_COST = 78 * MLUOP_NANOSECOND,
  GRADIENT_COST = 610,
  BOX_COST = 20 * MLUOP_NANOSECOND,
  ELEMENT_COST = 305
};

enum { SHARES_PER_THREAD = 8, PIECE_LINES = 8 /* that are worth one that is done twice */ };

/* Two lines of the map, one block of channels of them, should stay in the caches of a core. */
enum { LINES_BYTES = 384 << 10, CACHE_LINE_FLOATS = 16 };

/* Those that the forward keeps around a line. */
enum { EXTRA_PIXELS = 3 };

static int64_t round_up(int64_t value, int64_t unit) { return mluop_div_up(value, unit) * unit; }

static void choose_blocks(struct border_align_plan *plan, const struct border_align_shape *shape) {
  const int64_t longest = mluop_max(shape->H, shape->W) + EXTRA_PIXELS, C = shape->C;
  const int64_t fitting = LINES_BYTES / (2 * longest * (int64_t)sizeof(float));
  plan->blocks = mluop_div_up(C, mluop_max(fitting, 4 * CACHE_LINE_FLOATS));
  plan->block = round_up(mluop_div_up(C, plan->blocks), CACHE_LINE_FLOATS);
  plan->blocks = mluop_div_up(C, plan->block);
  /* One cache line more than the channels need: else pixels would compete for the same sets. */
  plan->pixel_floats = C < CACHE_LINE_FLOATS ? C : plan->block + CACHE_LINE_FLOATS;
  plan->line_floats = round_up(longest * plan->pixel_floats, CACHE_LINE_FLOATS) + CACHE_LINE_FLOATS;
}

/* Shape and blocks, of both directions. */
static struct border_align_args args_of(const struct mluop_call *call) {
  const int64_t H = mluop_extent(call, 'H'), W = mluop_extent(call, 'W');
  struct border_align_args args = {
      .shape = {.N = mluop_extent(call, 'N'),
                .H = H,
                .W = W,
                .C = mluop_extent(call, 'C'),
                .K = H * W,
                .pool_size = (int32_t)mluop_integer_of(call, "pool_size"),
                .is_half = mluop_is_half(call, MAP),
                .boxes = call->tensors[BOXES].data},
      .plan = {.large = mluop_exceeds_caches(call->handle, mluop_tensor_bytes(call))}};
  choose_blocks(&args.plan, &args.shape);
  return args;
}

static struct mluop_job plan_forward(struct border_align_args *args, mluOpHandle_t handle) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t longest = mluop_max(shape->H, shape->W), all = (int64_t)shape->pool_size + 1;
  const bool every = shape->pool_size <= BORDER_ALIGN_POOL_LIMIT;
  const int64_t samples = every ? all : 2 * (longest + 2);
  args->plan.together = every ? BORDER_ALIGN_LANES : 1;
  args->plan.point_groups = mluop_div_up(samples * args->plan.together, BORDER_ALIGN_LANES);
  args->plan.lines = 2;
  return (struct mluop_job){.kernel = border_align_forward[mluop_isa_for_run(handle, shape->C)],
                            .count = shape->N * shape->K * 4,
                            .grain = mluop_grain(BORDER_COST + samples * shape->C * SAMPLE_COST),
                            .schedule = MLUOP_STATIC};
}

static struct mluop_job plan_backward(struct border_align_args *args, mluOpHandle_t handle) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t elements = shape->N * shape->K * 4 * shape->C;
  const int64_t count = 2 * (shape->H + shape->W) * args->plan.blocks * shape->N;
  const int64_t fair = count / (SHARES_PER_THREAD * (int64_t)mluop_num_threads(handle));
  const int64_t cost = elements / count * GRADIENT_COST;
  args->plan.lines = 4;
  return (struct mluop_job){.kernel = border_align_backward[mluop_isa_for_run(handle, shape->C)],
                            .count = count,
                            .grain = mluop_max(fair, mluop_grain(cost)),
                            .piece = mluop_max(PIECE_LINES, mluop_piece(cost)),
                            .schedule = MLUOP_STEAL};
}

/* Orders all lists, and does the job that has been planned. */
static mluOpStatus_t run(const struct mluop_call *call, struct border_align_args *args,
                         struct mluop_job job) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t lists = shape->N * 4, numbers = lists * border_align_order_size(shape);
  struct mluop_arena each = {NULL, 0};
  border_align_take(&args->plan, &each);
  job.args = args;
  job.scratch_bytes = each.used;
  args->orders = mluop_reserve(call->handle, (size_t)numbers * sizeof(*args->orders), &job);
  if (args->orders == NULL) return mluop_no_scratch(call);
  const struct mluop_job ordering = {.kernel = border_align_order[call->handle->isa],
                                     .args = args,
                                     .count = lists,
                                     .grain = mluop_grain(BOX_COST * shape->K),
                                     .schedule = MLUOP_DYNAMIC};
  mluop_parallel_for(call->handle, &ordering);
  mluop_parallel_for(call->handle, &job);
  return mluop_end_call(call, MLUOP_STATUS_SUCCESS);
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
      .gen_case = "border_align_forward border_align_param",
      .handle = handle,
      .tensors = {[MAP] = {"input", input_desc, input, .output = false},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"output", output_desc, output, .output = true},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = true}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = args_of(&call);
  args.map = input;
  args.rows_out = output;
  args.argmax_out = argmax_idx;
  return run(&call, &args, plan_forward(&args, handle));
}

/* Leaves *first as it is if every argmax is a step. */
static void find_bad_argmax(mluOpHandle_t handle, struct border_align_args *args, int64_t *first) {
  const struct border_align_shape *shape = &args->shape;
  args->bad = first;
  const struct mluop_job job = {.kernel = border_align_check[handle->isa],
                                .args = args,
                                .count = shape->N * shape->K * 4 * shape->C,
                                .grain = mluop_grain(ELEMENT_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
}

static mluOpStatus_t fail_argmax(const struct mluop_call *call,
                                 const struct border_align_args *args, int64_t element) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t c = element % shape->C, border = element / shape->C, box = border / 4;
  return mluop_fail(MLUOP_STATUS_BAD_PARAM, call->api,
                    "argmax_idx[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "] is %" PRId32
                    ", expected 0 to %" PRId32 " (pool_size)",
                    box / shape->K, box % shape->K, border % 4, c, args->argmax[element],
                    shape->pool_size);
}

mluOpStatus_t mluOpBorderAlignBackward(
    mluOpHandle_t handle, const mluOpTensorDescriptor_t grad_output_desc, const void *grad_output,
    const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
    const mluOpTensorDescriptor_t argmax_idx_desc, const void *argmax_idx, const int32_t pool_size,
    const mluOpTensorDescriptor_t grad_input_desc, void *grad_input) {
  struct mluop_call call = {
      .api = "mluOpBorderAlignBackward",
      .gen_case = "border_align_backward border_align_param",
      .handle = handle,
      .tensors = {[MAP] = {"grad_input", grad_input_desc, grad_input, .output = true},
                  [BOXES] = {"boxes", boxes_desc, boxes, .output = false},
                  [ROWS] = {"grad_output", grad_output_desc, grad_output, .output = false},
                  [ARGMAX] = {"argmax_idx", argmax_idx_desc, argmax_idx, .output = false}},
      .scalars = {mluop_integer("pool_size", pool_size)}};
  mluOpStatus_t status;
  if (!mluop_contract_holds(&call, rules, &status)) return status;
  struct border_align_args args = args_of(&call);
  args.map_out = grad_input;
  args.rows = grad_output;
  args.argmax = argmax_idx;
  const int64_t elements = args.shape.N * args.shape.K * 4 * args.shape.C;
  int64_t bad = elements;
  find_bad_argmax(handle, &args, &bad);
  if (bad < elements) return fail_argmax(&call, &args, bad);
  return run(&call, &args, plan_backward(&args, handle));
}
