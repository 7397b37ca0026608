/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/half.h"
#include "shared/roi_pool/blocks.h"
#include "shared/roi_pool/kernels.h"
#include "shared/roi_pool/roi.h"

/* A bucket of pixels for the order of the bins; about what the L1 cache holds. */
enum { BUCKET_BYTES = 1 << 14 };

/* Rows of the map that a row of bins needs together. */
enum { STRIP_ROWS = 16 };

/* Below so many bins their order does not matter. */
enum { FEW_BINS = 1024 };

/* A thread that gets fewer bins may have to wait for others; channels are shared out by so many. */
enum { FEW_PER_THREAD = 4, PART_CHANNELS = 64 };

/* Up to so many taps of an axis, memory for every bin is taken without a look at its size. */
enum { FREE_TAPS = 1 << 12 };

/* Of a bin, for which nothing is prefetched. */
enum { MANY_PIXELS = 24 };

/* Costs, in nanoseconds: of a bin, and of a thousand floats. */
enum { BIN_COST = 60, LOCATE_COST = 8, FLOATS_COST = 40 };

/* --------------------------------------------------------------------------------- order */

static void cut_buckets(struct roi_pool_args *args) {
  struct roi_pool_buckets *buckets = &args->buckets;
  const int64_t pixel_bytes = args->shape.C * (args->shape.is_half ? 2 : 4);
  buckets->shift = 2;
  while (buckets->shift < 6 && pixel_bytes << (2 * buckets->shift + 2) <= BUCKET_BYTES)
    buckets->shift++;
  buckets->strip_shift = 0;
  while (pixel_bytes * STRIP_ROWS << (buckets->shift + buckets->strip_shift + 1) <=
             ROI_POOL_NEAR_BYTES &&
         INT64_C(1) << (buckets->shift + buckets->strip_shift) < args->shape.W) {
    buckets->strip_shift++;
  }
  buckets->down = ((args->shape.H - 1) >> buckets->shift) + 1;
  buckets->strips = ((args->shape.W - 1) >> (buckets->shift + buckets->strip_shift)) + 1;
  buckets->count = args->shape.N * buckets->strips * buckets->down << buckets->strip_shift;
}

static bool worth_sorting(const struct roi_pool_args *args) {
  const int64_t map_bytes =
      args->shape.N * args->shape.H * args->shape.W * args->shape.C * (args->shape.is_half ? 2 : 4);
  return mluop_roi_pool_bins(args) >= FEW_BINS && map_bytes > ROI_POOL_NEAR_BYTES &&
         args->buckets.count <= 4 * mluop_roi_pool_bins(args);
}

/* ------------------------------------------------------------------------------- memory */

/* What puts the bins in order is not needed afterwards: the rest takes its memory. */
static void lay_out(struct roi_pool_args *args, int threads, struct mluop_arena *arena) {
  const int64_t bins = mluop_roi_pool_bins(args);
  args->memory.rois = mluop_take(arena, args->shape.R, sizeof(*args->memory.rois));
  args->memory.bins = mluop_take(arena, bins, sizeof(*args->memory.bins));
  const size_t begin = arena->used;
  if (worth_sorting(args)) {
    args->memory.keys = mluop_take(arena, bins, sizeof(*args->memory.keys));
    args->memory.bucket_starts =
        mluop_take(arena, args->buckets.count, sizeof(*args->memory.bucket_starts));
  }
  const size_t ordered = arena->used;
  arena->used = begin;
  size_t work = args->plan.own_bytes;
  if (!args->plan.own_kernel) {
    work = (size_t)(args->plan.max_taps_h + args->plan.max_taps_w) * sizeof(struct roi_pool_tap);
    if (args->data.output != NULL) work += 2 * (size_t)args->shape.C * sizeof(float);
  }
  if (args->data.grad_input != NULL) work += mluop_roi_pool_lay_out_blocks(args, arena);
  args->memory.work_stride = (work + 63) / 64 * 64 + MLUOP_THREAD_GAP;
  args->memory.work = mluop_take(arena, threads, args->memory.work_stride);
  if (arena->used < ordered) arena->used = ordered;
}

/* --------------------------------------------------------------------------------- RoIs */

/* See axis_taps; without a sampling_ratio a RoI may need every pixel of an axis. */
static int64_t taps_of_axis(const struct roi_pool_args *args, int64_t extent) {
  return mluop_min(2 * extent,
                   args->shape.sampling_ratio > 0 ? 4 * args->shape.sampling_ratio : INT64_MAX);
}

/* Those of a bin of this size: two for each pixel that it lies on, as many as rounding may move it
   by, and its rims. */
static int64_t taps_of_bin(float size, int64_t extent) {
  if (!(size < (float)extent)) return 2 * extent;
  return mluop_min(2 * extent, 2 * ((int64_t)size + extent / (1 << 19) + 6));
}

