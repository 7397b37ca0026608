/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/plan.h"

#include <inttypes.h>

#include "core/half.h"
#include "shared/roi_pool/kernels.h"

/* Memory that a thread works on at a time: half of a usual L2 cache. A bucket of pixels for the
   order of the bins is about what the L1 cache holds. */
enum { NEAR_BYTES = 1 << 19, BUCKET_BYTES = 1 << 14 };

/* Rows of the map that a row of bins needs together. */
enum { STRIP_ROWS = 16 };

/* Below so many bins their order does not matter. */
enum { FEW_BINS = 1024 };

/* A run has 2^RUN_SHIFT bins at least. There are so many runs at most: each block looks at all. */
enum { RUN_SHIFT = 6, MAX_RUNS = 4096 };

/* Maps that would have few blocks are cut into more, but not into smaller ones than these. */
enum { MIN_BLOCKS = 8, LEAST_BLOCK_FLOATS = 1 << 12 };

/* So many bins for each pixel of the map are too many to round their sum each time. */
enum { TOO_MANY_BINS = 256 };

/* Of so few channels a contribution to a pixel costs less than to sort it. */
enum { SMALL_CHANNELS = 128 };

/* Costs, in nanoseconds: of a bin, of its place in the order, and of a thousand floats. */
enum { BIN_COST = 60, PLACE_COST = 8, FLOATS_COST = 40 };

static int64_t map_pixels(const struct roi_pool_args *args) {
  return args->shape.N * args->shape.H * args->shape.W;
}

static int64_t pixel_bytes(const struct roi_pool_args *args) {
  return args->shape.C * (args->shape.is_half ? 2 : 4);
}

/* ----------------------------------------------------------------------- order and blocks */

static void cut_buckets(struct roi_pool_args *args) {
  struct roi_pool_buckets *buckets = &args->buckets;
  const int64_t bytes = pixel_bytes(args);
  buckets->shift = 2;
  while ((buckets->shift < 6 && bytes << (2 * buckets->shift + 2) <= BUCKET_BYTES) ||
         map_pixels(args) >> (2 * buckets->shift) > 2 * roi_pool_bins(args)) {
    buckets->shift++;
  }
  buckets->strip_shift = 0;
  while (bytes * STRIP_ROWS << (buckets->shift + buckets->strip_shift + 1) <= NEAR_BYTES &&
         INT64_C(1) << (buckets->shift + buckets->strip_shift) < args->shape.W) {
    buckets->strip_shift++;
  }
  buckets->down = ((args->shape.H - 1) >> buckets->shift) + 1;
  buckets->strips = ((args->shape.W - 1) >> (buckets->shift + buckets->strip_shift)) + 1;
  buckets->count = args->shape.N * buckets->strips * buckets->down << buckets->strip_shift;
}

static bool worth_sorting(const struct roi_pool_args *args) {
  return roi_pool_bins(args) >= FEW_BINS && map_pixels(args) * pixel_bytes(args) > NEAR_BYTES &&
         args->buckets.count <= 4 * roi_pool_bins(args);
}

/* As large as the cache allows, but enough of them to share out. Depends on nothing but shapes: how
   a sum is rounded does not depend on the threads. */
static void cut_blocks(struct roi_pool_args *args) {
  struct roi_pool_blocks *blocks = &args->blocks;
  const int64_t share = map_pixels(args) * args->shape.C / MIN_BLOCKS;
  const int64_t floats = mluop_min(mluop_max(share, LEAST_BLOCK_FLOATS), ROI_POOL_BLOCK_FLOATS);
  int shift = 0;
  while (args->shape.C << (shift + 1) <= floats && 2 << shift <= ROI_POOL_BLOCK_PIXELS) shift++;
  blocks->shift_h = shift / 2;
  while (blocks->shift_h > 0 && args->shape.H <= INT64_C(1) << (blocks->shift_h - 1)) {
    blocks->shift_h--;
  }
  blocks->shift_w = shift - blocks->shift_h;
  blocks->down = ((args->shape.H - 1) >> blocks->shift_h) + 1;
  blocks->across = ((args->shape.W - 1) >> blocks->shift_w) + 1;
  blocks->count = args->shape.N * blocks->down * blocks->across;
  const int64_t stride = mluop_div_up(args->shape.C, 16) * 16;
  blocks->buffer_bytes = (size_t)(stride << shift) * sizeof(float);
}

/* ------------------------------------------------------------------------------- memory */

static int64_t count_runs(const struct roi_pool_args *args) {
  return ((roi_pool_bins(args) - 1) >> args->memory.run_shift) + 1;
}

