/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_RUNS_H_
#define MLUOP_FAMILIES_PSAMASK_RUNS_H_

/* What moves between the mask of a pixel and rows of the map is a window of both. Its rows are runs
   of equal length, equally far apart on both sides; all else of the target is zero. */

#include "families/psamask/job.h"
#include "families/psamask/writer.h"

/* Along one axis: the targets on the map, begin to end - 1, that a pixel's mask has positions for,
   and the position of target 0, which is outside the mask if the mask does not reach that target.
   A mask always reaches its own pixel: no window is empty. */
struct window {
  int64_t begin, end, origin;
};

MLUOP_INLINE struct window window_of(int64_t pixel, int64_t extent, int64_t mask) {
  const int64_t first = pixel - (mask - 1) / 2;
  struct window window = {first < 0 ? 0 : first, first + mask, -first};
  if (window.end > extent) window.end = extent;
  return window;
}

/* Along one axis: `count` positions from `from` on in the source become those from `to` on of
   `size` in the target. */
struct run_axis {
  int64_t from, to, count, size;
};

/* Where the positions of a target begin. Those outside the map belong to the first or the last
   target that the mask reaches. */
MLUOP_INLINE int64_t position_in_mask(struct window window, int64_t target, int64_t mask) {
  if (target <= window.begin) return 0;
  return target >= window.end ? mask : target + window.origin;
}

/* For targets begin to end - 1 of the map. */
MLUOP_INLINE struct run_axis axis_of(struct window window, int64_t mask, int64_t begin, int64_t end,
                                     int forward) {
  const int64_t first = mluop_max(begin, window.begin), last = mluop_min(end, window.end);
  const int64_t in_map = first - begin, in_mask = first + window.origin;
  const int64_t count = mluop_max(0, last - first);
  if (forward) return (struct run_axis){in_mask, in_map, count, end - begin};
  const int64_t position = position_in_mask(window, begin, mask);
  return (struct run_axis){in_map, in_mask - position, count,
                           position_in_mask(window, end, mask) - position};
}

/* Where runs are far apart, the CPU must not notice that their lines follow each other: it would
   fetch the gap, too. */
MLUOP_INLINE int runs_are_far(const struct psamask_args *a) {
  return a->w_mask - a->W >= 3 * LINE_FLOATS;
}

/* Fetches the run that is `ahead` floats after this one. If runs are far apart, lines of both
   halves come in turn. */
MLUOP_INLINE void prefetch_run(const float *from, int64_t ahead, int64_t count, int far) {
  const uintptr_t run = (uintptr_t)from + (uintptr_t)ahead * sizeof(float);
  const uintptr_t bytes = (uintptr_t)count * sizeof(float);
  const uintptr_t half = far ? (bytes / LINE_BYTES + 1) / 2 * LINE_BYTES : 0;
  for (uintptr_t line = half; line < bytes; line += LINE_BYTES) {
    mluop_prefetch((const void *)(run + line));
    if (half > 0) mluop_prefetch((const void *)(run + line - half));
  }
  mluop_prefetch((const void *)(run + bytes - 1));
}

/* Writes rows th to th_end - 1 of the map from the mask of a pixel, or the other way round what the
   mask has of these rows; `source` is the mask, or row th. Pixels follow each other: with a run
   comes what is needed soon, PSAMASK_AHEAD floats later, or backward a pixel later. */
MLUOP_INLINE void put_runs(const struct psamask_args *a, int64_t pixel, int64_t th, int64_t th_end,
                           const float *source, struct writer *to, int prefetch, int forward,
                           int stream) {
  const int64_t h = pixel / a->W % a->H, w = pixel % a->W;
  const struct run_axis rows =
      axis_of(window_of(h, a->H, a->h_mask), a->h_mask, th, th_end, forward);
  const struct run_axis columns =
      axis_of(window_of(w, a->W, a->w_mask), a->w_mask, 0, a->W, forward);
  const int64_t pitch = forward ? a->w_mask : a->W;
  const int far = forward && runs_are_far(a);
  const int64_t next = forward ? a->h_mask * a->w_mask - 1 : a->H * a->W; /* pixel */
  const int64_t ahead = forward ? PSAMASK_AHEAD / columns.count : rows.count;
  int64_t left = rows.size * columns.size, zeros = rows.to * columns.size + columns.to;
  const float *from = source + (rows.count > 0 ? rows.from * pitch : 0) + columns.from;
  for (int64_t row = 0; row < rows.count; row++, from += pitch) {
    if (prefetch) {
      const int64_t pixels = forward ? (uint32_t)(row + ahead) / (uint32_t)rows.count : 1;
      prefetch_run(from, pixels * next + (ahead - pixels * rows.count) * pitch, columns.count, far);
    }
    writer_zeros(to, zeros, stream);
    writer_run(to, from, columns.count, stream);
    left -= zeros + columns.count;
    zeros = columns.size - columns.count;
  }
  writer_zeros(to, left, stream);
}

#endif /* MLUOP_FAMILIES_PSAMASK_RUNS_H_ */
