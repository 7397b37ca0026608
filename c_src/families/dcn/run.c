/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/run.h"

#include "families/dcn/kernels.h"
#include "families/dcn/slices.h"

enum {
  FORWARD_ROWS = 240, /* pixels of a block, at most */
  BACKWARD_ROWS = 192,
  MOST_WIDTH = 48,     /* of a band, so that what its neighbours sample stays in the cache */
  MOST_OUTPUTS = 1024, /* output channels of a block */
  /* Floats of a block of gradients of columns. */
  COLUMN_FLOATS = 1 << 17,
  /* Backward weight: there are parts, each with sums of its own, where blocks of columns are fewer
     than this: two, or more as long as they take so many bytes. */
  LEAST_ITEMS = 16,
  PART_BYTES = 1 << 21,
  FINISH_OUTPUTS = 32,  /* whose sums are added up at a time */
  SLICE = 128,          /* backward data: the channels of a slice */
  SLAB_ROWS = 16,       /* at least: samples of the same pixels rarely lie in more than two slabs */
  SAMPLE_PRODUCTS = 64, /* what the other gradients of a column cost */
  /* Of the sums of a wave, for each thread. */
  PARTIAL_BYTES = 1 << 21,
  /* Of the places of the samples of a block. */
  PLACE_BYTES = 1 << 20
};

/* Of one multiplication and addition, in picoseconds: 32 in a cycle. */
enum { PRODUCTS_PER_NANOSECOND = 100 };

/* Cuts an extent into equal blocks of at most `most`, each a multiple of `step`. */
static int64_t cut(int64_t extent, int64_t most, int64_t step) {
  const int64_t block = mluop_div_up(extent, mluop_div_up(extent, most));
  return mluop_min(most, mluop_div_up(block, step) * step);
}

static size_t packed_bytes(const struct dcn_shape *s) {
  return (size_t)(s->co * dcn_columns(s)) * sizeof(float);
}

/* Narrow groups leave longer vectors empty. */
static int isa_of(mluOpHandle_t handle, const struct dcn_args *args) {
  return mluop_isa_for_run(handle, args->plan.merged > 1 ? dcn_group_channels(&args->shape) : 0);
}

static int64_t cost_of(int64_t products) {
  return products / PRODUCTS_PER_NANOSECOND * MLUOP_NANOSECOND;
}

/* The pixels of a block: so many that the places of their samples have room. */
static int64_t rows_of(int64_t most, int64_t samples) {
  const int64_t each = samples * (int64_t)sizeof(struct dcn_places);
  return mluop_max(1, mluop_min(most, PLACE_BYTES / mluop_div_up(each, DCN_LANES)));
}

/* So many groups that their columns and outputs have room in a block. */
static int64_t merged_groups(const struct dcn_shape *s) {
  const int64_t width = mluop_max(dcn_columns(s) + 1, dcn_group_outputs(s));
  int64_t merged = 1;
  while (s->groups % (2 * merged) == 0 && 2 * merged * width <= PRODUCT_DEPTH) merged *= 2;
  return merged;
}

/* The taps of a block of columns, at most. */
static int64_t taps_of_depth(const struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  return mluop_min(dcn_taps(s), args->plan.depth / dcn_group_channels(s) + 2);
}

/* Cuts images into blocks of so many pixels at most, as many for each thread as for the others. */
static void cut_pixels(const struct dcn_shape *s, int64_t rows, int64_t threads,
                       struct dcn_plan *plan) {
  plan->width = mluop_div_up(s->wo, mluop_div_up(s->wo, mluop_min(rows, MOST_WIDTH)));
  plan->step = mluop_min(rows, PRODUCT_WHOLE_ROWS);
  plan->steps = mluop_div_up(s->ho * s->wo, plan->step);
  const int64_t least = s->N * mluop_div_up(plan->steps, rows / plan->step);
  plan->blocks = mluop_div_up(mluop_div_up(least, threads) * threads, s->N);
  plan->blocks = mluop_min(plan->blocks, plan->steps);
  plan->rows = mluop_div_up(plan->steps, plan->blocks) * plan->step;
}

/* ---------------------------------------------------------------------------------- forward */

