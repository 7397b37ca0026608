/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/plan.h"

#include "families/carafe/kernels.h"

/* Of a multiply-add, in picoseconds. */
enum { PRODUCT_COST = 19 };

enum { MIN_COLUMNS = 16, RING_BYTES = 1 << 19 };

/* Channels of several groups that are done together: the more, the less of each pixel of the mask
   is left out. */
enum { MOST_CHANNELS = 1024 };

/* Of a column of small groups. */
enum { MOST_WEIGHTS = 1 << 20 };

/* Strips of many rows, since each needs K - 1 rows beside its own. A ring of the rows under its
   windows, of as many columns as a strip has, stays in the second-level cache. */
static void cut_strips(struct carafe_forward_args *args, int threads) {
  const struct carafe_shape *a = &args->shape;
  struct carafe_plan *plan = &args->plan;
  const int64_t rows = mluop_max(4 * (a->K - 1), mluop_div_up(a->N * a->H, threads));
  plan->rows = mluop_div_up(a->H, mluop_div_up(a->H, mluop_max(rows, 1)));
  const int64_t column = carafe_ring_slots(a) * carafe_ring_pixel(plan) * (int64_t)sizeof(float);
  const int64_t most = mluop_max(RING_BYTES / column - (a->K - 1), MIN_COLUMNS);
  plan->columns = mluop_div_up(a->W, mluop_div_up(a->W, most));
}

static void plan_job(struct carafe_forward_args *args, mluOpHandle_t machine,
                     struct mluop_job *job) {
  struct mluop_arena arena = {NULL, 0};
  cut_strips(args, mluop_num_threads(machine));
  carafe_lay_out(args, &arena);
  const struct carafe_shape *a = &args->shape;
  const int64_t taps = a->S * a->S * a->K * a->K;
  job->count = carafe_items(a, &args->plan);
  const int64_t cost = args->plan.columns * taps * carafe_block_floats(&args->plan) * PRODUCT_COST;
  job->grain = mluop_grain(cost);
  job->schedule = MLUOP_STATIC;
  job->unit = mluop_max(a->K / 4, mluop_unit(cost)); /* rows: each start packs K - 1 more */
  job->scratch_bytes = arena.used;
}

/* An item's block has at most CARAFE_BLOCK_CHANNELS channels of a group, in whole lines, or groups
   of MOST_CHANNELS together. */
static void plan_general(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  const int64_t parts = mluop_div_up(a->C, CARAFE_BLOCK_CHANNELS), line = carafe_line_elements(a);
  args->plan = (struct carafe_plan){.part = a->C, .groups = 1};
  if (parts > 1) {
    args->plan.part = mluop_div_up(mluop_div_up(a->C, parts), line) * line;
  } else {
    args->plan.groups = mluop_min(a->G, mluop_max(1, MOST_CHANNELS / carafe_padded(a->C)));
  }
  plan_job(args, machine, job);
}

/* Floats of a group in vectors of several groups: a power of two. */
static int64_t lanes_of(const struct carafe_shape *a) {
  int64_t lanes = 1;
  while (lanes < a->C) lanes *= 2;
  return lanes;
}

/* Vectors that hold several groups, or the taps of one that are loaded together at least. */
static bool fits_vectors(const void *vargs, mluOpHandle_t machine) {
  return ((const struct carafe_forward_args *)vargs)->shape.C <= machine->vector_floats;
}

/* Not where the groups fill a quarter of a vector only. */
static bool fills_vectors(const void *vargs, mluOpHandle_t machine) {
  const struct carafe_shape *a = &((const struct carafe_forward_args *)vargs)->shape;
  return a->G > 1 && a->G * lanes_of(a) > machine->vector_floats / 4;
}

/* The groups of a pixel are done together, or in about equal blocks of whole vectors, so that there
   is room for the weights of a column. */
static void plan_small_channels(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  args->plan = (struct carafe_plan){.part = a->C, .lanes = lanes_of(a)};
  const int64_t column = a->S * a->S * a->K * a->K * CARAFE_PAD;
  const int64_t room = mluop_max(CARAFE_PAD, MOST_WEIGHTS / column * args->plan.lanes);
  const int64_t blocks =
      mluop_div_up(a->G * args->plan.lanes, mluop_min(CARAFE_BLOCK_CHANNELS, room));
  const int64_t floats = carafe_padded(mluop_div_up(a->G, blocks) * args->plan.lanes);
  args->plan.groups = mluop_min(a->G, floats / args->plan.lanes);
  plan_job(args, machine, job);
}

static const struct mluop_way ways[] = {
    {"small_channels", fits_vectors, fills_vectors, plan_small_channels, carafe_forward},
    {"general", NULL, NULL, plan_general, carafe_forward}};

void mluop_carafe_plan_forward(mluOpHandle_t handle, struct carafe_forward_args *args,
                               struct mluop_job *job) {
  mluop_plan(handle, "carafe_forward", ways, args, job);
}
