/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/block.h"
#include "shared/roi_pool/kernels.h"

/* Both gradients, pixel by pixel: what a group of bins does to the pixels of a block is sorted by
   pixel, and each pixel then takes the gradients of its bins in one go, in registers. */

/* Vectors of channels that are summed at once. More than there are registers for: what then lives
   on the stack costs less than to go through the contributions once more. */
enum { VECTORS = VL == 4 ? 8 : 16 };

/* ---------------------------------------------------------------------------------- groups */

MLUOP_INLINE int has_room(const struct roi_pool_group *group, const struct roi_block *block) {
  const int64_t pixels =
      (block->rows.end - block->rows.begin) * (block->cols.end - block->cols.begin);
  return group->bin_count < ROI_POOL_GROUP_BINS && group->tap_count < ROI_POOL_GROUP_TAPS &&
         group->contribution_count + 4 * pixels <= ROI_POOL_GROUP_CONTRIBUTIONS;
}

/* Adds a bin to the group. The taps then have for `at` what they add to the number of a pixel. */
static inline void take_bin(const struct roi_pool_args *a, struct roi_block *block,
                            struct roi_pool_group *group, int64_t item) {
  struct roi_pool_bin_taps *bin = &group->bins[group->bin_count];
  bin->row = group->taps + group->tap_count;
  memset(group->slopes[group->bin_count], 0, sizeof(*group->slopes));
  group->bin_count++;
  if (!find_taps(a, item, block->rows, block->cols, 1, bin)) bin->rows = bin->cols = 0;
  if (bin->rows == 0) return;
  const int32_t width = (int32_t)(block->cols.end - block->cols.begin);
  for (int64_t i = 0; i < bin->rows; i++) {
    bin->row[i].at = (bin->row[i].at - (int32_t)block->rows.begin) * width;
  }
  for (int64_t j = 0; j < bin->cols; j++) bin->col[j].at -= (int32_t)block->cols.begin;
  group->tap_count += bin->rows + bin->cols;
  group->contribution_count += bin->rows * bin->cols;
}

/* A counting sort by pixel; the contributions of a pixel keep the order of their bins. */
static inline void sort_contributions(const struct roi_pool_args *a, struct roi_pool_group *group) {
  const int64_t pixels = INT64_C(1) << (a->blocks.shift_h + a->blocks.shift_w);
  /* starts[p + 1] is first where the next contribution of pixel p goes, and in the end its end. */
  uint32_t *starts = group->starts;
  memset(starts, 0, (size_t)(pixels + 2) * sizeof(*starts));
  for (int64_t b = 0; b < group->bin_count; b++) {
    const struct roi_pool_tap *row = group->bins[b].row, *col = group->bins[b].col;
    for (int64_t i = 0; i < group->bins[b].rows; i++) {
      for (int64_t j = 0; j < group->bins[b].cols; j++) starts[row[i].at + col[j].at + 2]++;
    }
  }
  for (int64_t p = 1; p <= pixels; p++) starts[p + 1] += starts[p];
  for (int64_t b = 0; b < group->bin_count; b++) {
    const struct roi_pool_tap *row = group->bins[b].row, *col = group->bins[b].col;
    for (int64_t i = 0; i < group->bins[b].rows; i++) {
      for (int64_t j = 0; j < group->bins[b].cols; j++) {
        group->contributions[starts[row[i].at + col[j].at + 1]++] =
            (struct roi_pool_contribution){(uint32_t)b, row[i].weight * col[j].weight,
                                           row[i].slope * col[j].step, row[i].step * col[j].slope};
      }
    }
  }
}

/* ------------------------------------------------------------------------------------ sums */

/* Vectors of channels that are summed together: `count` whole ones, or one of `part` channels. */
struct channels {
  int64_t first, part;
  int count, want_slopes;
};

/* Adds the contributions [begin, end) to a pixel: summed apart, so that the rounding of a sum does
   not grow with the number of bins. A gradient is loaded once for the sum and the slopes; without
   these the map is not read. */
MLUOP_INLINE void sum_contributions(const struct roi_pool_args *a, struct roi_pool_group *group,
                                    uint32_t begin, uint32_t end, float *sums, const char *pixel,
                                    struct channels channels, int is_half) {
  const int64_t element = is_half ? 2 : 4;
  const char *gradients = (const char *)a->data.grad_output + channels.first * element;
  vf sum[VECTORS], value[VECTORS];
  MLUOP_UNROLL
  for (int k = 0; k < channels.count; k++) {
    sum[k] = vf_set(0.0f);
    if (channels.want_slopes) value[k] = load_channels(pixel, k * VL, channels.part, is_half);
  }
  for (uint32_t i = begin; i < end; i++) {
    const struct roi_pool_contribution *contribution = &group->contributions[i];
    const char *gradient = gradients + group->bins[contribution->bin].pooled * element;
    const vf weight = vf_set(contribution->weight);
    vf dot[2] = {vf_set(0.0f), vf_set(0.0f)};
    MLUOP_UNROLL
    for (int k = 0; k < channels.count; k++) {
      const vf g = vf_opaque(load_channels(gradient, k * VL, channels.part, is_half));
      sum[k] = vf_fma(weight, g, sum[k]);
      if (channels.want_slopes) dot[k % 2] = vf_fma(g, value[k], dot[k % 2]);
    }
    if (!channels.want_slopes) continue;
    float *x = group->slopes[contribution->bin][0], *y = group->slopes[contribution->bin][1];
    vf_store(x, vf_fma(vf_set(contribution->x), dot[0] + dot[1], vf_load(x)));
    vf_store(y, vf_fma(vf_set(contribution->y), dot[0] + dot[1], vf_load(y)));
  }
  MLUOP_UNROLL
  for (int k = 0; k < channels.count; k++) {
    vf_store(sums + k * VL, vf_load(sums + k * VL) + sum[k]);
  }
}