bool dcn_run_forward(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  const int64_t columns = dcn_columns(s), outputs = dcn_group_outputs(s);
  args->plan.depth = cut(columns, PRODUCT_DEPTH, 16);
  args->plan.outputs = mluop_min(outputs, cut(outputs, MOST_OUTPUTS, 32));
  args->plan.merged = merged_groups(s);
  args->plan.taps = taps_of_depth(args);
  const int64_t samples = dcn_most_samples(args, args->plan.taps, dcn_block_channels(args));
  cut_pixels(s, rows_of(FORWARD_ROWS, samples), mluop_num_threads(handle), &args->plan);
  struct mluop_arena arena = {NULL, 0};
  dcn_block_memory(args, &arena);
  const int64_t blocks = s->groups / args->plan.merged * mluop_div_up(outputs, args->plan.outputs);
  const int64_t depths = mluop_div_up(columns, args->plan.depth);
  const struct mluop_job pack = {.kernel = dcn_pack_forward[isa_of(handle, args)],
                                 .args = args,
                                 .count = blocks * depths,
                                 .grain = mluop_grain(args->plan.merged * args->plan.depth *
                                                      args->plan.outputs * MLUOP_NANOSECOND)};
  struct mluop_job job = {.kernel = dcn_forward[isa_of(handle, args)],
                          .args = args,
                          .count = s->N * args->plan.blocks * blocks,
                          .grain = mluop_grain(cost_of(args->plan.rows * columns *
                                                       args->plan.merged * args->plan.outputs)),
                          .schedule = MLUOP_STEAL,
                          .scratch_bytes = arena.used};
  args->filter = mluop_reserve(handle, packed_bytes(s), &job);
  if (args->filter == NULL) return false;
  mluop_parallel_for(handle, &pack);
  mluop_parallel_for(handle, &job);
  return true;
}

/* ---------------------------------------------------------------------------- backward data */

/* The sums that all slices have of the samples of a block of pixels. */
static int64_t partial_bytes(const struct dcn_args *args, int64_t rows) {
  return rows * dcn_pairs(args) * dcn_taps(&args->shape) * 3 * (int64_t)sizeof(float);
}

/* Waves: several images while there are more threads, else a part of one. Slabs are for threads
   that have no slice of their own. */
static void plan_backward_data(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  struct dcn_plan *plan = &args->plan;
  plan->depth = cut(dcn_group_outputs(s), PRODUCT_DEPTH, 16);
  plan->merged = merged_groups(s);
  plan->slice =
      plan->merged > 1 ? dcn_block_channels(args) : mluop_min(dcn_group_channels(s), SLICE);
  plan->slices = mluop_div_up(dcn_block_channels(args), plan->slice);
  plan->taps = mluop_max(1, mluop_min(dcn_taps(s), COLUMN_FLOATS / (BACKWARD_ROWS * plan->slice)));
  const int64_t rows =
      mluop_min(rows_of(BACKWARD_ROWS, dcn_most_samples(args, plan->taps, plan->slice)),
                mluop_max(1, PARTIAL_BYTES / partial_bytes(args, 1)));
  cut_pixels(s, rows, 1, plan);
  const int64_t threads = mluop_num_threads(handle);
  plan->wave_images = mluop_min(s->N, threads);
  const int64_t slabs = mluop_div_up(threads, plan->wave_images * dcn_slices(args));
  plan->slabs = mluop_max(1, mluop_min(slabs, s->H / SLAB_ROWS));
  const int64_t bytes = partial_bytes(args, args->plan.rows);
  const int64_t band = mluop_div_up(plan->blocks, mluop_div_up(s->wo, plan->width));
  const int64_t room = mluop_max(1, PARTIAL_BYTES / bytes);
  plan->stretch = mluop_div_up(band, mluop_div_up(band, room));
  const int64_t stretches = PARTIAL_BYTES * threads / (plan->wave_images * bytes * plan->stretch);
  plan->wave_blocks = mluop_min(plan->blocks, mluop_max(1, stretches) * plan->stretch);
}

/* What all threads share. */
static void take_shared(struct dcn_args *args, struct mluop_arena *arena) {
  const struct dcn_shape *s = &args->shape;
  const int64_t blocks = args->plan.wave_images * args->plan.wave_blocks;
  args->filter = mluop_take(arena, 1, packed_bytes(s));
  args->partials = mluop_take(arena, 1, (size_t)(blocks * partial_bytes(args, args->plan.rows)));
  args->sums = s->is_half ? mluop_take(arena, s->N * s->H * s->W * s->C, sizeof(float))
                          : args->data.grad_input;
}

/* False after the last one. */
static bool next_wave(const struct dcn_args *args, struct dcn_wave *wave) {
  const int64_t all = args->plan.blocks;
  if (wave->end == all) {
    wave->image += wave->images;
    wave->end = 0;
  }
  wave->images = mluop_min(args->plan.wave_images, args->shape.N - wave->image);
  wave->begin = wave->end;
  wave->end = mluop_min(all, wave->begin + args->plan.wave_blocks);
  return wave->images > 0;
}

