/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_WRITER_H_
#define MLUOP_FAMILIES_PSAMASK_WRITER_H_

#include "families/psamask/window.h"
#include "shared/move.h"

/* Writes consecutive floats past the caches. They are put together in a buffer, whose first element
   stands for the start of the line that `target` points to, and leave it in whole lines. Several
   writers may write neighbouring parts: the line they share is completed by writer_join. */
struct writer {
  float *target;
  float *buffer;
  int64_t filled, sent;    /* floats of the buffer, whole lines of them */
  int64_t skipped;         /* floats of the first line, still in the buffer, that are not ours */
  int shares_first_line;   /* with the writer before */
  float head[LINE_FLOATS]; /* which then waits here */
};

enum {
  WRITER_FLOATS = 512, /* of a buffer */
  WRITER_CHUNK = 256   /* floats added at once */
};

MLUOP_INLINE void copy_line(float *to, const float *from) {
  for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_store(to + i, vf_load(from + i));
}

MLUOP_INLINE void stream_line(float *to, const float *from) {
  for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_stream(to + i, vf_load(from + i));
}

static inline void writer_begin(struct writer *w, float *target, float *buffer,
                                int shares_first_line) {
  w->skipped = floats_into_line(target);
  w->target = target - w->skipped;
  w->buffer = buffer;
  w->filled = w->skipped;
  w->sent = 0;
  w->shares_first_line = shares_first_line;
}

/* Sends the lines that are complete. */
MLUOP_INLINE void writer_send(struct writer *w) {
  if (w->skipped > 0 && w->filled >= LINE_FLOATS) {
    if (w->shares_first_line) {
      copy_line(w->head, w->buffer);
    } else {
      move_run(w->target + w->skipped, w->buffer + w->skipped, LINE_FLOATS - w->skipped);
    }
    w->skipped = 0;
    w->sent = LINE_FLOATS;
  }
  for (; w->sent + LINE_FLOATS <= w->filled; w->sent += LINE_FLOATS) {
    stream_line(w->target + w->sent, w->buffer + w->sent);
  }
}

/* Sends the line that is shared with `next`, which goes on where `w` ends. */
static inline void writer_join(struct writer *w, const struct writer *next) {
  const int64_t ours = w->filled - w->sent;
  if (ours == 0) return;
  move_run(w->buffer + w->filled, next->head + ours, LINE_FLOATS - ours);
  stream_line(w->target + w->sent, w->buffer + w->sent);
}

/* `w` goes on where `before` ended. */
static inline void writer_continue(struct writer *w, const struct writer *before) {
  copy_line(w->buffer, before->buffer + before->sent);
  w->target = before->target + before->sent;
  w->filled = before->filled - before->sent;
  w->sent = 0;
}

static inline void writer_end(struct writer *w) {
  writer_send(w);
  const int64_t begin = larger(w->sent, w->skipped);
  move_run(w->target + begin, w->buffer + begin, w->filled - begin);
}

/* Where the next n <= WRITER_CHUNK floats go. */
MLUOP_INLINE float *writer_next(struct writer *w, int64_t n) {
  if (w->filled + n > WRITER_FLOATS - LINE_FLOATS) {
    writer_send(w);
    writer_continue(w, w);
  }
  w->filled += n;
  return w->buffer + w->filled - n;
}

MLUOP_INLINE void writer_zeros(struct writer *w, int64_t n) {
  for (; n > WRITER_CHUNK; n -= WRITER_CHUNK) zero_run(writer_next(w, WRITER_CHUNK), WRITER_CHUNK);
  if (n > 0) zero_run(writer_next(w, n), n);
}

MLUOP_INLINE void writer_run(struct writer *w, const float *from, int64_t n) {
  for (; n > WRITER_CHUNK; n -= WRITER_CHUNK, from += WRITER_CHUNK) {
    move_run(writer_next(w, WRITER_CHUNK), from, WRITER_CHUNK);
  }
  move_run(writer_next(w, n), from, n);
}

#endif /* MLUOP_FAMILIES_PSAMASK_WRITER_H_ */