/* The most bytes of a pixel that are prefetched while the one above it is summed. */
enum { PREFETCH_PIXEL = 1 << 10 };

/* All pixels of the block. */
MLUOP_INLINE void sum_pixels(const struct roi_pool_args *a, struct roi_block *block,
                             struct roi_pool_group *group, struct channels channels, int is_half) {
  const int64_t rows = block->rows.end - block->rows.begin,
                cols = block->cols.end - block->cols.begin;
  const int64_t element = is_half ? 2 : 4;
  const int64_t rest = (a->shape.C - channels.first) * element;
  const int64_t bytes = rest < PREFETCH_PIXEL ? rest : PREFETCH_PIXEL;
  const uint32_t *contributions = group->starts;
  for (int64_t y = 0; y < rows; y++) {
    for (int64_t x = 0; x < cols; x++, contributions++) {
      if (contributions[0] == contributions[1]) continue;
      const int64_t at = (pixel_of(a, block, y, x) + channels.first) * element;
      const char *pixel = channels.want_slopes ? (const char *)a->data.input + at : NULL;
      float *sums = block->sums + y * block->pitch + x * block->stride + channels.first;
      if (pixel != NULL && y + 1 < rows && contributions[cols] != contributions[cols + 1]) {
        mluop_prefetch_bytes(pixel, a->shape.W * a->shape.C * element, bytes);
      }
      touch(block, y);
      sum_contributions(a, group, contributions[0], contributions[1], sums, pixel, channels,
                        is_half);
    }
  }
}

MLUOP_INLINE void sum_channels(const struct roi_pool_args *a, struct roi_block *block,
                               struct roi_pool_group *group, int want_slopes, int is_half) {
  struct channels channels = {0, VL, 1, want_slopes};
  MLUOP_UNROLL
  for (int count = VECTORS; count > 0; count /= 2) {
    channels.count = count;
    for (; channels.first + count * VL <= a->shape.C; channels.first += count * VL) {
      sum_pixels(a, block, group, channels, is_half);
    }
  }
  channels.count = 1;
  channels.part = a->shape.C - channels.first;
  if (channels.part > 0) sum_pixels(a, block, group, channels, is_half);
}

static void store_slopes(const struct roi_pool_args *a, const struct roi_block *block,
                         const struct roi_pool_group *group) {
  const int64_t row = block->rows.begin >> a->blocks.shift_h;
  const int64_t col = block->cols.begin >> a->blocks.shift_w;
  for (int64_t b = 0; b < group->bin_count; b++) {
    const int64_t item = group->bins[b].item;
    if (!keeps_slopes(a, item)) continue;
    a->memory.slopes[item * ROI_POOL_SLOPES + (row % 2 * 2 + col % 2)] = (struct roi_pool_slopes){
        vf_sum(vf_load(group->slopes[b][0])), vf_sum(vf_load(group->slopes[b][1]))};
  }
}

static void sum_group(const struct roi_pool_args *a, struct roi_block *block,
                      struct roi_pool_group *group) {
  sort_contributions(a, group);
  const int want_slopes = a->memory.slopes != NULL;
  if (want_slopes && a->shape.is_half) {
    sum_channels(a, block, group, 1, 1);
  } else if (want_slopes) {
    sum_channels(a, block, group, 1, 0);
  } else if (a->shape.is_half) {
    sum_channels(a, block, group, 0, 1);
  } else {
    sum_channels(a, block, group, 0, 0);
  }
  if (want_slopes) store_slopes(a, block, group);
  group->bin_count = group->contribution_count = group->tap_count = 0;
}

/* Item: a block of grad_input. It belongs to one thread, which adds the bins in their order: the
   sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(roi_pool_add_pixels)(const void *vargs, int64_t begin, int64_t end,
                                        void *scratch) {
  const struct roi_pool_args *a = vargs;
  struct roi_pool_group *group = (void *)((char *)scratch + a->blocks.buffer_bytes);
  group->bin_count = group->contribution_count = group->tap_count = 0;
  struct roi_block block;
  for (int64_t number = begin; number < end; number++) {
    start_block(a, number, scratch, &block);
    for (int64_t item; (item = next_bin(a, &block)) >= 0;) {
      if (!has_room(group, &block)) sum_group(a, &block, group);
      take_bin(a, &block, group, item);
    }
    if (group->bin_count > 0) sum_group(a, &block, group);
    store_block(a, &block);
  }
  if (a->plan.stream) vf_stream_end();
}
