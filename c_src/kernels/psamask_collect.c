/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/move.h"
#include "kernels/psamask.h"
#include "kernels/psamask_window.h"

/* Collect moves a window: `rows` runs of `run` floats, `from_pitch` apart in the source and
   `to_pitch` apart in the target row, which is zero elsewhere. */
struct patch {
  int64_t from, from_pitch;
  int64_t to, to_pitch, to_size;
  int64_t run, rows;
};

/* The target, written from its begin to its end. Streamed, it is put together in `buffer`, whose
   first element stands for the start of the line that `target` points to. Lines leave it a few at a
   time: reading stops while many are written. */
struct writer {
  float *target;
  float *buffer; /* NULL: write to the target itself */
  int64_t filled;
  int64_t skipped; /* floats of the first line that are not ours */
};

enum {
  CHUNK = 1024, /* floats added at once */
  FLUSH = 256   /* and those that may be there already: all have room in the scratch */
};

static void flush_lines(struct writer *w) {
  const int64_t whole = w->filled / LINE_FLOATS * LINE_FLOATS;
  if (whole == 0) return;
  int64_t i = 0;
  if (w->skipped > 0) {
    move_run(w->target + w->skipped, w->buffer + w->skipped, LINE_FLOATS - w->skipped);
    w->skipped = 0;
    i = LINE_FLOATS;
  }
  for (; i < whole; i += VL) vf_stream(w->target + i, vf_load(w->buffer + i));
  for (i = 0; i < LINE_FLOATS; i += VL) vf_store(w->buffer + i, vf_load(w->buffer + whole + i));
  w->target += whole;
  w->filled -= whole;
}

static struct writer writer_begin(float *target, float *buffer) {
  struct writer w = {.target = target, .buffer = buffer};
  if (buffer != NULL) {
    w.skipped = (int64_t)((uintptr_t)target / sizeof(float) % LINE_FLOATS);
    w.target -= w.skipped;
    w.filled = w.skipped;
  }
  return w;
}

static void writer_end(struct writer *w) {
  if (w->buffer == NULL) return;
  flush_lines(w);
  move_run(w->target + w->skipped, w->buffer + w->skipped, w->filled - w->skipped);
  vf_stream_end();
}

/* Where the next n <= CHUNK floats go. */
MLUOP_INLINE float *writer_next(struct writer *w, int64_t n, int stream) {
  if (!stream) {
    float *next = w->target;
    w->target += n;
    return next;
  }
  if (w->filled > FLUSH) flush_lines(w);
  float *next = w->buffer + w->filled;
  w->filled += n;
  return next;
}

MLUOP_INLINE void put_zeros(struct writer *w, int64_t n, int stream) {
  for (; n > CHUNK; n -= CHUNK) zero_run(writer_next(w, CHUNK, stream), CHUNK);
  zero_run(writer_next(w, n, stream), n);
}

MLUOP_INLINE void put_run(struct writer *w, const float *from, int64_t n, int stream) {
  for (; n > CHUNK; n -= CHUNK, from += CHUNK) {
    move_run(writer_next(w, CHUNK, stream), from, CHUNK);
  }
  move_run(writer_next(w, n, stream), from, n);
}

/* `ahead` floats further on in the source is what will be read soon. */
MLUOP_INLINE void put_patch(struct writer *w, const float *source, const struct patch *p,
                            int64_t ahead, int stream) {
  put_zeros(w, p->to, stream);
  const int64_t gap = p->to_pitch - p->run;
  const float *from = source + p->from;
  for (int64_t row = 0; row < p->rows; row++, from += p->from_pitch) {
    if (stream) {
      const uintptr_t next = (uintptr_t)from + (uintptr_t)ahead * sizeof(float);
      for (int64_t i = 0; i < p->run + LINE_FLOATS - 1; i += LINE_FLOATS) {
        mluop_prefetch((const void *)(next + (uintptr_t)i * sizeof(float)));
      }
    }
    put_run(w, from, p->run, stream);
    if (gap > 0 && row + 1 < p->rows) put_zeros(w, gap, stream);
  }
  put_zeros(w, p->to_size - p->to - (p->rows - 1) * p->to_pitch - p->run, stream);
}

MLUOP_INLINE void collect(const struct psamask_args *a, int64_t begin, int64_t end, float *buffer,
                          int forward, int stream) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  struct writer w =
      writer_begin(a->target + begin * (forward ? map : mask), stream ? buffer : NULL);
  for (int64_t pixel = begin; pixel < end; pixel++) {
    const struct window rows = window_of(pixel % map / a->W, a->H, a->h_mask);
    const struct window cols = window_of(pixel % a->W, a->W, a->w_mask);
    const int64_t in_map = rows.begin * a->W + cols.begin;
    const int64_t in_mask = (rows.begin + rows.origin) * a->w_mask + cols.begin + cols.origin;
    const struct patch patch = {
        .from = forward ? pixel * mask + in_mask : pixel * map + in_map,
        .from_pitch = forward ? a->w_mask : a->W,
        .to = forward ? in_map : in_mask,
        .to_pitch = forward ? a->W : a->w_mask,
        .to_size = forward ? map : mask,
        .run = cols.end - cols.begin,
        .rows = rows.end - rows.begin,
    };
    put_patch(&w, a->source, &patch, forward ? mask - 1 : map, stream);
  }
  writer_end(&w);
}

MLUOP_INLINE void collect_as(const struct psamask_args *a, int64_t begin, int64_t end,
                             void *scratch, int forward) {
  if (a->stream) {
    collect(a, begin, end, scratch, forward, 1);
  } else {
    collect(a, begin, end, scratch, forward, 0);
  }
}

void MLUOP_VARIANT(psamask_collect_forward)(const void *args, int64_t begin, int64_t end,
                                            void *scratch) {
  collect_as(args, begin, end, scratch, 1);
}

void MLUOP_VARIANT(psamask_collect_backward)(const void *args, int64_t begin, int64_t end,
                                             void *scratch) {
  collect_as(args, begin, end, scratch, 0);
}
