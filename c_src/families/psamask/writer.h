/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_WRITER_H_
#define MLUOP_FAMILIES_PSAMASK_WRITER_H_

#include "families/psamask/job.h"
#include "shared/move.h"

/* Writes a part of the target from begin to end: directly, or past the caches, in whole lines. Then
   a buffer has a line, which ends with the floats that wait for the rest of theirs, and after it
   what has been put there since. */
struct writer {
  float *next;    /* of the target: what comes after the line in the buffer goes here */
  int64_t before; /* floats that the first line, while it waits, has before the part */
  float *buffer;
  int64_t filled; /* floats after the line */
};

MLUOP_INLINE struct writer writer_at(float *target, float *buffer) {
  return (struct writer){target, floats_into_line(target), buffer, 0};
}

/* Sends the lines that are complete. */
MLUOP_INLINE void writer_flush(struct writer *w) {
  const int64_t waiting = floats_into_line(w->next);
  const float *from = w->buffer + LINE_FLOATS - waiting;
  float *line = w->next - waiting;
  float *const end = w->next + w->filled;
  if (w->before > 0 && line + LINE_FLOATS <= end) {
    move_run(line + w->before, from + w->before, LINE_FLOATS - w->before);
    w->before = 0;
    line += LINE_FLOATS;
    from += LINE_FLOATS;
  }
  for (; line + LINE_FLOATS <= end; line += LINE_FLOATS, from += LINE_FLOATS) {
    for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_stream(line + i, vf_load(from + i));
  }
  from = w->buffer + w->filled;
  for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_store(w->buffer + i, vf_load(from + i));
  w->next = end;
  w->filled = 0;
}

MLUOP_INLINE void writer_end(struct writer *w) {
  writer_flush(w);
  const int64_t count = floats_into_line(w->next) - w->before;
  move_run(w->next - count, w->buffer + LINE_FLOATS - count, count);
}

/* Where the next n <= PSAMASK_ROOM floats are to be put. */
MLUOP_INLINE float *writer_next(struct writer *w, int64_t n, int stream) {
  if (!stream) {
    w->next += n;
    return w->next - n;
  }
  if (w->filled + n > PSAMASK_ROOM) writer_flush(w);
  w->filled += n;
  return w->buffer + LINE_FLOATS + w->filled - n;
}

MLUOP_INLINE void writer_zeros(struct writer *w, int64_t n, int stream) {
  if (stream && n > PSAMASK_ROOM) { /* lines of zeros need no buffer */
    const int64_t head = floats_to_line(w->next + w->filled);
    zero_run(writer_next(w, head, stream), head);
    writer_flush(w);
    float *line = w->next;
    for (n -= head; n >= LINE_FLOATS; n -= LINE_FLOATS, line += LINE_FLOATS) {
      for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_stream(line + i, vf_set(0.0f));
    }
    w->next = line;
  }
  if (n > 0) zero_run(writer_next(w, n, stream), n);
}

MLUOP_INLINE void writer_run(struct writer *w, const float *from, int64_t n, int stream) {
  for (; stream && n > PSAMASK_ROOM; n -= PSAMASK_ROOM, from += PSAMASK_ROOM) {
    move_run(writer_next(w, PSAMASK_ROOM, stream), from, PSAMASK_ROOM);
  }
  move_run(writer_next(w, n, stream), from, n);
}

#endif /* MLUOP_FAMILIES_PSAMASK_WRITER_H_ */
