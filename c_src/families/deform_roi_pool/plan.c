/* SPDX-License-Identifier: Apache-2.0 */
#include "families/deform_roi_pool/kernels.h"
#include "families/deform_roi_pool/tiles.h"

/* A block of pixels for the order of the bins; about what the L1 cache holds. */
enum { BLOCK_BYTES = 1 << 14 };

/* Rows of the map that a row of bins needs together. */
enum { STRIP_ROWS = 16 };

/* Below so many bins their order does not matter. */
enum { FEW_BINS = 1024 };

/* A thread that gets fewer bins may have to wait for others; channels are shared out by so many. */
enum { FEW_PER_THREAD = 4, PART_CHANNELS = 64 };

/* Of a bin, for which nothing is prefetched. */
enum { MANY_PIXELS = 24 };

/* Costs, in nanoseconds: of a bin, and of a thousand floats. */
enum { BIN_COST = 60, LOCATE_COST = 8, FLOATS_COST = 40 };

/* --------------------------------------------------------------------------------- order */

static void cut_blocks(struct deform_roi_pool_args *args) {
  struct deform_roi_pool_blocks *blocks = &args->blocks;
  const int64_t pixel_bytes = args->C * (args->is_half ? 2 : 4);
  blocks->shift = 2;
  while (blocks->shift < 6 && pixel_bytes << (2 * blocks->shift + 2) <= BLOCK_BYTES)
    blocks->shift++;
  blocks->strip_shift = 0;
  while (pixel_bytes * STRIP_ROWS << (blocks->shift + blocks->strip_shift + 1) <=
             DEFORM_ROI_POOL_NEAR_BYTES &&
         INT64_C(1) << (blocks->shift + blocks->strip_shift) < args->W) {
    blocks->strip_shift++;
  }
  blocks->down = ((args->H - 1) >> blocks->shift) + 1;
  blocks->strips = ((args->W - 1) >> (blocks->shift + blocks->strip_shift)) + 1;
  blocks->count = args->N * blocks->strips * blocks->down << blocks->strip_shift;
}

static bool worth_sorting(const struct deform_roi_pool_args *args) {
  const int64_t map_bytes = args->N * args->H * args->W * args->C * (args->is_half ? 2 : 4);
  return mluop_deform_roi_pool_bins(args) >= FEW_BINS && map_bytes > DEFORM_ROI_POOL_NEAR_BYTES &&
         args->blocks.count <= 4 * mluop_deform_roi_pool_bins(args);
}

/* ------------------------------------------------------------------------------- memory */

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

void *mluop_deform_roi_pool_take(struct deform_roi_pool_arena *arena, int64_t count, size_t size) {
  void *taken = arena->memory != NULL ? arena->memory + arena->used : NULL;
  arena->used += round_up((size_t)count * size);
  return taken;
}

static void lay_out(struct deform_roi_pool_args *args, int threads,
                    struct deform_roi_pool_arena *arena) {
  const int64_t bins = mluop_deform_roi_pool_bins(args);
  args->rois = mluop_deform_roi_pool_take(arena, args->R, sizeof(*args->rois));
  args->unsorted_bins = args->bins = mluop_deform_roi_pool_take(arena, bins, sizeof(*args->bins));
  if (worth_sorting(args)) {
    args->unsorted_bins = mluop_deform_roi_pool_take(arena, bins, sizeof(*args->bins));
    args->keys = mluop_deform_roi_pool_take(arena, bins, sizeof(*args->keys));
    args->block_starts =
        mluop_deform_roi_pool_take(arena, args->blocks.count, sizeof(*args->block_starts));
  }
  size_t work = (size_t)(args->max_taps_h + args->max_taps_w) * sizeof(struct deform_roi_pool_tap);
  work *= 2;
  if (args->output != NULL) work += 2 * (size_t)args->C * sizeof(float);
  if (args->grad_input != NULL) work += mluop_deform_roi_pool_lay_out_tiles(args, arena);
  args->work_stride = round_up(work);
  args->work = mluop_deform_roi_pool_take(arena, threads, args->work_stride);
}

size_t mluop_deform_roi_pool_plan(mluOpHandle_t handle, struct deform_roi_pool_args *args) {
  /* See axis_taps; without a sampling_ratio a RoI may need every pixel. */
  const int64_t samples = args->sampling_ratio > 0 ? args->sampling_ratio : INT32_MAX;
  args->max_taps_h = mluop_min(2 * args->H, 4 * samples);
  args->max_taps_w = mluop_min(2 * args->W, 4 * samples);
  cut_blocks(args);
  if (args->grad_input != NULL) mluop_deform_roi_pool_cut_tiles(args);
  struct deform_roi_pool_arena arena = {NULL, 0};
  lay_out(args, mluop_num_threads(handle), &arena);
  return arena.used;
}

/* ---------------------------------------------------------------------------------- jobs */

