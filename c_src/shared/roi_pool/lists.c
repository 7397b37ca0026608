/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/roi_pool/bin.h"
#include "shared/roi_pool/kernels.h"

/* Which bins touch which blocks of grad_input: a counting sort by shares of bins. The shares depend
   on shapes only, and each list has the bins of a share behind those of the shares before it: in
   the order of `bins`, whatever the number of threads. */

/* The pixels of an axis that samples between `start` and `start + bin` may touch, and perhaps a few
   more; those at the rim if there are none. A NaN counts as 0. */
static inline struct range reach(float start, float bin, int64_t extent) {
  const float other = start + bin, rim = (float)(extent - 1);
  float low = other < start ? other : start, high = other < start ? start : other;
  const float slack = 1e-6f * ((high < 0.0f ? -high : high) + (low < 0.0f ? -low : low));
  low = low - slack > 0.0f ? low - slack : 0.0f;
  high = high + slack > 0.0f ? high + slack : 0.0f;
  const int64_t first = (int64_t)(low < rim ? low : rim);
  const int64_t last = (int64_t)(high < rim ? high : rim) + 1;
  return (struct range){first < extent ? first : extent - 1, last < extent ? last + 1 : extent};
}

static struct roi_pool_place place_of(const struct roi_pool_args *a, int64_t i) {
  const struct roi_pool_blocks *blocks = &a->blocks;
  const struct roi_pool_bin *bin = &a->memory.bins[i];
  const struct roi_pool_roi *roi = &a->memory.rois[bin->roi];
  struct range rows, cols;
  if (blocks->boxes != NULL) {
    rows = (struct range){blocks->boxes[i].top, blocks->boxes[i].bottom};
    cols = (struct range){blocks->boxes[i].left, blocks->boxes[i].right};
    if (rows.begin >= rows.end) return (struct roi_pool_place){0, 0, 0, 0};
  } else {
    rows = reach(bin->y, roi->bin_h, a->shape.H);
    cols = reach(bin->x, roi->bin_w, a->shape.W);
  }
  const int64_t top = rows.begin >> blocks->shift_h, left = cols.begin >> blocks->shift_w;
  const int64_t down = ((rows.end - 1) >> blocks->shift_h) - top + 1;
  const int64_t across = ((cols.end - 1) >> blocks->shift_w) - left + 1;
  if (down * across > blocks->max_blocks) {
    return (struct roi_pool_place){(uint32_t)(blocks->count + roi->image), 1, 1, 0};
  }
  const int64_t list = (roi->image * blocks->down + top) * blocks->across + left;
  return (struct roi_pool_place){(uint32_t)list, (uint16_t)down, (uint16_t)across, 0};
}

static struct range share_of(const struct roi_pool_args *a, int64_t share) {
  const int64_t bins = a->shape.R * a->shape.pooled_h * a->shape.pooled_w,
                begin = share * a->blocks.share;
  return (struct range){begin, begin + a->blocks.share < bins ? begin + a->blocks.share : bins};
}

/* Item: a share. Finds the places of its bins, and counts its entries of each list. */
void MLUOP_VARIANT(roi_pool_count)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const struct roi_pool_blocks *blocks = &a->blocks;
  for (int64_t share = begin; share < end; share++) {
    const struct range bins = share_of(a, share);
    uint32_t *counts = blocks->next + share * blocks->lists;
    memset(counts, 0, (size_t)blocks->lists * sizeof(*counts));
    uint32_t slopes = 0;
    for (int64_t i = bins.begin; i < bins.end; i++) {
      struct roi_pool_place place = place_of(a, i);
      place.slopes = slopes;
      if (place.list < blocks->count) slopes += (uint32_t)(place.down * place.across);
      blocks->places[i] = place;
      for (int y = 0; y < place.down; y++) {
        for (int x = 0; x < place.across; x++) counts[place.list + y * blocks->across + x]++;
      }
    }
    blocks->share_slopes[share] = slopes;
  }
}

/* One item: turns the counts into where the entries go. */
void MLUOP_VARIANT(roi_pool_starts)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)begin;
  (void)end;
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const struct roi_pool_blocks *blocks = &a->blocks;
  uint32_t total = 0;
  for (int64_t list = 0; list < blocks->lists; list++) {
    blocks->starts[list] = total;
    for (int64_t share = 0; share < blocks->shares; share++) {
      uint32_t *next = &blocks->next[share * blocks->lists + list];
      const uint32_t count = *next;
      *next = total;
      total += count;
    }
  }
  blocks->starts[blocks->lists] = total;
  uint32_t slopes = 0;
  for (int64_t share = 0; share < blocks->shares; share++) {
    const uint32_t count = blocks->share_slopes[share];
    blocks->share_slopes[share] = slopes;
    slopes += count;
  }
}

/* Item: a share. Puts its bins into the lists. */
void MLUOP_VARIANT(roi_pool_list)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct roi_pool_args *a = vargs;
  const struct roi_pool_blocks *blocks = &a->blocks;
  for (int64_t share = begin; share < end; share++) {
    const struct range bins = share_of(a, share);
    uint32_t *next = blocks->next + share * blocks->lists;
    for (int64_t i = bins.begin; i < bins.end; i++) {
      blocks->places[i].slopes += blocks->share_slopes[share];
      const struct roi_pool_place place = blocks->places[i];
      for (int y = 0; y < place.down; y++) {
        for (int x = 0; x < place.across; x++) {
          blocks->entries[next[place.list + y * blocks->across + x]++] = (uint32_t)i;
        }
      }
    }
  }
}
