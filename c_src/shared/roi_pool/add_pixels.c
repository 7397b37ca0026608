/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/group.h"
#include "shared/roi_pool/kernels.h"

/* Both gradients where many bins touch a pixel: pixel by pixel. */

/* Vectors of channels that are summed at once. More than there are registers for: what then lives
   on the stack costs less than to go through the contributions once more. */
enum { VECTORS = VL == 4 ? 8 : 16 };

/* Vector k of some channels, or the only one of `part`. */
MLUOP_INLINE vf load_channels(const void *from, int k, int64_t part, int is_half) {
  return part == VL ? vf_load_as(from, k * VL, is_half) : vf_load_part_as(from, 0, part, is_half);
}

/* The most bytes of a pixel that are prefetched while the one above it is summed. */
enum { PREFETCH_PIXEL = 1 << 10 };

MLUOP_INLINE void prefetch_some(const char *from, int64_t bytes, int to_write) {
  const int64_t some = bytes < PREFETCH_PIXEL ? bytes : PREFETCH_PIXEL;
  for (int64_t b = 0; b < some; b += 64) {
    if (to_write) {
      __builtin_prefetch(from + b, 1, 3);
    } else {
      mluop_prefetch(from + b);
    }
  }
}

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
    if (channels.want_slopes) value[k] = load_channels(pixel, k, channels.part, is_half);
  }
  for (uint32_t i = begin; i < end; i++) {
    const struct roi_pool_contribution *contribution = &group->contributions[i];
    const char *gradient = gradients + group->bins[contribution->bin].gradient * element;
    const vf weight = vf_set(contribution->weight);
    vf dot[2];
    MLUOP_UNROLL
    for (int k = 0; k < channels.count; k++) {
      const vf g = vf_opaque(load_channels(gradient, k, channels.part, is_half));
      sum[k] = vf_fma(weight, g, sum[k]);
      if (!channels.want_slopes) continue;
      if (k < 2) {
        dot[k] = g * value[k];
      } else {
        dot[k % 2] = vf_fma(g, value[k], dot[k % 2]);
      }
    }
    if (!channels.want_slopes) continue;
    const vf product = channels.count > 1 ? (vf)(dot[0] + dot[1]) : dot[0];
    float *x = group->slopes[contribution->bin][0], *y = group->slopes[contribution->bin][1];
    vf_store(x, vf_fma(vf_set(contribution->x), product, vf_load(x)));
    vf_store(y, vf_fma(vf_set(contribution->y), product, vf_load(y)));
  }
  MLUOP_UNROLL
  for (int k = 0; k < channels.count; k++) {
    const vf total = load_channels(sums, k, channels.part, 0) + sum[k];
    if (channels.part == VL) {
      vf_store(sums + k * VL, total);
    } else {
      vf_store_part(sums, total, channels.part);
    }
  }
}

/* All pixels of the block. */
MLUOP_INLINE void sum_pixels(const struct roi_pool_args *a, struct roi_block *block,
                             struct roi_pool_group *group, struct channels channels, int is_half) {
  const int64_t rows = block->rows.end - block->rows.begin,
                cols = block->cols.end - block->cols.begin;
  const int64_t strip = INT64_C(1) << strip_shift(a), element = is_half ? 2 : 4;
  const int64_t rest = a->shape.C - channels.first;
  const uint32_t *contributions = group->starts;
  for (int64_t left = 0; left < cols; left += strip) {
    for (int64_t y = 0; y < rows; y++) {
      for (int64_t x = left; x < left + strip; x++, contributions++) {
        if (contributions[0] == contributions[1]) continue;
        const int64_t at = (pixel_of(a, block, y, x) + channels.first) * element;
        const char *pixel = channels.want_slopes ? (const char *)a->data.input + at : NULL;
        float *sums = block->sums + y * block->pitch + x * block->stride + channels.first;
        if (y + 1 < rows && contributions[strip] != contributions[strip + 1]) {
          if (channels.want_slopes) {
            prefetch_some(pixel + a->shape.W * a->shape.C * element, rest * element, 0);
          }
          if (a->plan.in_place) prefetch_some((const char *)(sums + block->pitch), rest * 4, 1);
        }
        touch(block, y, UINT64_C(1) << x);
        sum_contributions(a, group, contributions[0], contributions[1], sums, pixel, channels,
                          is_half);
      }
    }
  }
}