static void lay_out(struct roi_pool_args *args, int threads, struct mluop_arena *arena) {
  const int64_t bins = roi_pool_bins(args);
  struct roi_pool_memory *memory = &args->memory;
  memory->rois = mluop_take(arena, args->shape.R, sizeof(*memory->rois));
  memory->bins = mluop_take(arena, bins, sizeof(*memory->bins));
  if (worth_sorting(args)) {
    memory->keys = mluop_take(arena, bins, sizeof(*memory->keys));
    memory->bucket_starts = mluop_take(arena, args->buckets.count, sizeof(*memory->bucket_starts));
  }
  size_t work = args->plan.own_bytes;
  if (args->data.output != NULL) {
    work += 2 * ROI_POOL_WINDOW_TAPS * sizeof(struct roi_pool_tap);
    work += 2 * (size_t)args->shape.C * sizeof(float);
  } else {
    for (memory->run_shift = RUN_SHIFT; bins >> memory->run_shift > MAX_RUNS;) memory->run_shift++;
    memory->boxes = mluop_take(arena, bins, sizeof(*memory->boxes));
    memory->runs = mluop_take(arena, count_runs(args), sizeof(*memory->runs));
    if (args->data.offset != NULL && args->shape.C >= SMALL_CHANNELS) {
      memory->slopes = mluop_take(arena, bins * ROI_POOL_SLOPES, sizeof(*memory->slopes));
    }
    work += (size_t)(1 + args->plan.own_blocks) * args->blocks.buffer_bytes;
    work += sizeof(struct roi_pool_group);
  }
  memory->work_stride = (work + 63) / 64 * 64 + MLUOP_THREAD_GAP;
  memory->work = mluop_take(arena, threads, memory->work_stride);
}

/* -------------------------------------------------------------------------------- caches */

/* The pixels that samples of a bin touch along one axis, roughly. */
static double touched(float bin, int32_t grid, int64_t extent) {
  double size = bin < 0.0f ? -(double)bin : (double)bin;
  if (!(size < (double)extent)) size = (double)extent;
  return size + 2.0 < 2.0 * grid ? size + 2.0 : 2.0 * grid;
}

static double bin_pixels(const struct roi_pool_args *args) {
  double pixels = 0.0;
  for (int64_t r = 0; r < args->shape.R; r++) {
    const struct roi_pool_roi *roi = &args->memory.rois[r];
    if (roi->grid_h <= 0 || roi->grid_w <= 0) continue;
    pixels += touched(roi->bin_h, roi->grid_h, args->shape.H) *
              touched(roi->bin_w, roi->grid_w, args->shape.W);
  }
  return pixels / (double)args->shape.R;
}

/* What to do if the tensors, of the map the part that bins need, do not fit the caches. */
static void plan_for_caches(mluOpHandle_t handle, struct roi_pool_args *args) {
  args->plan.bin_pixels = bin_pixels(args);
  const double map = (double)map_pixels(args), bins = (double)roi_pool_bins(args);
  const double contributions = args->plan.bin_pixels * bins;
  double pixels = bins + (contributions < map ? contributions : map);
  if (args->data.grad_input != NULL) pixels += map;
  const int64_t bytes = (int64_t)pixels * pixel_bytes(args);
  if (!mluop_exceeds_caches(handle, bytes)) return;
  args->plan.stream = !args->shape.is_half;
  /* Two and a half times the part of the map that a bin has to itself. */
  const int64_t part = (int64_t)(2.5 * map / bins * (double)pixel_bytes(args));
  args->plan.prefetch_bytes = mluop_min(part, 3 << 10);
}

/* --------------------------------------------------------------------------------- RoIs */

/* The first row whose image does not exist, R if there is none. */
static int64_t unknown_image(const struct roi_pool_args *args, float *image) {
  for (int64_t r = 0; r < args->shape.R; r++) {
    *image = args->shape.is_half
                 ? mluop_half_to_float(((const uint16_t *)args->data.rois_data)[r * 5])
                 : ((const float *)args->data.rois_data)[r * 5];
    if (!roi_pool_has_image(*image, args->shape.N)) return r;
  }
  return args->shape.R;
}

/* Of items that take so many nanoseconds. */
static int64_t grain_of(int64_t cost) {
  return mluop_grain(mluop_min(cost, MLUOP_SHARE_COST) * MLUOP_NANOSECOND);
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
      .grain = grain_of(PLACE_COST * args->shape.pooled_h * args->shape.pooled_w),
      .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  if (mluop_is_stopped(&handle->interrupt)) return; /* there may be no RoIs to read */
  plan_for_caches(handle, args);
  if (args->memory.keys != NULL) {
    const struct mluop_job sort = {
        .kernel = roi_pool_sort[isa], .args = args, .count = 1, .grain = 1};
    mluop_parallel_for(handle, &sort);
  }
  job.kernel = roi_pool_place[isa];
  mluop_parallel_for(handle, &job);
}