/* The larger of `most` and a size, in either direction, that is finite. */
static float larger(float most, float size) {
  const float positive = size < 0.0f ? -size : size;
  return positive > most && positive <= FLT_MAX ? positive : most;
}

static float rois_at(const struct roi_pool_args *args, int64_t i) {
  return args->shape.is_half ? mluop_half_to_float(((const uint16_t *)args->data.rois_data)[i])
                             : ((const float *)args->data.rois_data)[i];
}

/* Looks at rois before all else: the first row whose image does not exist, R if there is none. */
static int64_t look(struct roi_pool_args *args, float *image) {
  const float scale = args->shape.spatial_scale;
  const int aligned = args->shape.is_aligned;
  const bool every_size =
      args->plan.own_kernel || (taps_of_axis(args, args->shape.H) <= FREE_TAPS &&
                                taps_of_axis(args, args->shape.W) <= FREE_TAPS);
  args->plan.max_bin_h = args->plan.max_bin_w = every_size ? FLT_MAX : 0.0f;
  for (int64_t r = 0; r < args->shape.R; r++) {
    *image = rois_at(args, r * 5);
    if (!roi_pool_has_image(*image, args->shape.N)) return r;
    if (every_size) continue;
    float edge[4];
    for (int i = 0; i < 4; i++)
      edge[i] = roi_pool_on_map(rois_at(args, r * 5 + 1 + i), scale, aligned);
    const float width = roi_pool_size(edge[0], edge[2], aligned);
    const float height = roi_pool_size(edge[1], edge[3], aligned);
    args->plan.max_bin_w = larger(args->plan.max_bin_w, width / (float)args->shape.pooled_w);
    args->plan.max_bin_h = larger(args->plan.max_bin_h, height / (float)args->shape.pooled_h);
  }
  return args->shape.R;
}

/* The bytes of scratch memory that a call needs. */
static size_t plan(mluOpHandle_t handle, struct roi_pool_args *args) {
  args->plan.max_taps_h = mluop_min(taps_of_axis(args, args->shape.H),
                                    taps_of_bin(args->plan.max_bin_h, args->shape.H));
  args->plan.max_taps_w = mluop_min(taps_of_axis(args, args->shape.W),
                                    taps_of_bin(args->plan.max_bin_w, args->shape.W));
  cut_buckets(args);
  if (args->data.grad_input != NULL) mluop_roi_pool_cut_blocks(args);
  struct mluop_arena arena = {NULL, 0};
  lay_out(args, mluop_num_threads(handle), &arena);
  return arena.used;
}

/* -------------------------------------------------------------------------------- caches */

/* The pixels that samples of a bin touch along one axis, roughly. */
static double touched(float bin, int32_t grid, int64_t extent) {
  double size = bin < 0.0f ? -(double)bin : (double)bin;
  if (!(size < (double)extent)) size = (double)extent;
  return size + 2.0 < 2.0 * grid ? size + 2.0 : 2.0 * grid;
}

/* Whether a RoI meets the map along one axis, if no offset moves its bins. */
static bool meets(float start, float size, int64_t extent) {
  const float end = start + size;
  return (start <= (float)extent || end <= (float)extent) && (start >= -1.0f || end >= -1.0f);
}

static void estimate_bins(struct roi_pool_args *args) {
  double pixels = 0.0, on_map = 0.0;
  for (int64_t r = 0; r < args->shape.R; r++) {
    const struct roi_pool_roi *roi = &args->memory.rois[r];
    if (roi->grid_h <= 0 || roi->grid_w <= 0) continue;
    const double of_bin = touched(roi->bin_h, roi->grid_h, args->shape.H) *
                          touched(roi->bin_w, roi->grid_w, args->shape.W);
    pixels += of_bin;
    if (meets(roi->y, roi->height, args->shape.H) && meets(roi->x, roi->width, args->shape.W)) {
      on_map += of_bin;
    }
  }
  args->plan.bin_pixels = pixels / (double)args->shape.R;
  args->plan.bin_work = on_map / (double)args->shape.R;
}

/* What to do if the tensors, of the map the part that bins need, do not fit the caches. Forward
   prefetches the rows of a map that is needed as a whole: with many pixels per bin, most come from
   the caches, and prefetching costs what it saves. */
static void plan_for_caches(mluOpHandle_t handle, struct roi_pool_args *args) {
  const double map = (double)(args->shape.N * args->shape.H * args->shape.W);
  const double bins = (double)mluop_roi_pool_bins(args), contributions = args->plan.bin_work * bins;
  double pixels = bins + (contributions < map ? contributions : map);
  if (args->data.grad_input != NULL) pixels += map;
  const int64_t bytes = (int64_t)pixels * args->shape.C * (args->shape.is_half ? 2 : 4);
  const int large = mluop_exceeds_caches(handle, bytes);
  args->plan.stream = large && !args->shape.is_half;
  args->plan.in_place =
      args->data.grad_input != NULL && !large && !args->shape.is_half && args->shape.C >= 16;
  args->plan.prefetch_rows = large && args->data.output != NULL && args->memory.keys != NULL &&
                             args->plan.bin_work < MANY_PIXELS && contributions > 2.0 * map;
}

