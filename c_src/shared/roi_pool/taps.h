/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_TAPS_H_
#define MLUOP_SHARED_ROI_POOL_TAPS_H_

/* Merges the samples of a bin along each axis into one tap per pixel row or column.

   A sample touches its pixels even with weight 0, and 0 * infinity is NaN. So that merging changes
   nothing, a pixel that some samples touch with weight 0 and others with more gets a second tap, of
   weight 0. */

#include "shared/bilinear.h"
#include "shared/roi_pool/bin.h"

/* Up to so many samples between the same two pixels each one is computed. More of them are counted
   by binary search: exactly if they take at most so many different coordinates, and otherwise at
   the mean of their coordinates before rounding (the roundings of so many different coordinates
   cancel to a few 1e-7 of a weight). */
enum { MANY_SAMPLES = 256 };

/* Up to so many samples of an axis are merged in one loop of floats. */
enum { FEW_SAMPLES = 64 };

/* The sums over the samples so far for a pixel that later samples may touch as well. */
struct pending {
  double weight, slope, step;
  int touched, touched_by_zero;
};

struct merger {
  struct pending low, high; /* of the pixels at, at + 1 */
  int64_t at;
  double mean;       /* 1 / grid */
  struct range clip; /* pixels that get taps */
  struct roi_pool_tap *taps;
  int64_t count;
};

MLUOP_INLINE void put_tap(struct merger *m, int64_t at, const struct pending *sum) {
  if (!sum->touched || at < m->clip.begin || at >= m->clip.end) return;
  m->taps[m->count++] =
      (struct roi_pool_tap){(int32_t)at, (float)(sum->weight * m->mean),
                            (float)(sum->slope * m->mean), (float)(sum->step * m->mean)};
  if (sum->touched_by_zero && sum->weight != 0.0) {
    m->taps[m->count++] = (struct roi_pool_tap){.at = (int32_t)at};
  }
}

/* Makes `at` the lower of the two pending pixels; it is not below the present one. */
MLUOP_INLINE void move_to(struct merger *m, int64_t at) {
  if (at == m->at) return;
  const struct pending none = {0};
  put_tap(m, m->at, &m->low);
  if (at == m->at + 1) {
    m->low = m->high;
  } else {
    put_tap(m, m->at + 1, &m->high);
    m->low = none;
  }
  m->high = none;
  m->at = at;
}

/* `count` samples between the same pixels: their mean fraction of the way from low to high, and
   their mean coordinate before clamping. */
MLUOP_INLINE void add_samples(struct merger *m, int64_t count, const struct mluop_axis *where,
                              double at, double frac_low, double frac_high) {
  const double n = (double)count;
  move_to(m, where->low);
  m->low.weight += n * frac_low;
  m->low.slope += n * ((double)where->high - at);
  m->low.step -= n;
  m->low.touched = 1;
  struct pending *high = where->high == where->low ? &m->low : &m->high;
  high->weight += n * frac_high;
  high->slope += n * (at - (double)where->low);
  high->step += n;
  high->touched = 1;
  high->touched_by_zero |= frac_high == 0.0;
}

/* Samples at one and the same coordinate, which is inside. */
MLUOP_INLINE void add_coordinate(struct merger *m, int64_t count, float at, int64_t extent) {
  struct mluop_axis where = {0};
  if (!mluop_axis_at(at, extent, &where)) return;
  add_samples(m, count, &where, (double)at, (double)(1.0f - where.frac), (double)where.frac);
}

/* The end of the samples that lie between the same two pixels as sample `begin`, and on the same
   side of 0, up to which coordinates are clamped. */
static inline int64_t cell_end(const struct axis *axis, struct range samples, float at) {
  if (at < 0.0f) return first_sample_from(axis, samples.begin, samples.end, 0.0f);
  const int64_t low = (int64_t)at;
  if (low >= axis->extent - 1) return samples.end;
  const float next = (float)(low + 1); /* from 2^24 on, it may be rounded down to `at` */
  return first_sample_from(axis, samples.begin, samples.end, next > at ? next : next_above(at));
}

