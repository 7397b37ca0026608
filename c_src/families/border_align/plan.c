/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/plan.h"

#include "families/border_align/kernels.h"

/* Picoseconds: of a sample of one channel and of a border whatever its channels, of a gradient, of
   a border of small channels, of a box that is put in order. */
enum {
  SAMPLE_COST = 38,
  BORDER_COST = 78 * MLUOP_NANOSECOND,
  GRADIENT_COST = 610,
  SMALL_BORDER_COST = 5 * MLUOP_NANOSECOND,
  BOX_COST = 20 * MLUOP_NANOSECOND
};

enum { SHARES_PER_THREAD = 8 };

/* Of borders that are worth putting a list in order, at most; lines worth one that is done twice.
 */
enum { UNIT_NANOSECONDS = 20000000, UNIT_LINES = 8 };

/* Two lines of the map, one block of channels of them, should stay in the caches of a core. */
enum { LINES_BYTES = 384 << 10, CACHE_LINE_FLOATS = 16 };

/* Fewer channels than these, of maps whose sums stay in the caches of a core, the backward adds up
   without order and lines. */
enum { SMALL_CHANNELS = 16, SMALL_SUMS = 1 << 18 };

static int64_t round_up(int64_t value, int64_t unit) { return mluop_div_up(value, unit) * unit; }

static void choose_blocks(struct border_align_plan *plan, const struct border_align_shape *shape) {
  const int64_t longest = mluop_max(shape->H, shape->W) + 1, C = shape->C;
  const int64_t fitting = LINES_BYTES / (2 * longest * (int64_t)sizeof(float));
  plan->blocks = mluop_div_up(C, mluop_max(fitting, 4 * CACHE_LINE_FLOATS));
  plan->block = round_up(mluop_div_up(C, plan->blocks), CACHE_LINE_FLOATS);
  plan->blocks = mluop_div_up(C, plan->block);
  /* One cache line more than the channels need: else pixels would compete for the same sets. */
  plan->pixel_floats = C < CACHE_LINE_FLOATS ? C : plan->block + CACHE_LINE_FLOATS;
  plan->line_floats = round_up(longest * plan->pixel_floats, CACHE_LINE_FLOATS) + CACHE_LINE_FLOATS;
}

/* Returns the most points that a border is sampled at. */
static int64_t choose_samples(struct border_align_plan *plan,
                              const struct border_align_shape *shape) {
  const int64_t longest = mluop_max(shape->H, shape->W), all = (int64_t)shape->pool_size + 1;
  const int64_t samples = shape->pool_size <= BORDER_ALIGN_POOL_LIMIT ? all : 2 * (longest + 2);
  const int few = shape->pool_size <= BORDER_ALIGN_TOGETHER_POOL;
  plan->together = few && longest <= BORDER_ALIGN_TOGETHER_EXTENT ? BORDER_ALIGN_LANES : 1;
  plan->sample_groups = mluop_div_up(samples * plan->together, BORDER_ALIGN_LANES);
  return samples;
}

/* What to do if tensors do not fit the caches, as plan.large says. Only results of whole lines can
   go past these. */
static int can_stream(const struct border_align_shape *shape, const void *first,
                      const void *second) {
  const uintptr_t addresses = (uintptr_t)first | (uintptr_t)second;
  return !shape->is_half && addresses % 64 == 0 && shape->C % CACHE_LINE_FLOATS == 0;
}

static void plan_forward(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct border_align_args *args = vargs;
  const struct border_align_shape *shape = &args->shape;
  const int64_t samples = choose_samples(&args->plan, shape);
  choose_blocks(&args->plan, shape);
  args->plan.stream = args->plan.large && can_stream(shape, args->rows_out, args->argmax_out);
  args->plan.lines = 2;
  job->run = shape->C;
  job->count = shape->N * shape->K * 4;
  const int64_t cost = BORDER_COST + samples * shape->C * SAMPLE_COST;
  job->grain = mluop_grain(cost);
  job->schedule = MLUOP_STATIC;
  const int64_t lists = 1 + shape->K * (cost / MLUOP_NANOSECOND) / UNIT_NANOSECONDS;
  job->unit = mluop_div_up(shape->K, lists);
  /* A thread orders the lists that it comes to, unless threads would have to share them. */
  args->plan.own_orders = mluop_workers(machine, job) <= shape->N * 4;
}

