/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/blocks.h"

#include "shared/roi_pool/kernels.h"

/* Blocks have up to so many floats: a part of the L2 cache. Maps that would have few of them are
   cut into more, but not into smaller ones than these. */
enum { BLOCK_FLOATS = 1 << 17, LEAST_BLOCK_FLOATS = 1 << 12, MIN_BLOCKS = 16, BLOCK_SHIFT_H = 4 };

/* The blocks that a bin may be in the lists of, if there are not few entries in all. */
enum { MAX_BLOCKS = 16, FEW_ENTRIES = 1 << 15 };

/* So many bins for each pixel of the map are many, so many are too many to round their sum each
   time; a bin of so many pixels is large. */
static const double many_contributions = 2.0, too_many_contributions = 256.0, large_bin = 1024.0;

/* Of so few channels a contribution to a pixel costs less than to sort it. */
enum { SMALL_CHANNELS = 128 };

/* All lists together have up to so many entries for each bin, one more for so many channels of its
   gradient, and as many as never matter: then their memory is of the size of the tensors. */
enum { ENTRIES_PER_BIN = 4, CHANNELS_PER_ENTRY = 16, FREE_ENTRIES = 1 << 18 };

/* Bins that are put into lists together. A share has a number for each list: there are not more of
   these than twice the bins. */
enum { SHARE_BINS = 2048, MAX_SHARES = 64 };

/* The nanoseconds of finding the lists of a bin; the bytes that are cleared in one. */
enum { LIST_COST = 15, CLEARED_BYTES = 128 };

static void count_blocks(struct roi_pool_args *args) {
  struct roi_pool_blocks *blocks = &args->blocks;
  blocks->down = ((args->shape.H - 1) >> blocks->shift_h) + 1;
  blocks->across = ((args->shape.W - 1) >> blocks->shift_w) + 1;
  blocks->count = args->shape.N * blocks->down * blocks->across;
}

/* Whether a side of a block, and the block with it, may be doubled. */
static bool may_double(const struct roi_pool_args *args, int side_shift, int64_t extent) {
  const int shift = args->blocks.shift_h + args->blocks.shift_w + 1;
  const int64_t side = INT64_C(1) << side_shift;
  return side < extent && side < ROI_POOL_BLOCK_SIDE &&
         INT64_C(1) << shift <= ROI_POOL_BLOCK_PIXELS && args->shape.C << shift <= BLOCK_FLOATS;
}

/* As large as the cache allows, but enough of them to share out. Depends on nothing but shapes: the
   order of the bins of a block does not depend on the threads. */
void mluop_roi_pool_cut_blocks(struct roi_pool_args *args) {
  struct roi_pool_blocks *blocks = &args->blocks;
  blocks->shift_h = blocks->shift_w = 0;
  while (blocks->shift_h < BLOCK_SHIFT_H && may_double(args, blocks->shift_h, args->shape.H)) {
    blocks->shift_h++;
  }
  while (may_double(args, blocks->shift_w, args->shape.W)) blocks->shift_w++;
  while (may_double(args, blocks->shift_h, args->shape.H)) blocks->shift_h++;
  count_blocks(args);
  while (blocks->count < MIN_BLOCKS &&
         args->shape.C << (blocks->shift_h + blocks->shift_w) > LEAST_BLOCK_FLOATS &&
         blocks->shift_h + blocks->shift_w > 0) {
    if (blocks->shift_w >= blocks->shift_h) {
      blocks->shift_w--;
    } else {
      blocks->shift_h--;
    }
    count_blocks(args);
  }
  const int64_t bins = mluop_roi_pool_bins(args);
  /* With few bins, any of them may touch all blocks. */
  blocks->max_blocks = mluop_min(mluop_max(MAX_BLOCKS, FEW_ENTRIES / bins), UINT32_MAX / bins);
  blocks->max_entries =
      mluop_min(bins * blocks->max_blocks,
                bins * (ENTRIES_PER_BIN + args->shape.C / CHANNELS_PER_ENTRY) + FREE_ENTRIES);
  blocks->lists = blocks->count + args->shape.N;
  blocks->share =
      mluop_max(mluop_max(SHARE_BINS, blocks->lists / 2), mluop_div_up(bins, MAX_SHARES));
  blocks->shares = mluop_div_up(bins, blocks->share);
}

size_t mluop_roi_pool_lay_out_blocks(struct roi_pool_args *args, struct mluop_arena *arena) {
  struct roi_pool_blocks *blocks = &args->blocks;
  const int64_t bins = mluop_roi_pool_bins(args);
  blocks->places = mluop_take(arena, bins, sizeof(*blocks->places));
  blocks->entries = mluop_take(arena, blocks->max_entries, sizeof(*blocks->entries));
  blocks->next = mluop_take(arena, blocks->shares * blocks->lists, sizeof(*blocks->next));
  blocks->starts = mluop_take(arena, blocks->lists + 1, sizeof(*blocks->starts));
  blocks->share_slopes = mluop_take(arena, blocks->shares, sizeof(*blocks->share_slopes));
  if (args->data.offset != NULL) {
    blocks->slopes = mluop_take(arena, blocks->max_entries, sizeof(*blocks->slopes));
  }
  const int64_t stride = mluop_div_up(args->shape.C, 16) * 16;
  blocks->buffer_bytes = (size_t)(stride << (blocks->shift_h + blocks->shift_w)) * sizeof(float);
  if (args->plan.own_kernel) {
    blocks->boxes = mluop_take(arena, bins, sizeof(*blocks->boxes));
    return blocks->buffer_bytes + (size_t)args->plan.own_blocks * blocks->buffer_bytes;
  }
  const int64_t taps = ROI_POOL_GROUP_TAPS + args->plan.max_taps_h + args->plan.max_taps_w;
  return blocks->buffer_bytes + sizeof(struct roi_pool_group) +
         (size_t)taps * sizeof(struct roi_pool_tap);
}