bool mluop_roi_pool_begin(const struct mluop_call *call, int rois, struct roi_pool_args *args,
                          mluOpStatus_t *status) {
  args->interrupt = &call->handle->interrupt;
  float image;
  const int64_t row = unknown_image(args, &image);
  if (row < args->shape.R) {
    *status = mluop_fail(BAD_PARAM, call->api,
                         "%s: row %" PRId64 ": image index is %g, expected 0 to %" PRId64 " (N-1)",
                         call->tensors[rois].name, row, (double)image, args->shape.N - 1);
    return false;
  }
  cut_buckets(args);
  cut_blocks(args);
  struct mluop_arena arena = {NULL, 0};
  lay_out(args, mluop_num_threads(call->handle), &arena);
  void *scratch = mluop_scratch(call->handle, arena.used);
  if (scratch == NULL) {
    *status = mluop_no_scratch(call);
    return false;
  }
  prepare(call->handle, args, scratch);
  return true;
}

/* ---------------------------------------------------------------------------------- jobs */

/* Items may differ by any factor, and blocks by the bins that crowd together on them: the grains
   are small, if there is work for two. Of few channels, those that do not fill a vector of 16
   decide which kernel is faster. */
static struct mluop_job job_of(mluOpHandle_t handle, const struct roi_pool_args *args,
                               int64_t count, int64_t cost) {
  const bool few = args->shape.C < mluop_max(args->plan.own_few, 64);
  int64_t grain = grain_of(cost);
  if (grain < count) {
    grain = mluop_max(1, mluop_min(grain, count / (16 * (int64_t)mluop_num_threads(handle))));
  }
  return (struct mluop_job){.args = args,
                            .count = count,
                            .grain = grain,
                            .schedule = MLUOP_STEAL,
                            .run = few ? args->shape.C % 16 : args->shape.C,
                            .piece = mluop_piece(cost * MLUOP_NANOSECOND),
                            .scratch = args->memory.work,
                            .scratch_stride = args->memory.work_stride};
}

/* What a bin costs on average, in nanoseconds. */
static int64_t bin_cost(const struct roi_pool_args *args) {
  const double floats = args->plan.bin_pixels * (double)args->shape.C;
  return BIN_COST + (int64_t)(floats * FLOATS_COST / 1000.0);
}

void mluop_roi_pool_run_bins(mluOpHandle_t handle, const struct roi_pool_args *args,
                             mluop_kernel *const *kernel) {
  struct mluop_job job = job_of(handle, args, roi_pool_bins(args), bin_cost(args));
  if (kernel == NULL) kernel = roi_pool_forward;
  job.kernel = kernel[mluop_isa_for_run(handle, job.run)];
  mluop_parallel_for(handle, &job);
}

/* Whether to sort by pixel what bins do, because pixels that are taken once serve the slopes as
   well, or because many bins touch a pixel. */
static bool by_pixel_pays(const void *vargs, mluOpHandle_t handle) {
  (void)handle;
  const struct roi_pool_args *args = vargs;
  const double contributions = args->plan.bin_pixels * (double)roi_pool_bins(args);
  return args->memory.slopes != NULL ||
         contributions >= (double)TOO_MANY_BINS * (double)map_pixels(args);
}

static void plan_by_pixel(void *vargs, mluOpHandle_t handle, struct mluop_job *job) {
  const struct roi_pool_args *args = vargs;
  const int64_t cost = roi_pool_bins(args) * bin_cost(args) + map_pixels(args) * args->shape.C / 16;
  *job = job_of(handle, args, args->blocks.count, cost / args->blocks.count);
}

/* Slopes are left to grad_offset. */
static void plan_by_bin(void *vargs, mluOpHandle_t handle, struct mluop_job *job) {
  ((struct roi_pool_args *)vargs)->memory.slopes = NULL;
  plan_by_pixel(vargs, handle, job);
}

static const struct mluop_way ways[] = {
    {"by_pixel", NULL, by_pixel_pays, plan_by_pixel, roi_pool_add_pixels},
    {"general", NULL, NULL, plan_by_bin, roi_pool_add_bins}};

void mluop_roi_pool_run_blocks(mluOpHandle_t handle, struct roi_pool_args *args,
                               mluop_kernel *const *kernel) {
  const struct mluop_job runs = {.kernel = roi_pool_runs[mluop_isa_for_run(handle, 1)],
                                 .args = args,
                                 .count = count_runs(args),
                                 .grain = grain_of(1 << args->memory.run_shift),
                                 .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &runs);
  const struct mluop_way callers[] = {{"general", NULL, NULL, plan_by_bin, kernel}};
  struct mluop_job job;
  mluop_plan(handle, "roi_pool_backward", kernel == NULL ? ways : callers, args, &job);
  mluop_parallel_for(handle, &job);
}
