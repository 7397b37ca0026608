/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/deform_roi_pool_tiles.h"

enum { TILE_SHIFT_H = 4, TILE_CHANNELS = 1024, MIN_TILES = 16 };

/* Bins that are put into lists together. */
enum { CHUNK_BINS = 2048, MAX_CHUNKS = 64 };

/* Costs in nanoseconds: of finding the lists of a bin, and of clearing a block of grad_input. */
enum { LIST_COST = 15, CLEAR_COST = 500 };

static void count_tiles(struct deform_roi_pool_args *args) {
  struct deform_roi_pool_tiles *tiles = &args->tiles;
  tiles->down = ((args->H - 1) >> tiles->shift_h) + 1;
  tiles->across = ((args->W - 1) >> tiles->shift_w) + 1;
  tiles->count = args->N * tiles->down * tiles->across;
}

static bool may_double(const struct deform_roi_pool_tiles *tiles) {
  return (int64_t)sizeof(float) * tiles->channels << (tiles->shift_h + tiles->shift_w + 1) <=
         DEFORM_ROI_POOL_NEAR_BYTES;
}

/* As large as the cache allows, but enough of them to share out. Depends on nothing but shapes: the
   order of the bins of a tile does not depend on the threads. */
void mluop_deform_roi_pool_cut_tiles(struct deform_roi_pool_args *args) {
  struct deform_roi_pool_tiles *tiles = &args->tiles;
  tiles->channels = mluop_min(args->C, TILE_CHANNELS);
  tiles->shift_h = tiles->shift_w = 0;
  while (tiles->shift_h < TILE_SHIFT_H && INT64_C(1) << tiles->shift_h < args->H &&
         may_double(tiles)) {
    tiles->shift_h++;
  }
  while (INT64_C(1) << tiles->shift_w < args->W && may_double(tiles)) tiles->shift_w++;
  while (INT64_C(1) << tiles->shift_h < args->H && may_double(tiles)) tiles->shift_h++;
  count_tiles(args);
  while (tiles->count < MIN_TILES && tiles->shift_h + tiles->shift_w > 4) {
    if (tiles->shift_w >= tiles->shift_h) {
      tiles->shift_w--;
    } else {
      tiles->shift_h--;
    }
    count_tiles(args);
  }
  const int64_t bins = mluop_deform_roi_pool_bins(args);
  tiles->max_tiles = mluop_min(DEFORM_ROI_POOL_MAX_TILES, UINT32_MAX / bins);
  tiles->lists = tiles->count + args->N;
  tiles->chunk = mluop_max(CHUNK_BINS, mluop_div_up(bins, MAX_CHUNKS));
  tiles->chunks = mluop_div_up(bins, tiles->chunk);
}

size_t mluop_deform_roi_pool_lay_out_tiles(struct deform_roi_pool_args *args,
                                           struct deform_roi_pool_arena *arena) {
  struct deform_roi_pool_tiles *tiles = &args->tiles;
  const int64_t bins = mluop_deform_roi_pool_bins(args);
  tiles->places = mluop_deform_roi_pool_take(arena, bins, sizeof(*tiles->places));
  tiles->entries =
      mluop_deform_roi_pool_take(arena, bins * tiles->max_tiles, sizeof(*tiles->entries));
  tiles->next =
      mluop_deform_roi_pool_take(arena, tiles->chunks * tiles->lists, sizeof(*tiles->next));
  tiles->starts = mluop_deform_roi_pool_take(arena, tiles->lists + 1, sizeof(*tiles->starts));
  if (args->in_place) return 0;
  const int64_t stride = mluop_div_up(tiles->channels, 16) * 16;
  return (size_t)(stride << (tiles->shift_h + tiles->shift_w)) * sizeof(float);
}

static void list_bins(mluOpHandle_t handle, const struct deform_roi_pool_args *args) {
  struct mluop_job job = {
      .kernel = handle->kernels->deform_roi_pool_count,
      .args = args,
      .count = args->tiles.chunks,
      .grain = mluop_grain(DEFORM_ROI_POOL_SHARE_COST, LIST_COST * args->tiles.chunk),
      .schedule = MLUOP_DYNAMIC};
  mluop_parallel_for(handle, &job);
  job.kernel = handle->kernels->deform_roi_pool_starts;
  job.count = 1;
  mluop_parallel_for(handle, &job);
  job.kernel = handle->kernels->deform_roi_pool_list;
  job.count = args->tiles.chunks;
  mluop_parallel_for(handle, &job);
}

/* Each thread clears one run of memory: that is as fast as the caches are, which short runs by
   turns are not. */
static void clear(mluOpHandle_t handle, const struct deform_roi_pool_args *args) {
  const int64_t bytes = args->N * args->H * args->W * args->C * (int64_t)sizeof(float);
  const struct mluop_job job = {.kernel = handle->kernels->deform_roi_pool_clear,
                                .args = args,
                                .count = mluop_div_up(bytes, DEFORM_ROI_POOL_CLEAR_BYTES),
                                .grain = mluop_grain(DEFORM_ROI_POOL_SHARE_COST, CLEAR_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
}

void mluop_deform_roi_pool_run_tiles(mluOpHandle_t handle,
                                     const struct deform_roi_pool_args *args) {
  list_bins(handle, args);
  if (args->in_place) clear(handle, args);
  const struct deform_roi_pool_tiles *tiles = &args->tiles;
  const int64_t items = tiles->count * mluop_div_up(args->C, tiles->channels);
  const int64_t shares = 16 * (int64_t)mluop_num_threads(handle);
  int64_t cost = mluop_deform_roi_pool_bins(args) * mluop_deform_roi_pool_bin_cost(args);
  if (!args->in_place) cost += args->N * args->H * args->W * args->C / 16;
  /* Bins may crowd together on a few tiles: the blocks are small, if there is work for two. */
  int64_t grain = mluop_grain(DEFORM_ROI_POOL_SHARE_COST, cost / items);
  if (grain < items) grain = mluop_max(1, mluop_min(grain, items / shares));
  const struct mluop_job job = {.kernel = handle->kernels->deform_roi_pool_grad_input,
                                .args = args,
                                .count = items,
                                .grain = grain,
                                .schedule = MLUOP_DYNAMIC,
                                .scratch = args->work,
                                .scratch_stride = args->work_stride};
  mluop_parallel_for(handle, &job);
}
