/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/job.h"
#include "families/psamask/kernels.h"
#include "families/psamask/window.h"
#include "families/psamask/writer.h"
#include "shared/move.h"

/* Collect moves a window: to rows first to last - 1 of the target's `to_rows` rows of `to_pitch`,
   runs that fill the columns begin to end - 1. In the source they are `from_pitch` apart. All else
   is zero. */
struct patch {
  const float *from;
  int64_t from_pitch;
  int64_t to_rows, to_pitch;
  int64_t first, last, begin, end;
};

static struct patch patch_of(const struct psamask_args *a, int64_t pixel, int forward) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  const struct window rows = window_of(pixel % map / a->W, a->H, a->h_mask);
  const struct window cols = window_of(pixel % a->W, a->W, a->w_mask);
  const int64_t in_map = rows.begin * a->W + cols.begin;
  const int64_t in_mask = (rows.begin + rows.origin) * a->w_mask + cols.begin + cols.origin;
  if (forward) {
    return (struct patch){.from = a->source + pixel * mask + in_mask,
                          .from_pitch = a->w_mask,
                          .to_rows = a->H,
                          .to_pitch = a->W,
                          .first = rows.begin,
                          .last = rows.end,
                          .begin = cols.begin,
                          .end = cols.end};
  }
  return (struct patch){.from = a->source + pixel * map + in_map,
                        .from_pitch = a->W,
                        .to_rows = a->h_mask,
                        .to_pitch = a->w_mask,
                        .first = rows.begin + rows.origin,
                        .last = rows.end + rows.origin,
                        .begin = cols.begin + cols.origin,
                        .end = cols.end + cols.origin};
}

static void collect_direct(const struct psamask_args *a, int64_t begin, int64_t end, int forward) {
  float *to = a->target + begin * (forward ? a->H * a->W : a->h_mask * a->w_mask);
  for (int64_t pixel = begin; pixel < end; pixel++) {
    const struct patch p = patch_of(a, pixel, forward);
    const int64_t run = p.end - p.begin, gap = p.to_pitch - run;
    int64_t zeros = p.first * p.to_pitch + p.begin;
    const float *from = p.from;
    for (int64_t row = p.first; row < p.last; row++, from += p.from_pitch) {
      if (zeros > 0) zero_run(to, zeros);
      move_run(to + zeros, from, run);
      to += zeros + run;
      zeros = gap;
    }
    zeros = (p.to_rows - p.last) * p.to_pitch + p.to_pitch - p.end;
    zero_run(to, zeros);
    to += zeros;
  }
}

/* `ahead` floats further on in the source is what will be read soon. As in distribute, the lines of
   both halves of a run come in turn where runs are far apart. */
MLUOP_INLINE void prefetch_ahead(const float *from, int64_t run, int64_t ahead, int far) {
  const uintptr_t next = (uintptr_t)from + (uintptr_t)ahead * sizeof(float);
  const uintptr_t bytes = (uintptr_t)run * sizeof(float);
  const uintptr_t half = far ? (bytes / LINE_BYTES + 1) / 2 * LINE_BYTES : 0;
  for (uintptr_t line = half; line < bytes; line += LINE_BYTES) {
    mluop_prefetch((const void *)(next + line));
    if (half > 0) mluop_prefetch((const void *)(next + line - half));
  }
  mluop_prefetch((const void *)(next + bytes - 1));
}

/* Lines leave a few at a time: reading stops while many are written. */
enum { GROUP = 256 };

static void stream_in_order(const struct psamask_args *a, int64_t begin, int64_t end, float *buffer,
                            int forward) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  struct writer w;
  writer_begin(&w, a->target + begin * (forward ? map : mask), buffer, 0);
  for (int64_t pixel = begin; pixel < end; pixel++) {
    const struct patch p = patch_of(a, pixel, forward);
    const int64_t run = p.end - p.begin, gap = p.to_pitch - run;
    int64_t zeros = p.first * p.to_pitch + p.begin;
    const float *from = p.from;
    for (int64_t row = p.first; row < p.last; row++, from += p.from_pitch) {
      prefetch_ahead(from, run, forward ? mask - 1 : map, 0);
      writer_zeros(&w, zeros);
      writer_run(&w, from, run);
      if (w.filled - w.sent > GROUP) writer_send(&w);
      zeros = gap;
    }
    writer_zeros(&w, (p.to_rows - p.last) * p.to_pitch + p.to_pitch - p.end);
  }
  writer_end(&w);
}

/* Two pixels are written together, a row of each in turn: each reads and writes pages of its own,
   and while one waits for the memory, the other goes on. */
struct pixel_writer {
  struct writer writer;
  struct patch patch;
};

/* (Not inlined: measured faster by a quarter.) */
__attribute__((noinline)) static void stream_row(struct pixel_writer *pixel, int64_t row,
                                                 int64_t ahead, int far) {
  struct patch *p = &pixel->patch;
  writer_send(&pixel->writer); /* what the row before has completed */
  if (row < p->first || row >= p->last) {
    writer_zeros(&pixel->writer, p->to_pitch);
    return;
  }
  const int64_t run = p->end - p->begin;
  prefetch_ahead(p->from, run, ahead, far);
  writer_zeros(&pixel->writer, p->begin);
  writer_run(&pixel->writer, p->from, run);
  writer_zeros(&pixel->writer, p->to_pitch - p->end);
  p->from += p->from_pitch;
}

static void stream_in_pairs(const struct psamask_args *a, int64_t begin, int64_t end,
                            float *buffers) {
  const int64_t map = a->H * a->W, ahead = 2 * (a->h_mask * a->w_mask - 1);
  const int far = a->w_mask - a->W >= 3 * LINE_FLOATS;
  struct pixel_writer one, other;
  writer_begin(&one.writer, a->target + begin * map, buffers, 0);
  int64_t pixel = begin;
  for (; pixel + 2 <= end; pixel += 2) {
    one.patch = patch_of(a, pixel, 1);
    other.patch = patch_of(a, pixel + 1, 1);
    writer_begin(&other.writer, a->target + (pixel + 1) * map, buffers + WRITER_FLOATS, 1);
    for (int64_t row = 0; row < a->H; row++) {
      stream_row(&one, row, ahead, far);
      stream_row(&other, row, ahead, far);
    }
    writer_send(&one.writer);
    writer_send(&other.writer);
    writer_join(&one.writer, &other.writer);
    writer_continue(&one.writer, &other.writer);
  }
  if (pixel < end) {
    one.patch = patch_of(a, pixel, 1);
    for (int64_t row = 0; row < a->H; row++) stream_row(&one, row, ahead, far);
  }
  writer_end(&one.writer);
}

void MLUOP_VARIANT(psamask_collect_forward)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  const struct psamask_args *a = vargs;
  if (!a->stream) {
    collect_direct(a, begin, end, 1);
    return;
  }
  if (a->H * a->W < 2 * LINE_FLOATS) { /* no line for each of two */
    stream_in_order(a, begin, end, scratch, 1);
  } else {
    stream_in_pairs(a, begin, end, scratch);
  }
  vf_stream_end();
}

void MLUOP_VARIANT(psamask_collect_backward)(const void *vargs, int64_t begin, int64_t end,
                                             void *scratch) {
  const struct psamask_args *a = vargs;
  if (!a->stream) {
    collect_direct(a, begin, end, 0);
    return;
  }
  stream_in_order(a, begin, end, scratch, 0);
  vf_stream_end();
}
