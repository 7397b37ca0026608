/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/tiles.h"

#include "shared/roi_pool/kernels.h"

/* Tiles have up to so many floats: a part of the L2 cache. Maps that would have few of them are cut
   into more, but not into smaller ones than these. */
enum { TILE_FLOATS = 1 << 17, LEAST_TILE_FLOATS = 1 << 12, MIN_TILES = 16, TILE_SHIFT_H = 4 };

/* The tiles that a bin may be in the lists of, if there are not few entries in all. */
enum { MAX_TILES = 16, FEW_ENTRIES = 1 << 15 };

/* So many bins for each pixel of the map are many, so many are too many to round their sum each
   time; a bin of so many pixels is large. */
static const double many_contributions = 2.0, too_many_contributions = 256.0, large_bin = 1024.0;

/* Of so few channels a contribution to a pixel costs less than to sort it. */
enum { SMALL_CHANNELS = 128 };

/* All lists together have up to so many entries for each bin, one more for so many channels of its
   gradient, and as many as never matter: then their memory is of the size of the tensors. */
enum { ENTRIES_PER_BIN = 4, CHANNELS_PER_ENTRY = 16, FREE_ENTRIES = 1 << 18 };

/* Bins that are put into lists together. A chunk has a number for each list: there are not more of
   these than twice the bins. */
enum { CHUNK_BINS = 2048, MAX_CHUNKS = 64 };

/* The nanoseconds of finding the lists of a bin; the bytes that are cleared in one. */
enum { LIST_COST = 15, CLEARED_BYTES = 128 };

static void count_tiles(struct roi_pool_args *args) {
  struct roi_pool_tiles *tiles = &args->tiles;
  tiles->down = ((args->shape.H - 1) >> tiles->shift_h) + 1;
  tiles->across = ((args->shape.W - 1) >> tiles->shift_w) + 1;
  tiles->count = args->shape.N * tiles->down * tiles->across;
}

/* Whether a side of a tile, and the tile with it, may be doubled. */
static bool may_double(const struct roi_pool_args *args, int side_shift, int64_t extent) {
  const int shift = args->tiles.shift_h + args->tiles.shift_w + 1;
  const int64_t side = INT64_C(1) << side_shift;
  return side < extent && side < ROI_POOL_TILE_SIDE &&
         INT64_C(1) << shift <= ROI_POOL_TILE_PIXELS && args->shape.C << shift <= TILE_FLOATS;
}

/* As large as the cache allows, but enough of them to share out. Depends on nothing but shapes: the
   order of the bins of a tile does not depend on the threads. */
void mluop_roi_pool_cut_tiles(struct roi_pool_args *args) {
  struct roi_pool_tiles *tiles = &args->tiles;
  tiles->shift_h = tiles->shift_w = 0;
  while (tiles->shift_h < TILE_SHIFT_H && may_double(args, tiles->shift_h, args->shape.H)) {
    tiles->shift_h++;
  }
  while (may_double(args, tiles->shift_w, args->shape.W)) tiles->shift_w++;
  while (may_double(args, tiles->shift_h, args->shape.H)) tiles->shift_h++;
  count_tiles(args);
  while (tiles->count < MIN_TILES &&
         args->shape.C << (tiles->shift_h + tiles->shift_w) > LEAST_TILE_FLOATS &&
         tiles->shift_h + tiles->shift_w > 0) {
    if (tiles->shift_w >= tiles->shift_h) {
      tiles->shift_w--;
    } else {
      tiles->shift_h--;
    }
    count_tiles(args);
  }
  const int64_t bins = mluop_roi_pool_bins(args);
  /* With few bins, any of them may touch all tiles. */
  tiles->max_tiles = mluop_min(mluop_max(MAX_TILES, FEW_ENTRIES / bins), UINT32_MAX / bins);
  tiles->max_entries =
      mluop_min(bins * tiles->max_tiles,
                bins * (ENTRIES_PER_BIN + args->shape.C / CHANNELS_PER_ENTRY) + FREE_ENTRIES);
  tiles->lists = tiles->count + args->shape.N;
  tiles->chunk = mluop_max(mluop_max(CHUNK_BINS, tiles->lists / 2), mluop_div_up(bins, MAX_CHUNKS));
  tiles->chunks = mluop_div_up(bins, tiles->chunk);
}