/* All samples of one cell, which are many, by their distinct coordinates or by their mean. */
static inline void add_cell(struct merger *m, const struct axis *axis, struct range cell) {
  const float first = sample_at(axis, cell.begin), last = sample_at(axis, cell.end - 1);
  const int64_t distinct = (int64_t)mluop_bits_of_float(last) - (int64_t)mluop_bits_of_float(first);
  if (distinct < MANY_SAMPLES && distinct > -MANY_SAMPLES) {
    for (int64_t i = cell.begin; i < cell.end;) {
      const float at = sample_at(axis, i);
      const int64_t begin = i;
      i = at < last ? first_sample_from(axis, i + 1, cell.end, next_above(at)) : cell.end;
      add_coordinate(m, i - begin, at, axis->extent);
    }
    return;
  }
  struct mluop_axis where = {0};
  if (!mluop_axis_at(first, axis->extent, &where)) return;
  if (first == (float)where.low) { /* only a first sample touches a pixel with the weight 0 */
    add_coordinate(m, 1, first, axis->extent);
    cell.begin++;
  }
  const double middle = (double)(cell.begin + cell.end) * 0.5; /* of the numbers i + 0.5 */
  const double position = axis->bin < 0.0f ? (double)axis->grid - middle : middle;
  const double at = (double)axis->start + position * (double)axis->bin / (double)axis->grid;
  double frac = first < 0.0f || where.high == where.low ? 0.0 : at - (double)where.low;
  frac = frac < 0.0 ? 0.0 : frac > 1.0 ? 1.0 : frac;
  add_samples(m, cell.end - cell.begin, &where, at, 1.0 - frac, frac);
}

/* All samples of the axis, a cell at a time. */
static __attribute__((noinline)) int64_t merge_any(const struct axis *axis, struct range clip,
                                                   struct roi_pool_tap *taps) {
  const struct range samples = samples_within(axis, clip);
  if (samples.begin >= samples.end) return 0;
  struct merger m = {
      .at = INT64_MIN / 2, .mean = 1.0 / (double)axis->grid, .clip = clip, .taps = taps};
  for (int64_t i = samples.begin; i < samples.end;) {
    const struct range rest = {i, samples.end};
    const struct range cell = {i, cell_end(axis, rest, sample_at(axis, i))};
    if (cell.end - cell.begin > MANY_SAMPLES) {
      add_cell(&m, axis, cell);
      i = cell.end;
    } else {
      for (; i < cell.end; i++) add_coordinate(&m, 1, sample_at(axis, i), axis->extent);
    }
  }
  move_to(&m, INT64_MAX / 2);
  return m.count;
}

MLUOP_INLINE void set_tap(struct roi_pool_tap *tap, int32_t at, float weight, float step,
                          int slopes) {
  tap->at = at;
  tap->weight = weight;
  if (slopes) {
    tap->slope = weight;
    tap->step = step;
  }
}

/* The usual case: few samples, none at the rim of the map, and none with a weight of 0. Returns -1
   if there is one. A sample stores the sums so far of its two pixels: over those of the sample
   before, behind them, or over one of them. */
MLUOP_INLINE int64_t merge_few(const struct axis *axis, int slopes, struct roi_pool_tap *taps) {
  const float mean = 1.0f / (float)axis->grid;
  float previous = -2.0f, low_sum = 0.0f, high_sum = 0.0f, low_step = 0.0f, high_step = 0.0f;
  int special = 0;
  int64_t count = -2;
  for (int64_t i = 0; i < axis->grid; i++) {
    const float at = sample_at(axis, i);
    const int32_t low = (int32_t)at;
    const float frac = at - (float)low, moved = (float)low - previous;
    previous = (float)low;
    special |= frac <= 0.0f;
    if (moved != 0.0f) {
      low_sum = moved == 1.0f ? high_sum : 0.0f;
      low_step = moved == 1.0f ? high_step : 0.0f;
      high_sum = high_step = 0.0f;
      count += moved < 2.0f ? 1 : 2;
    }
    low_sum += (1.0f - frac) * mean;
    high_sum += frac * mean;
    low_step -= mean;
    high_step += mean;
    set_tap(taps + count, low, low_sum, low_step, slopes);
    set_tap(taps + count + 1, low + 1, high_sum, high_step, slopes);
  }
  return special ? -1 : count + 2;
}

/* The same for two samples, the most usual number, without branches that depend on where they lie:
   they share both pixels, or one, or none. */