/* A bin that would be in too many lists is left to all blocks of its image. */
static void list_bins(mluOpHandle_t handle, struct roi_pool_args *args) {
  struct roi_pool_blocks *blocks = &args->blocks;
  const int isa = mluop_isa_for_run(handle, 1);
  struct mluop_job job = {.args = args,
                          .grain = mluop_roi_pool_grain(LIST_COST * blocks->share),
                          .schedule = MLUOP_STEAL};
  for (;; blocks->max_blocks /= 2) {
    job.kernel = roi_pool_count[isa];
    job.count = blocks->shares;
    mluop_parallel_for(handle, &job);
    job.kernel = roi_pool_starts[isa];
    job.count = 1;
    mluop_parallel_for(handle, &job);
    if (mluop_is_stopped(&handle->interrupt)) return; /* starts may be what memory held before */
    if (blocks->starts[blocks->lists] <= blocks->max_entries) break;
  }
  job.kernel = roi_pool_list[isa];
  job.count = blocks->shares;
  mluop_parallel_for(handle, &job);
}

/* Each thread clears one range of memory: that is as fast as the caches are, which short runs by
   turns are not. */
static void clear(mluOpHandle_t handle, const struct roi_pool_args *args) {
  const int64_t bytes = args->shape.W * args->shape.C * (int64_t)sizeof(float);
  const struct mluop_job job = {.kernel = roi_pool_clear[handle->isa],
                                .args = args,
                                .count = args->shape.N * args->shape.H,
                                .grain = mluop_roi_pool_grain(bytes / CLEARED_BYTES),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
}

/* How many bins touch a pixel, on average and roughly. */
static double contributions_per_pixel(const struct roi_pool_args *args) {
  const double contributions = args->plan.bin_pixels * (double)mluop_roi_pool_bins(args);
  return contributions / (double)(args->shape.N * args->shape.H * args->shape.W);
}

/* Whether enough bins touch a pixel for it to pay to sort by pixel what they do. Large bins are
   sorted as well: their slopes then come from many blocks, and not from one thread each. */
static bool worth_sorting(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct roi_pool_args *args = vargs;
  const double contributions = contributions_per_pixel(args);
  if (args->data.offset == NULL || args->shape.C < SMALL_CHANNELS)
    return contributions >= too_many_contributions;
  return contributions >= many_contributions || args->plan.bin_pixels >= large_bin;
}

/* Bins may crowd together on a few blocks: the grains are small, if there is work for two. */
static void plan_pixels(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct roi_pool_args *args = vargs;
  const struct roi_pool_shape *shape = &args->shape;
  const int64_t items = args->blocks.count, shares = 16 * (int64_t)mluop_num_threads(machine);
  args->plan.dense = args->plan.in_place || contributions_per_pixel(args) >= 1.0;
  int64_t cost = mluop_roi_pool_bins(args) * mluop_roi_pool_bin_cost(args);
  if (!args->plan.in_place) cost += shape->N * shape->H * shape->W * shape->C / 16;
  int64_t grain = mluop_roi_pool_grain(cost / items);
  job->unit = mluop_unit(cost / items * MLUOP_NANOSECOND);
  if (grain < items) grain = mluop_max(1, mluop_min(grain, items / shares));
  job->run = shape->C;
  job->count = items;
  job->grain = grain;
  job->schedule = MLUOP_STEAL;
  job->scratch = args->memory.work;
  job->scratch_stride = args->memory.work_stride;
}

/* Few bins mostly wait for memory: in two jobs their work is shared out better. */
static void plan_bins(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct roi_pool_args *args = vargs;
  if (contributions_per_pixel(args) < 1.0 && args->shape.C >= SMALL_CHANNELS)
    args->blocks.slopes = NULL;
  plan_pixels(vargs, machine, job);
}

static const struct mluop_way ways[] = {
    {"by_pixel", NULL, worth_sorting, plan_pixels, roi_pool_add_pixels},
    {"general", NULL, NULL, plan_bins, roi_pool_add_bins}};

static void begin(mluOpHandle_t handle, struct roi_pool_args *args) {
  list_bins(handle, args);
  if (args->plan.in_place) clear(handle, args);
}

void mluop_roi_pool_run_blocks(mluOpHandle_t handle, struct roi_pool_args *args) {
  begin(handle, args);
  struct mluop_job job = {.kernel = NULL};
  mluop_plan(handle, "roi_pool_backward", ways, args, &job);
  mluop_parallel_for(handle, &job);
}

void mluop_roi_pool_run_blocks_by(mluOpHandle_t handle, struct roi_pool_args *args,
                                  mluop_kernel *kernel) {
  begin(handle, args);
  struct mluop_job job = {.kernel = kernel, .args = args};
  plan_pixels(args, handle, &job);
  mluop_parallel_for(handle, &job);
}