size_t mluop_roi_pool_lay_out_tiles(struct roi_pool_args *args, struct mluop_arena *arena) {
  struct roi_pool_tiles *tiles = &args->tiles;
  const int64_t bins = mluop_roi_pool_bins(args);
  tiles->places = mluop_take(arena, bins, sizeof(*tiles->places));
  tiles->entries = mluop_take(arena, tiles->max_entries, sizeof(*tiles->entries));
  tiles->next = mluop_take(arena, tiles->chunks * tiles->lists, sizeof(*tiles->next));
  tiles->starts = mluop_take(arena, tiles->lists + 1, sizeof(*tiles->starts));
  tiles->chunk_slopes = mluop_take(arena, tiles->chunks, sizeof(*tiles->chunk_slopes));
  if (args->data.offset != NULL) {
    tiles->slopes = mluop_take(arena, tiles->max_entries, sizeof(*tiles->slopes));
  }
  const int64_t stride = mluop_div_up(args->shape.C, 16) * 16;
  tiles->buffer_bytes = (size_t)(stride << (tiles->shift_h + tiles->shift_w)) * sizeof(float);
  if (args->plan.own_kernel) {
    tiles->boxes = mluop_take(arena, bins, sizeof(*tiles->boxes));
    return tiles->buffer_bytes + (size_t)args->plan.own_tiles * tiles->buffer_bytes;
  }
  const int64_t taps = ROI_POOL_BATCH_TAPS + args->plan.max_taps_h + args->plan.max_taps_w;
  return tiles->buffer_bytes + sizeof(struct roi_pool_batch) +
         (size_t)taps * sizeof(struct roi_pool_tap);
}

/* A bin that would be in too many lists is left to all tiles of its image. */
static void list_bins(mluOpHandle_t handle, struct roi_pool_args *args) {
  struct roi_pool_tiles *tiles = &args->tiles;
  struct mluop_job job = {.args = args,
                          .grain = mluop_roi_pool_grain(LIST_COST * tiles->chunk),
                          .schedule = MLUOP_OWN_FIRST};
  for (;; tiles->max_tiles /= 2) {
    job.kernel = roi_pool_count[handle->isa];
    job.count = tiles->chunks;
    mluop_parallel_for(handle, &job);
    job.kernel = roi_pool_starts[handle->isa];
    job.count = 1;
    mluop_parallel_for(handle, &job);
    if (mluop_is_stopped(&handle->interrupt)) return; /* starts may be what memory held before */
    if (tiles->starts[tiles->lists] <= tiles->max_entries) break;
  }
  job.kernel = roi_pool_list[handle->isa];
  job.count = tiles->chunks;
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
   sorted as well: their slopes then come from many tiles, and not from one thread each. */
static bool worth_sorting(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct roi_pool_args *args = vargs;
  const double contributions = contributions_per_pixel(args);
  if (args->data.offset == NULL || args->shape.C < SMALL_CHANNELS)
    return contributions >= too_many_contributions;
  return contributions >= many_contributions || args->plan.bin_pixels >= large_bin;
}

/* Bins may crowd together on a few tiles: the blocks are small, if there is work for two. */
static void plan_pixels(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct roi_pool_args *args = vargs;
  const struct roi_pool_shape *shape = &args->shape;
  const int64_t items = args->tiles.count, shares = 16 * (int64_t)mluop_num_threads(machine);
  args->plan.dense = args->plan.in_place || contributions_per_pixel(args) >= 1.0;
  int64_t cost = mluop_roi_pool_bins(args) * mluop_roi_pool_bin_cost(args);
  if (!args->plan.in_place) cost += shape->N * shape->H * shape->W * shape->C / 16;
  int64_t grain = mluop_roi_pool_grain(cost / items);
  job->unit = mluop_unit(cost / items * MLUOP_NANOSECOND);
  if (grain < items) grain = mluop_max(1, mluop_min(grain, items / shares));
  job->run = shape->C;
  job->count = items;
  job->grain = grain;
  job->schedule = MLUOP_OWN_FIRST;
  job->scratch = args->memory.work;
  job->scratch_stride = args->memory.work_stride;
}

/* Few bins mostly wait for memory: in two jobs their work is shared out better. */
static void plan_bins(void *vargs, mluOpHandle_t machine, struct mluop_job *job) {
  struct roi_pool_args *args = vargs;
  if (contributions_per_pixel(args) < 1.0 && args->shape.C >= SMALL_CHANNELS)
    args->tiles.slopes = NULL;
  plan_pixels(vargs, machine, job);
}

static const struct mluop_way ways[] = {
    {"by_pixel", NULL, worth_sorting, plan_pixels, roi_pool_add_pixels},
    {"general", NULL, NULL, plan_bins, roi_pool_add_bins}};

static void begin(mluOpHandle_t handle, struct roi_pool_args *args) {
  list_bins(handle, args);
  if (args->plan.in_place) clear(handle, args);
}

void mluop_roi_pool_run_tiles(mluOpHandle_t handle, struct roi_pool_args *args) {
  begin(handle, args);
  struct mluop_job job = {.kernel = NULL};
  mluop_plan(handle, "roi_pool_backward", ways, args, &job);
  mluop_parallel_for(handle, &job);
}

void mluop_roi_pool_run_tiles_by(mluOpHandle_t handle, struct roi_pool_args *args,
                                 mluop_kernel *kernel) {
  begin(handle, args);
  struct mluop_job job = {.kernel = kernel, .args = args};
  plan_pixels(args, handle, &job);
  mluop_parallel_for(handle, &job);
}
