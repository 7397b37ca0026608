/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/plan.h"

#include "families/carafe/kernels.h"

/* Of a multiply-add, in picoseconds. */
enum { PRODUCT_COST = 19 };

enum { MIN_COLUMNS = 16, RING_BYTES = 1 << 19, MIN_PACKED_TAPS = 25 };
enum {
  MIN_JOINED_CHANNELS = 48,
  MOST_CONVERTED_TAPS = 100,
  MIN_PACKED_PIXELS = 9,
  MIN_TURNED_CHANNELS = 48
};

/* Grouped lines: of windows whose sums are made at once. */
enum { MIN_GROUPED = 5, MAX_GROUPED_K = 11, GROUPED_CHANNELS = 64, GROUPED_BLOCK = 1024 };

/* Of a small first-level cache: its lines are CARAFE_PAD floats. */
enum { CACHE_SETS = 64, CACHE_WAYS = 8 };

static int64_t element_bytes(const struct carafe_shape *a) { return a->is_half ? 2 : 4; }

/* Strips of many rows, since each needs K - 1 rows beside its own. The rows under its windows, of
   as many columns as a strip has, stay in the second cache; so would a ring of them. */
static void cut_strips(struct carafe_plan *plan, const struct carafe_shape *a, int threads) {
  const int64_t rows = mluop_max(4 * (a->K - 1), mluop_div_up(a->N * a->H, threads));
  plan->rows = mluop_div_up(a->H, mluop_div_up(a->H, mluop_max(rows, 1)));
  const int64_t column_bytes = carafe_ring_rows(a) * carafe_ring_pixel(plan) *
                               (plan->packed ? (int64_t)sizeof(float) : element_bytes(a));
  const int64_t most = mluop_max(RING_BYTES / column_bytes - (a->K - 1), MIN_COLUMNS);
  plan->columns = mluop_div_up(a->W, mluop_div_up(a->W, most));
}

/* Halves are converted whenever they are loaded, if there are instructions for it. Where a vector
   is a line these take 4 % of the time of the products: more than packing does, if it serves many
   and what it reads is in the caches. */
static int converts(int vector_floats, const struct carafe_shape *a, int large) {
  if (vector_floats < CARAFE_PAD) return vector_floats > 4;
  return large || a->K * a->K * a->S * a->S <= MOST_CONVERTED_TAPS;
}

/* Where masks of several groups come from memory, they are read in their order. Masks of halves are
   converted group by group. */
static int is_grouped(const struct carafe_shape *a, int large) {
  return large && !a->is_half && a->S > 1 && a->G >= MIN_GROUPED && a->K <= MAX_GROUPED_K;
}

/* An item's block has at most CARAFE_BLOCK_CHANNELS channels of a group, or groups of that many
   together; of small groups in grouped lines more, so that less of the mask is left out. Rows are
   packed unless they are float, or easy to convert, and in vectors; nor may they be where the
   pixels of a window fall into the same sets of the first cache, as they do at multiples of 2 KiB.
 */
static struct carafe_plan plan_of(int vector_floats, const struct carafe_shape *a, int large) {
  const int64_t parts = mluop_div_up(a->C, CARAFE_BLOCK_CHANNELS), line = carafe_line_elements(a);
  const int64_t block =
      is_grouped(a, large) && a->C <= GROUPED_CHANNELS ? GROUPED_BLOCK : CARAFE_BLOCK_CHANNELS;
  struct carafe_plan plan = {.part = a->C, .groups = 1};
  if (parts > 1) {
    plan.part = mluop_div_up(mluop_div_up(a->C, parts), line) * line;
  } else {
    plan.groups = mluop_min(a->G, mluop_max(1, block / carafe_padded(a->C)));
  }
  plan.packed = (a->is_half && !converts(vector_floats, a, large)) || a->C % CARAFE_PAD != 0 ||
                a->G * a->C * element_bytes(a) % 2048 == 0;
  return plan;
}

/* Whether the first cache holds the pixels under a window and the column that comes next: the less
   odd their distance, the fewer of its sets they fall into. */
static int stays_in_sets(const struct carafe_shape *a) {
  const int64_t lines = a->G * a->C / carafe_line_elements(a), even = lines & -lines;
  return a->K * (a->K + 1) <= CACHE_WAYS * mluop_max(1, CACHE_SETS / even);
}

/* Joining both ends of a group takes a load for each tap: less than packing does, if it serves many
   products and is not done again for every chunk of pixels or group. */
static int joins(int vector_floats, const struct carafe_shape *a) {
  return vector_floats == CARAFE_PAD && a->G == 1 && a->S == 2 && a->K > 1 &&
         a->C >= MIN_JOINED_CHANNELS && stays_in_sets(a);
}

