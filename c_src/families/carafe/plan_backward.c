/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/kernels.h"
#include "families/carafe/plan.h"

enum { MIN_COLUMNS = 8, STRIP_BYTES = 1 << 21 };

/* Where vectors hold groups: of those, and of a row of a window's taps times the channels. */
enum { MIN_GROUPS = 8, GROUPS_TAPS = 112, GROUPS_TAPS_ONE = 48 };

/* Where they hold columns: taps times channels again; and columns of a strip, of which all masks
   of a row stay in the second cache. */
enum { COLUMNS_TAPS = 75, COLUMNS_TAPS_ONE = 25, MOST_COLUMNS = 128 };

/* Strips of columns are wide: each reads some of grad_output beside it. What their rows need (the
   input under the windows, the sums that are not complete, grad_output) comes by in order, so that
   a share of the last cache is enough for it. Where a strip begins does not depend on the number of
   threads. */
static void cut_strips(struct carafe_plan *plan, const struct carafe_shape *a, int64_t pixel,
                       int threads) {
  const int64_t rows = mluop_max(4 * (a->K - 1), mluop_div_up(a->N * a->H, threads));
  plan->rows = mluop_div_up(a->H, mluop_div_up(a->H, mluop_max(rows, 1)));
  const int64_t column_bytes =
      (2 * carafe_ring_rows(a) + a->S * a->S) * pixel * (int64_t)sizeof(float);
  const int64_t columns = mluop_max(STRIP_BYTES / column_bytes - (a->K - 1), MIN_COLUMNS);
  plan->columns = mluop_div_up(a->W, mluop_div_up(a->W, columns));
}

static void plan_channels(struct carafe_backward_args *args, int threads) {
  const struct carafe_shape *a = &args->shape;
  const int64_t parts = mluop_div_up(a->C, CARAFE_BLOCK_CHANNELS);
  struct carafe_plan *plan = &args->plan;
  args->part = parts > 1 ? carafe_padded(mluop_div_up(a->C, parts)) : a->C;
  *plan = (struct carafe_plan){.groups = 1, .part = a->C};
  if (parts == 1) {
    plan->groups = mluop_min(a->G, mluop_max(1, CARAFE_BLOCK_CHANNELS / carafe_padded(a->C)));
  }
  const int64_t pixel = plan->groups * mluop_div_up(a->C, args->part) * carafe_padded(args->part);
  cut_strips(plan, a, pixel, threads);
}

/* Vectors of groups take as many lanes as there are groups, padded, for each channel; vectors of
   channels as many as there are channels, padded, for each group, and then some to add them up. A
   vector of groups serves the pixels of one window only: of large ones, and if S is 1, it pays for
   fewer channels. */
static bool can_take_groups(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  return a->K <= CARAFE_GROUPS_K && !carafe_sums_are_long(a) && a->C <= CARAFE_BLOCK_CHANNELS;
}

static bool are_many_groups(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  const int64_t most = a->S == 1 ? GROUPS_TAPS_ONE : GROUPS_TAPS;
  return a->G >= MIN_GROUPS && a->K * a->C <= most &&
         carafe_padded(a->G) * a->C <= a->G * CARAFE_PAD;
}

/* As many groups at once as have CARAFE_BLOCK_CHANNELS channels: masks are read and written in
   memory's order, which is most of the work. */
static void plan_groups(struct carafe_backward_args *args, int threads) {
  const struct carafe_shape *a = &args->shape;
  const int64_t most = carafe_padded(CARAFE_BLOCK_CHANNELS / a->C);
  args->plan = (struct carafe_plan){.groups = mluop_min(a->G, most), .part = a->C};
  cut_strips(&args->plan, a, carafe_groups_pixel(args), threads);
}

/* Vectors of columns need rows of some, and pay for fewer channels with large windows, and if S is
   1. Of up to 4 channels, vectors of taps are better if large windows nearly fill them. */
static bool can_take_columns(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  return !carafe_sums_are_long(a) && a->W >= CARAFE_PAD && a->C < CARAFE_PAD && a->K <= 7 &&
         a->G * a->C <= CARAFE_BLOCK_CHANNELS;
}

static bool are_few_channels(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_shape *a = &((const struct carafe_backward_args *)vargs)->shape;
  const int64_t most = a->S == 1 ? COLUMNS_TAPS_ONE : COLUMNS_TAPS;
  return a->K * a->C <= most && (a->C > CARAFE_NARROW || a->K <= 5);
}

static void plan_columns(struct carafe_backward_args *args, int threads) {
  const struct carafe_shape *a = &args->shape;
  args->plan = (struct carafe_plan){.groups = a->G, .part = a->C};
  cut_strips(&args->plan, a, a->G * a->C, threads);
  const int64_t columns = mluop_min(args->plan.columns, MOST_COLUMNS);
  args->plan.columns = mluop_div_up(a->W, mluop_div_up(a->W, columns));
}

static void plan_groups_job(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_backward_args *args = vargs;
  plan_groups(args, mluop_num_threads(machine));
  mluop_carafe_share_out(&args->shape, &args->plan, carafe_groups_floats(args), job);
}

static void plan_columns_job(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_backward_args *args = vargs;
  plan_columns(args, mluop_num_threads(machine));
  mluop_carafe_share_out(&args->shape, &args->plan, carafe_columns_floats(args), job);
}

static void plan_channels_job(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_backward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  plan_channels(args, mluop_num_threads(machine));
  const int64_t wide =
      carafe_grads_size(args) + carafe_input_floats(args) + carafe_sums_floats(args);
  const int64_t floats = carafe_weights_size(a) + mluop_max(wide, carafe_narrow_floats(args));
  mluop_carafe_share_out(a, &args->plan, floats, job);
}

static const struct mluop_way ways[] = {
    {"groups", can_take_groups, are_many_groups, plan_groups_job, carafe_backward_groups},
    {"columns", can_take_columns, are_few_channels, plan_columns_job, carafe_backward_columns},
    {"general", NULL, NULL, plan_channels_job, carafe_backward}};

void mluop_carafe_plan_backward(mluOpHandle_t handle, struct carafe_backward_args *args,
                                struct mluop_job *job) {
  mluop_plan(handle, "carafe_backward", ways, args, job);
}