/* The pixels that samples of a bin touch along one axis, roughly. */
static double touched(float bin, int32_t grid, int64_t extent) {
  double size = bin < 0.0f ? -(double)bin : (double)bin;
  if (!(size < (double)extent)) size = (double)extent;
  return size + 2.0 < 2.0 * grid ? size + 2.0 : 2.0 * grid;
}

static double bin_pixels(const struct deform_roi_pool_args *args) {
  double pixels = 0.0;
  for (int64_t r = 0; r < args->R; r++) {
    const struct deform_roi_pool_roi *roi = &args->rois[r];
    if (roi->grid_h <= 0 || roi->grid_w <= 0) continue;
    pixels += touched(roi->bin_h, roi->grid_h, args->H) * touched(roi->bin_w, roi->grid_w, args->W);
  }
  return pixels / (double)args->R;
}

/* What to do if the tensors, of the map the part that bins need, do not fit the caches. Forward
   prefetches the rows of a map that is needed as a whole: with many pixels per bin, most come from
   the caches, and prefetching costs what it saves. */
static void plan_for_caches(mluOpHandle_t handle, struct deform_roi_pool_args *args) {
  const double map = (double)(args->N * args->H * args->W);
  const double bins = (double)mluop_deform_roi_pool_bins(args), visits = args->bin_pixels * bins;
  double pixels = bins + (visits < map ? visits : map);
  if (args->grad_input != NULL) pixels += map;
  const int64_t bytes = (int64_t)pixels * args->C * (args->is_half ? 2 : 4);
  const int large = mluop_exceeds_caches(handle, bytes);
  args->stream = large && !args->is_half;
  args->in_place = args->grad_input != NULL && !large && !args->is_half && args->C >= 16;
  args->look_ahead = large && args->output != NULL && args->keys != NULL &&
                     args->bin_pixels < MANY_PIXELS && visits > 2.0 * map;
}

void mluop_deform_roi_pool_prepare(mluOpHandle_t handle, struct deform_roi_pool_args *args,
                                   void *scratch) {
  struct deform_roi_pool_arena arena = {scratch, 0};
  lay_out(args, mluop_num_threads(handle), &arena);
  struct mluop_job job = {.kernel = deform_roi_pool_locate[handle->isa],
                          .args = args,
                          .count = args->R,
                          .grain = mluop_grain(DEFORM_ROI_POOL_SHARE_COST,
                                               LOCATE_COST * args->pooled_h * args->pooled_w),
                          .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  args->bin_pixels = bin_pixels(args);
  plan_for_caches(handle, args);
  job.count = 1;
  if (args->keys != NULL) {
    job.kernel = deform_roi_pool_sort[handle->isa];
    mluop_parallel_for(handle, &job);
  }
}

int64_t mluop_deform_roi_pool_bin_cost(const struct deform_roi_pool_args *args) {
  const double floats = args->bin_pixels * (double)args->C;
  return BIN_COST + (int64_t)(floats * FLOATS_COST / 1000.0);
}

/* Bins may differ by any factor: the blocks are small, if there is work for two. Prefetching begins
   anew with each block: then they are large. */
static void run(mluOpHandle_t handle, const struct deform_roi_pool_args *args, mluop_kernel *kernel,
                int64_t parts) {
  const int64_t items = mluop_deform_roi_pool_bins(args) * parts;
  const int64_t threads = mluop_num_threads(handle);
  const int64_t cost = mluop_deform_roi_pool_bin_cost(args) / parts;
  int64_t grain = mluop_grain(DEFORM_ROI_POOL_SHARE_COST, cost);
  if (args->look_ahead) {
    grain = mluop_max(grain, items / (3 * threads));
  } else if (grain < items) {
    grain = mluop_max(1, mluop_min(grain, items / (16 * threads)));
  }
  const struct mluop_job job = {.kernel = kernel,
                                .args = args,
                                .count = items,
                                .grain = grain,
                                .schedule = MLUOP_OWN_FIRST,
                                .scratch = args->work,
                                .scratch_stride = args->work_stride};
  mluop_parallel_for(handle, &job);
}

void mluop_deform_roi_pool_run_bins(mluOpHandle_t handle, const struct deform_roi_pool_args *args,
                                    mluop_kernel *kernel) {
  run(handle, args, kernel, 1);
}

/* Bins that are few and large are not enough for all threads. */
void mluop_deform_roi_pool_run_forward(mluOpHandle_t handle, struct deform_roi_pool_args *args) {
  const int64_t bins = mluop_deform_roi_pool_bins(args), threads = mluop_num_threads(handle);
  const int64_t wanted = bins < FEW_PER_THREAD * threads ? mluop_div_up(threads, bins) : 1;
  const int64_t worth = mluop_deform_roi_pool_bin_cost(args) / DEFORM_ROI_POOL_SHARE_COST;
  const int64_t parts = mluop_max(1, mluop_min(wanted, worth));
  args->part_channels = mluop_div_up(mluop_div_up(args->C, parts), PART_CHANNELS) * PART_CHANNELS;
  args->parts = mluop_div_up(args->C, args->part_channels);
  run(handle, args, deform_roi_pool_forward[handle->isa], args->parts);
}
