/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/backward_plan.h"
#include "families/carafe/kernels.h"
#include "families/carafe/plan.h"

/* Of a multiply-add, in picoseconds. */
enum { PRODUCT_COST = 19 };

enum { BLOCK_CHANNELS = 256, MIN_COLUMNS = 8, STRIP_BYTES = 1 << 21 };

/* Bytes of a chunk of grad_output that stay near until their second reader. */
enum { SEGMENT_BYTES = 1 << 16, MIN_SEGMENT = 8, MOST_SEGMENT = 16 };

/* Rounding errors grow with the length of a sum: an element of grad_input that gets more
   contributions than these has them added up by so many first. */
enum { SUM_TERMS = 1024 };

enum { MOST_SMALL_CHANNELS = 64, SMALL_BYTES = 1 << 19 };

static int64_t evenly(int64_t all, int64_t most) {
  return mluop_div_up(all, mluop_div_up(all, most));
}

/* Strips of many rows, since each needs K - 1 rows beside its own. */
static void cut_rows(struct carafe_backward_args *args, int threads) {
  const struct carafe_shape *a = &args->shape;
  const int64_t rows = mluop_max(4 * (a->K - 1), mluop_div_up(a->N * a->H, threads));
  args->plan.rows = evenly(a->H, mluop_max(rows, 1));
}

static void plan_items(const struct carafe_backward_args *args, size_t scratch_bytes,
                       struct mluop_job *job) {
  const struct carafe_shape *a = &args->shape;
  const struct carafe_backward_plan *plan = &args->plan;
  const int64_t strips = a->N * mluop_div_up(a->H, plan->rows) * mluop_div_up(a->W, plan->columns) *
                         mluop_div_up(a->G, plan->groups);
  const int64_t products = plan->columns * plan->groups * a->C * a->S * a->S * a->K * a->K;
  const int64_t cost = products * PRODUCT_COST;
  job->count = strips * plan->rows;
  job->grain = mluop_grain(cost);
  job->schedule = MLUOP_STATIC;
  job->unit = mluop_max(a->K / 4, mluop_unit(cost)); /* rows: each start packs K - 1 more */
  job->scratch_bytes = scratch_bytes;
}

/* Columns are many, as windows beside a strip contribute to it: what its rows need comes by in
   order, so that a share of the last cache is enough for it. Where a strip begins does not depend
   on the number of threads. */
static void plan_general(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_backward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  struct carafe_backward_plan plan = {.groups = 1, .parts = mluop_div_up(a->C, BLOCK_CHANNELS)};
  plan.part = plan.parts > 1 ? carafe_padded(mluop_div_up(a->C, plan.parts)) : a->C;
  plan.parts = mluop_div_up(a->C, plan.part);
  if (plan.parts == 1) {
    plan.groups = mluop_min(a->G, mluop_max(1, BLOCK_CHANNELS / carafe_padded(a->C)));
  }
  const int64_t pixel = plan.groups * carafe_padded(a->C) * (int64_t)sizeof(float);
  const int64_t column = (2 * carafe_slots(a) + a->S * a->S) * pixel;
  plan.columns = evenly(a->W, mluop_max(STRIP_BYTES / column - (a->K - 1), MIN_COLUMNS));
  const int64_t fit = SEGMENT_BYTES / (CARAFE_TILE * pixel);
  plan.segment = mluop_max(MIN_SEGMENT, mluop_min(fit, MOST_SEGMENT));
  const int64_t terms = a->K * a->S * a->S;
  if (a->K * terms > SUM_TERMS) {
    plan.total_rows = mluop_max(1, SUM_TERMS / 2 / terms);
    plan.total_chunks = mluop_max(1, SUM_TERMS / (CARAFE_TILE * a->K));
  }
  args->plan = plan;
  cut_rows(args, mluop_num_threads(machine));
  struct mluop_arena arena = {NULL, 0};
  carafe_general_layout(&arena, args);
  plan_items(args, arena.used, job);
}

static bool can_be_small(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  return a->K <= CARAFE_SMALL_K && a->C <= MOST_SMALL_CHANNELS &&
         a->K * a->S * a->S <= SUM_TERMS * CARAFE_TILE;
}

/* Vectors of positions have no lanes that are not used, and need no sums across lanes. */
static bool has_small_channels(const void *vargs, mluOpHandle_t machine) {
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  return a->C <= (a->G > 1 ? 2 * machine->vector_floats : 3 * machine->vector_floats / 2);
}

/* Where a column has vectors of groups, these are done one after the other, in the order of the
   mask. Else weights of a row of windows are kept, which stay in the second cache if positions are
   few: whole rows of some groups, or parts of rows. */
static void plan_small(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_backward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int64_t taps = a->K * a->K, beside = a->K - 1, rings = 2 * carafe_slots(a) * a->C;
  struct carafe_backward_plan plan = {.part = a->C, .parts = 1};
  const int is_short = taps * a->S * a->S <= SUM_TERMS;
  plan.spread = is_short && a->G >= machine->vector_floats ? machine->vector_floats : 0;
  const int64_t floats = plan.spread > 0 ? rings : CARAFE_TILE * (taps + a->C) + rings;
  const int64_t bytes = plan.spread > 0 ? STRIP_BYTES : SMALL_BYTES;
  const int64_t positions = bytes / (floats * (int64_t)sizeof(float));
  const int64_t most = mluop_max(BLOCK_CHANNELS / a->C, CARAFE_PAD);
  plan.groups = plan.spread > 0 ? evenly(a->G, most) : a->G;
  const int64_t pitch = carafe_small_pitch(&plan, plan.groups);
  plan.columns =
      evenly(a->W, mluop_max(positions / pitch - beside, mluop_max(beside, MIN_COLUMNS)));
  plan.segment = plan.columns + beside;
  const int64_t margin = carafe_padded(beside / 2 * pitch);
  plan.plane = carafe_padded(margin + plan.segment * pitch + CARAFE_PAD) | CARAFE_PAD;
  args->plan = plan;
  cut_rows(args, mluop_num_threads(machine));
  struct mluop_arena arena = {NULL, 0};
  carafe_small_layout(&arena, args);
  plan_items(args, arena.used, job);
}

static const struct mluop_way ways[] = {
    {"small_channels", can_be_small, has_small_channels, plan_small, carafe_backward_small},
    {"general", NULL, NULL, plan_general, carafe_backward}};

void mluop_carafe_plan_backward(mluOpHandle_t handle, struct carafe_backward_args *args,
                                struct mluop_job *job) {
  mluop_plan(handle, "carafe_backward", ways, args, job);
}