static bool has_small_channels(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct border_align_shape *shape = &((const struct border_align_args *)vargs)->shape;
  return shape->C < SMALL_CHANNELS && border_align_sums(shape) <= SMALL_SUMS;
}

static void plan_small(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  struct border_align_args *args = vargs;
  const struct border_align_shape *shape = &args->shape;
  choose_blocks(&args->plan, shape);
  args->plan.sums = border_align_sums(shape);
  job->run = 1; /* channels are added up one by one */
  job->count = shape->N * 4;
  job->grain = mluop_grain(shape->K * (SMALL_BORDER_COST + shape->C * GRADIENT_COST));
  job->schedule = MLUOP_STATIC;
}

static void plan_backward(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct border_align_args *args = vargs;
  const struct border_align_shape *shape = &args->shape;
  const int64_t elements = shape->N * shape->K * 4 * shape->C;
  choose_blocks(&args->plan, shape);
  args->plan.stream = args->plan.large && can_stream(shape, args->map_out, NULL);
  args->plan.lines = 4;
  job->run = shape->C;
  job->count = 2 * (shape->H + shape->W) * args->plan.blocks * shape->N;
  const int64_t fair = job->count / (SHARES_PER_THREAD * (int64_t)mluop_num_threads(machine));
  const int64_t cost = elements / job->count * GRADIENT_COST;
  job->unit = mluop_max(UNIT_LINES, mluop_unit(cost));
  job->grain = mluop_max(fair, mluop_grain(cost));
  job->schedule = MLUOP_STEAL;
}

static const struct mluop_way forward_ways[] = {
    {"general", NULL, NULL, plan_forward, border_align_forward}};

static const struct mluop_way backward_ways[] = {
    {"small_channels", NULL, has_small_channels, plan_small, border_align_backward_small},
    {"general", NULL, NULL, plan_backward, border_align_backward}};

/* Orders all lists beforehand if threads do not do that. */
static mluOpStatus_t run(const struct mluop_call *call, struct border_align_args *args,
                         struct mluop_job *job) {
  const struct border_align_shape *shape = &args->shape;
  const int64_t lists = args->plan.lines > 0 && !args->plan.own_orders ? shape->N * 4 : 0;
  struct mluop_arena each = {NULL, 0}, shared = {NULL, 0};
  border_align_take(args, &each);
  border_align_take_orders(shape, lists, &shared);
  job->scratch_bytes = each.used;
  shared.memory = mluop_reserve(call->handle, shared.used, job);
  if (shared.memory == NULL) return mluop_no_scratch(call);
  if (lists > 0) {
    shared.used = 0;
    args->order = border_align_take_orders(shape, lists, &shared);
    const struct mluop_job ordering = {.kernel = border_align_order[call->handle->isa],
                                       .args = args,
                                       .count = lists,
                                       .grain = mluop_grain(BOX_COST * shape->K),
                                       .schedule = MLUOP_DYNAMIC};
    mluop_parallel_for(call->handle, &ordering);
  }
  mluop_parallel_for(call->handle, job);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluop_border_align_run_forward(const struct mluop_call *call,
                                             struct border_align_args *args) {
  struct mluop_job job = {.kernel = NULL};
  args->plan.large = mluop_exceeds_caches(call->handle, mluop_tensor_bytes(call));
  mluop_plan(call->handle, "border_align_forward", forward_ways, args, &job);
  return run(call, args, &job);
}

mluOpStatus_t mluop_border_align_run_backward(const struct mluop_call *call,
                                              struct border_align_args *args) {
  struct mluop_job job = {.kernel = NULL};
  args->plan.large = mluop_exceeds_caches(call->handle, mluop_tensor_bytes(call));
  mluop_plan(call->handle, "border_align_backward", backward_ways, args, &job);
  return run(call, args, &job);
}