MLUOP_INLINE void sum_channels(const struct roi_pool_args *a, struct roi_block *block,
                               struct roi_pool_group *group, int want_slopes, int is_half) {
  struct channels channels = {0, VL, VECTORS, want_slopes};
  for (; channels.first + VECTORS * VL <= a->shape.C; channels.first += VECTORS * VL) {
    sum_pixels(a, block, group, channels, is_half);
  }
  channels.count = 4;
  for (; channels.first + 4 * VL <= a->shape.C; channels.first += 4 * VL) {
    sum_pixels(a, block, group, channels, is_half);
  }
  channels.count = 1;
  for (; channels.first + VL <= a->shape.C; channels.first += VL) {
    sum_pixels(a, block, group, channels, is_half);
  }
  channels.part = a->shape.C - channels.first;
  if (channels.part > 0) sum_pixels(a, block, group, channels, is_half);
}

static void sum_group(const struct roi_pool_args *a, struct roi_block *block,
                      struct roi_pool_group *group, int64_t list) {
  sort_contributions(a, group);
  if (a->data.offset != NULL) {
    if (a->shape.is_half) {
      sum_channels(a, block, group, 1, 1);
    } else {
      sum_channels(a, block, group, 1, 0);
    }
  } else if (a->shape.is_half) {
    sum_channels(a, block, group, 0, 1);
  } else {
    sum_channels(a, block, group, 0, 0);
  }
  for (int64_t b = 0; keeps_slopes(a, list) && b < group->bin_count; b++) {
    *slopes_at(a, group->bins[b].entry, list) = (struct roi_pool_slopes){
        vf_sum(vf_load(group->slopes[b][0])), vf_sum(vf_load(group->slopes[b][1]))};
  }
  group->bin_count = group->contribution_count = group->tap_count = 0;
}

/* The bins of a list in groups. */
static void sum_list(const struct roi_pool_args *a, struct roi_block *block,
                     struct roi_pool_group *group, int64_t list) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  for (uint32_t i = blocks->starts[list]; i < blocks->starts[list + 1]; i++) {
    const uint32_t entry = blocks->entries[i];
    if (i % ROI_POOL_QUESTION == 0 && mluop_interrupted(a->interrupt)) break;
    if (!has_room(group, block)) sum_group(a, block, group, list);
    if (take_bin(a, block, group, entry)) {
      prefetch_gradient(a, entry);
    } else if (keeps_slopes(a, list)) {
      *slopes_at(a, entry, list) = (struct roi_pool_slopes){0};
    }
  }
  if (group->bin_count > 0) sum_group(a, block, group, list);
}

/* Item: a block of grad_input. It belongs to one thread, which adds the bins in the order of the
   lists: the sum for an element does not depend on the number of threads. */
void MLUOP_VARIANT(roi_pool_add_pixels)(const void *vargs, int64_t begin, int64_t end,
                                        void *scratch) {
  const struct roi_pool_args *a = vargs;
  struct roi_pool_group *group = (void *)((char *)scratch + a->blocks.buffer_bytes);
  group->taps = (void *)(group + 1);
  group->bin_count = group->contribution_count = group->tap_count = 0;
  for (int64_t list = begin; list < end; list++) {
    struct roi_block block;
    start_block(a, list, scratch, &block);
    sum_list(a, &block, group, list);
    sum_list(a, &block, group, a->blocks.count + block.image);
    if (!a->plan.in_place) store_block(a, &block);
  }
  if (a->plan.stream) vf_stream_end();
}