MLUOP_INLINE int64_t merge_two(const struct axis *axis, int slopes, struct roi_pool_tap *taps) {
  const float a = sample_at(axis, 0), b = sample_at(axis, 1);
  const int32_t low_a = (int32_t)a, low_b = (int32_t)b, distance = low_b - low_a;
  const float frac_a = a - (float)low_a, frac_b = b - (float)low_b;
  if ((frac_a <= 0.0f) | (frac_b <= 0.0f)) return -1;
  const float both = (float)(distance == 0), one = (float)(distance == 1);
  const float a0 = 0.5f * (1.0f - frac_a), a1 = 0.5f * frac_a;
  const float b0 = 0.5f * (1.0f - frac_b), b1 = 0.5f * frac_b;
  set_tap(taps, low_a, a0 + both * b0, -0.5f - 0.5f * both, slopes);
  set_tap(taps + 1, low_a + 1, a1 + both * b1 + one * b0, 0.5f + 0.5f * both - 0.5f * one, slopes);
  set_tap(taps + 2, low_b + (distance == 1), one * b1 + (1.0f - one) * b0, one - 0.5f, slopes);
  set_tap(taps + 3, low_b + 1, b1, 0.5f, slopes);
  return 4 - (distance == 1) - 2 * (distance == 0);
}

MLUOP_INLINE int64_t clip_taps(struct roi_pool_tap *taps, int64_t count, struct range clip) {
  int64_t first = 0;
  while (first < count && taps[first].at < clip.begin) first++;
  while (count > first && taps[count - 1].at >= clip.end) count--;
  for (int64_t i = first; first > 0 && i < count; i++) taps[i - first] = taps[i];
  return count - first;
}

/* The taps of an axis on the pixels in `clip`, in ascending order; their number is returned. There
   are at most two per pixel, and at most four per sample. Without `slopes` only weights are sure to
   be set. */
MLUOP_INLINE int64_t axis_taps(const struct axis *axis, struct range clip, int slopes,
                               struct roi_pool_tap *taps) {
  const struct axis few = safe_axis(axis);
  if (axis->grid > 0 && axis->grid <= FEW_SAMPLES) {
    const float first = sample_at(&few, 0), last = sample_at(&few, few.grid - 1);
    if (first > 0.0f && last < (float)(few.extent - 1)) {
      const int64_t count =
          few.grid == 2 ? merge_two(&few, slopes, taps) : merge_few(&few, slopes, taps);
      if (count >= 0) return clip_taps(taps, count, clip);
    }
  }
  return merge_any(axis, clip, taps);
}

/* Finds the taps of a bin on some rows and columns of its image, from taps->row on; false if there
   are none. */
MLUOP_INLINE int find_taps(const struct roi_pool_args *a, int64_t item, struct range rows,
                           struct range cols, int slopes, struct roi_pool_bin_taps *taps) {
  const struct roi_pool_bin *bin = &a->memory.bins[item];
  const struct axes axes = axes_of(a, bin);
  taps->item = item;
  taps->pooled = bin->index * a->shape.C;
  taps->image = a->memory.rois[bin->roi].image * a->shape.H * a->shape.W;
  taps->cols = 0;
  taps->rows = axis_taps(&axes.y, rows, slopes, taps->row);
  if (taps->rows == 0) return 0;
  taps->col = taps->row + taps->rows;
  taps->cols = axis_taps(&axes.x, cols, slopes, taps->col);
  return taps->cols != 0;
}

/* Part `index` of a range. */
MLUOP_INLINE struct range part_of(struct range all, int64_t index, int64_t size) {
  const int64_t begin = all.begin + index * size;
  return (struct range){begin, begin + size < all.end ? begin + size : all.end};
}

/* The taps of a bin in one of the windows that cover its pixels, and their number: mostly one. */
MLUOP_INLINE int window_taps(const struct roi_pool_args *a, int64_t item, int64_t window,
                             int slopes, struct roi_pool_bin_taps *taps) {
  struct range rows = {0, a->shape.H}, cols = {0, a->shape.W};
  taps->windows = 1;
  if (a->shape.H > ROI_POOL_WINDOW || a->shape.W > ROI_POOL_WINDOW) {
    const struct axes axes = axes_of(a, &a->memory.bins[item]);
    rows = reach(&axes.y);
    cols = reach(&axes.x);
    const int64_t across = (cols.end - cols.begin - 1) / ROI_POOL_WINDOW + 1;
    taps->windows = ((rows.end - rows.begin - 1) / ROI_POOL_WINDOW + 1) * across;
    rows = part_of(rows, window / across, ROI_POOL_WINDOW);
    cols = part_of(cols, window % across, ROI_POOL_WINDOW);
  }
  return find_taps(a, item, rows, cols, slopes, taps);
}

#endif /* MLUOP_SHARED_ROI_POOL_TAPS_H_ */