/* Whether results can go past the caches, in whole lines: two vectors of halves make one. */
static int can_stream(int vector_floats, const struct carafe_shape *a, const void *output) {
  return a->C % carafe_line_elements(a) == 0 && (uintptr_t)output % sizeof(float) == 0 &&
         (!a->is_half || vector_floats == CARAFE_PAD);
}

/* Vectors of the input that lie across two lines take two loads each: they are packed as well, if
   that saves more than it costs. If tensors do not fit the caches, the output goes past them. Only
   whole lines may go: where the output is not aligned to them, rows of the input are turned by as
   many channels as it is off. That is free where they are packed anyway, where rows in place are as
   far off, since their vectors are whole lines then as well, and where they are converted. Others
   are packed for it; not small groups, which have as many lines of two as others, and halves only
   if they serve many pixels. */
static void plan_channels(mluOpHandle_t handle, struct carafe_forward_args *args) {
  const struct carafe_shape *a = &args->shape;
  const size_t line = CARAFE_PAD * sizeof(float);
  const size_t off = (uintptr_t)args->output % line, input_off = (uintptr_t)args->input % line;
  struct carafe_plan *plan = &args->plan;
  const int threads = mluop_num_threads(handle);
  args->grouped = is_grouped(a, args->large);
  *plan = plan_of(handle->vector_floats, a, args->large);
  const int crosses = !a->is_half && input_off != 0 && a->K * a->K * a->S * a->S >= MIN_PACKED_TAPS;
  int in_place = 0;
  if (can_stream(handle->vector_floats, a, args->output)) {
    in_place = !plan->packed && (a->is_half || off == input_off) && joins(handle->vector_floats, a);
    const int must_pack = a->is_half && !plan->packed && !in_place && off != 0;
    const int too_dear = (must_pack && a->S * a->S < MIN_PACKED_PIXELS) ||
                         (off != 0 && a->G > 1 && a->C < MIN_TURNED_CHANNELS);
    args->stream = args->large && !too_dear;
    if (args->stream || (in_place && !a->is_half)) {
      plan->turn = (int64_t)off / element_bytes(a);
    }
  }
  plan->packed |= !in_place && (plan->turn > 0 || crosses);
  cut_strips(plan, a, threads);
  if (plan->packed && carafe_ring_pixel(plan) / CARAFE_PAD % 2 == 0) plan->gap = CARAFE_PAD;
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

/* The groups of a pixel are done together, or in about equal blocks. */
static void plan_groups(mluOpHandle_t handle, struct carafe_forward_args *args) {
  const struct carafe_shape *a = &args->shape;
  struct carafe_plan plan = {.part = a->C, .lanes = lanes_of(a), .packed = 1};
  const int64_t blocks = mluop_div_up(a->G * plan.lanes, CARAFE_BLOCK_CHANNELS);
  plan.groups = carafe_padded(mluop_div_up(a->G, blocks) * plan.lanes) / plan.lanes;
  plan.groups = mluop_min(plan.groups, a->G);
  if (carafe_ring_pixel(&plan) / CARAFE_PAD % 2 == 0) plan.gap = CARAFE_PAD;
  cut_strips(&plan, a, mluop_num_threads(handle));
  args->plan = plan;
}

static int64_t ring_floats(const struct carafe_shape *a, const struct carafe_plan *plan) {
  if (!plan->packed) return 0;
  return carafe_ring_rows(a) * carafe_ring_columns(a, plan) * carafe_ring_pixel(plan);
}

static void plan_groups_job(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  plan_groups(machine, args);
  const int64_t weights = CARAFE_TILE * carafe_guarded_floats(a, &args->plan);
  mluop_carafe_share_out(a, &args->plan, weights + ring_floats(a, &args->plan), job);
}

static void plan_channels_job(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_forward_args *args = vargs;
  const struct carafe_shape *a = &args->shape;
  plan_channels(machine, args);
  const int64_t weights = carafe_weights_size(a) + carafe_ends_size(a, &args->plan);
  mluop_carafe_share_out(a, &args->plan, weights + ring_floats(a, &args->plan), job);
}

static const struct mluop_way ways[] = {
    {"groups", fits_vectors, fills_vectors, plan_groups_job, carafe_forward_groups},
    {"general", NULL, NULL, plan_channels_job, carafe_forward}};

void mluop_carafe_plan_forward(mluOpHandle_t handle, struct carafe_forward_args *args,
                               struct mluop_job *job) {
  mluop_plan(handle, "carafe_forward", ways, args, job);
}

void mluop_carafe_share_out(const struct carafe_shape *shape, const struct carafe_plan *plan,
                            int64_t floats, struct mluop_job *job) {
  const int64_t taps = shape->S * shape->S * shape->K * shape->K;
  job->count = carafe_items(shape, plan);
  job->grain = mluop_grain(plan->columns * taps * carafe_block_floats(plan) * PRODUCT_COST);
  job->schedule = MLUOP_STATIC;
  job->scratch_bytes = (size_t)carafe_padded(floats) * sizeof(float);
}