bool dcn_run_backward_data(mluOpHandle_t handle, struct dcn_args *args) {
  plan_backward_data(handle, args);
  const struct dcn_shape *s = &args->shape;
  const struct dcn_plan *plan = &args->plan;
  const int64_t outputs = dcn_group_outputs(s), slices = dcn_slices(args);
  const int isa = mluop_isa_for_run(handle, dcn_block_channels(args));
  const int64_t products =
      args->plan.rows * dcn_taps(s) * plan->slice * (outputs + SAMPLE_PRODUCTS);
  struct mluop_arena arena = {NULL, 0}, shared = {NULL, 0};
  dcn_data_memory(args, &arena);
  struct mluop_job job = {.kernel = dcn_backward_data[isa],
                          .args = args,
                          .count = plan->wave_images * plan->slabs * slices,
                          .grain = mluop_grain(cost_of(plan->wave_blocks * products / plan->slabs)),
                          .schedule = MLUOP_STEAL,
                          .scratch_bytes = arena.used};
  take_shared(args, &shared);
  shared.memory = mluop_reserve(handle, shared.used, &job);
  if (shared.memory == NULL) return false;
  shared.used = 0;
  take_shared(args, &shared);
  const struct mluop_job pack = {
      .kernel = dcn_pack_data[isa],
      .args = args,
      .count = slices * mluop_div_up(dcn_taps(s), plan->taps),
      .grain = mluop_grain(plan->taps * plan->slice * outputs * MLUOP_NANOSECOND)};
  struct mluop_job finish = {
      .kernel = dcn_finish_data[isa],
      .args = args,
      .grain = mluop_grain(partial_bytes(args, args->plan.rows) / 4 * MLUOP_NANOSECOND)};
  mluop_parallel_for(handle, &pack);
  while (next_wave(args, &args->wave)) {
    job.count = args->wave.images * plan->slabs * slices;
    finish.count = args->wave.images * (args->wave.end - args->wave.begin);
    mluop_parallel_for(handle, &job);
    mluop_parallel_for(handle, &finish);
  }
  return true;
}

/* -------------------------------------------------------------------------- backward weight */

bool dcn_run_backward_weight(mluOpHandle_t handle, struct dcn_args *args) {
  const struct dcn_shape *s = &args->shape;
  const int64_t columns = dcn_columns(s), outputs = dcn_group_outputs(s);
  args->plan.depth = cut(columns, PRODUCT_DEPTH, 16);
  args->plan.outputs = mluop_min(outputs, cut(outputs, MOST_OUTPUTS, 32));
  args->plan.merged = merged_groups(s);
  args->plan.finish = FINISH_OUTPUTS;
  args->plan.taps = taps_of_depth(args);
  const int64_t samples = dcn_most_samples(args, args->plan.taps, dcn_block_channels(args));
  cut_pixels(s, rows_of(BACKWARD_ROWS, samples), 1, &args->plan);
  const int64_t part_bytes = s->co * (columns + 1) * (int64_t)sizeof(float);
  const int64_t blocks = s->groups / args->plan.merged * mluop_div_up(columns, args->plan.depth) *
                         mluop_div_up(outputs, args->plan.outputs);
  args->plan.parts = mluop_min(mluop_div_up(LEAST_ITEMS, blocks), 2 + PART_BYTES / part_bytes);
  args->plan.parts = mluop_min(args->plan.parts, s->N * args->plan.blocks);
  struct mluop_arena arena = {NULL, 0};
  dcn_block_memory(args, &arena);
  struct mluop_job job = {
      .kernel = dcn_backward_weight[isa_of(handle, args)],
      .args = args,
      .count = args->plan.parts * blocks,
      .grain = mluop_grain(cost_of(s->N * s->ho * s->wo / args->plan.parts * args->plan.merged *
                                   args->plan.depth * outputs)),
      .schedule = MLUOP_STEAL,
      .scratch_bytes = arena.used};
  const struct mluop_job finish = {
      .kernel = dcn_finish_weight[isa_of(handle, args)],
      .args = args,
      .count = s->groups * mluop_div_up(outputs, args->plan.finish),
      .grain = mluop_grain(args->plan.finish * columns * args->plan.parts * MLUOP_NANOSECOND)};
  args->sums = mluop_reserve(handle, (size_t)(args->plan.parts * part_bytes), &job);
  if (args->sums == NULL) return false;
  mluop_parallel_for(handle, &job);
  mluop_parallel_for(handle, &finish);
  return true;
}