/* Hands out the memory, finds the bins and puts them in order. */
static void prepare(mluOpHandle_t handle, struct roi_pool_args *args, void *scratch) {
  struct mluop_arena arena = {scratch, 0};
  lay_out(args, mluop_num_threads(handle), &arena);
  const int isa = mluop_isa_for_run(handle, 1);
  struct mluop_job job = {
      .kernel = roi_pool_locate[isa],
      .args = args,
      .count = args->shape.R,
      .grain = mluop_roi_pool_grain(LOCATE_COST * args->shape.pooled_h * args->shape.pooled_w),
      .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  if (mluop_is_stopped(&handle->interrupt)) return; /* there may be no RoIs to read */
  estimate_bins(args);
  plan_for_caches(handle, args);
  if (args->memory.keys == NULL) return;
  job.kernel = roi_pool_sort[isa];
  job.count = 1;
  mluop_parallel_for(handle, &job);
  job.kernel = roi_pool_place[isa];
  job.count = args->shape.R;
  mluop_parallel_for(handle, &job);
}

bool mluop_roi_pool_begin(const struct mluop_call *call, int rois, struct roi_pool_args *args,
                          mluOpStatus_t *status) {
  float image;
  args->interrupt = &call->handle->interrupt;
  const int64_t row = look(args, &image);
  if (row < args->shape.R) {
    *status = mluop_fail(BAD_PARAM, call->api,
                         "%s: row %" PRId64 ": image index is %g, expected 0 to %" PRId64 " (N-1)",
                         call->tensors[rois].name, row, (double)image, args->shape.N - 1);
    return false;
  }
  void *scratch = mluop_scratch(call->handle, plan(call->handle, args));
  if (scratch == NULL) {
    *status = mluop_no_scratch(call);
    return false;
  }
  prepare(call->handle, args, scratch);
  return true;
}

/* ---------------------------------------------------------------------------------- jobs */

int64_t mluop_roi_pool_bin_cost(const struct roi_pool_args *args) {
  const double floats = args->plan.bin_work * (double)args->shape.C;
  return BIN_COST + (int64_t)(floats * FLOATS_COST / 1000.0);
}

/* Bins may differ by any factor: the grains are small, if there is work for two. Prefetching begins
   anew with each grain: then they are large. */
static void run(mluOpHandle_t handle, const struct roi_pool_args *args, mluop_kernel *kernel,
                int64_t parts) {
  const int64_t items = mluop_roi_pool_bins(args) * parts;
  const int64_t threads = mluop_num_threads(handle);
  const int64_t cost = mluop_roi_pool_bin_cost(args) / parts;
  int64_t grain = mluop_roi_pool_grain(cost);
  if (args->plan.prefetch_rows) {
    grain = mluop_max(grain, items / (3 * threads));
  } else if (grain < items) {
    grain = mluop_max(1, mluop_min(grain, items / (16 * threads)));
  }
  const struct mluop_job job = {.kernel = kernel,
                                .args = args,
                                .count = items,
                                .grain = grain,
                                .schedule = MLUOP_STEAL,
                                .unit = mluop_unit(cost * MLUOP_NANOSECOND),
                                .scratch = args->memory.work,
                                .scratch_stride = args->memory.work_stride};
  mluop_parallel_for(handle, &job);
}

void mluop_roi_pool_run_bins(mluOpHandle_t handle, const struct roi_pool_args *args,
                             mluop_kernel *kernel) {
  run(handle, args, kernel, 1);
}

/* Bins that are few and large are not enough for all threads. */
void mluop_roi_pool_run_forward(mluOpHandle_t handle, struct roi_pool_args *args) {
  const int64_t bins = mluop_roi_pool_bins(args), threads = mluop_num_threads(handle);
  const int64_t wanted = bins < FEW_PER_THREAD * threads ? mluop_div_up(threads, bins) : 1;
  const int64_t worth = mluop_roi_pool_bin_cost(args) / ROI_POOL_SHARE_COST;
  const int64_t parts = mluop_max(1, mluop_min(wanted, worth));
  args->plan.part_channels =
      mluop_div_up(mluop_div_up(args->shape.C, parts), PART_CHANNELS) * PART_CHANNELS;
  args->plan.parts = mluop_div_up(args->shape.C, args->plan.part_channels);
  const int isa = mluop_isa_for_run(handle, args->shape.C);
  run(handle, args, roi_pool_forward[isa], args->plan.parts);
}
