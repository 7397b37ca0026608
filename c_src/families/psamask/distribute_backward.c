/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/runs.h"

/* VL rows, of which each column becomes a run. */
__attribute__((noinline)) static void turn_tile(const float *from, int64_t pitch, float *const *to,
                                                int64_t offset) {
  vf rows[VL];
  for (int j = 0; j < VL; j++, from += pitch) rows[j] = vf_load(from);
  vf_transpose(rows);
  for (int i = 0; i < VL; i++) vf_store(to[i] + offset, rows[i]);
}

/* Only so many rows and columns. */
__attribute__((noinline)) static void turn_part(const float *from, int64_t pitch, float *const *to,
                                                int64_t offset, int64_t height, int64_t width) {
  vf rows[VL];
  for (int j = 0; j < VL; j++) {
    rows[j] = j < height ? vf_load_part(from + j * pitch, width) : vf_set(0.0f);
  }
  vf_transpose(rows);
  for (int i = 0; i < width; i++) vf_store_part(to[i] + offset, rows[i], height);
}

/* The masks of pixels p to p + count - 1 of an image. Rows of y are brought to scratch, a few rows
   of the map at a time, and from there to the masks. */
struct mask_block {
  const struct psamask_args *a;
  const float *dy;
  int64_t p, count;
  float *at[PSAMASK_PIXELS]; /* in scratch, where these rows begin */
  struct writer writers[PSAMASK_PIXELS];
};

/* `targets` rows of dy, whose runs begin `offset` floats from `at`. */
static void take_targets(const struct mask_block *b, int64_t first, int64_t targets,
                         int64_t offset) {
  const int64_t map = b->a->H * b->a->W;
  for (int64_t t = 0; t < targets; t += VL) {
    const int64_t height = mluop_min(VL, targets - t);
    const float *from = b->dy + (first + t) * map + b->p;
    for (int64_t i = 0; i < b->count; i += VL) {
      const int64_t width = mluop_min(VL, b->count - i);
      if (height == VL && width == VL) {
        turn_tile(from + i, map, b->at + i, offset + t);
      } else {
        turn_part(from + i, map, b->at + i, offset + t, height, width);
      }
    }
  }
}

/* (Inlined, or GCC takes it for a function without effect.) */
MLUOP_INLINE void prefetch_targets(const struct mask_block *b, int64_t begin, int64_t end) {
  const int64_t map = b->a->H * b->a->W;
  for (int64_t t = begin; t < end; t++) {
    const float *row = b->dy + t * map + b->p;
    for (int64_t i = 0; i < b->count; i += LINE_FLOATS) mluop_prefetch(row + i);
    mluop_prefetch(row + b->count - 1);
  }
}

/* To stream, scratch has rows of the masks, in which the zeros stay while their runs change. */
static void begin_masks(struct mask_block *b) {
  const struct psamask_args *a = b->a;
  for (int64_t i = 0; i < b->count; i++) {
    const struct window rows = window_of((b->p + i) / a->W, a->H, a->h_mask);
    const struct window columns = window_of((b->p + i) % a->W, a->W, a->w_mask);
    writer_zeros(&b->writers[i], rows.origin * a->w_mask, 1);
    writer_flush(&b->writers[i]);
    zero_run(b->at[i] + LINE_FLOATS, a->blocks.rows * a->w_mask);
    b->at[i] += LINE_FLOATS + columns.origin;
  }
}

static void end_masks(struct mask_block *b) {
  const struct psamask_args *a = b->a;
  for (int64_t i = 0; i < b->count; i++) {
    const struct window rows = window_of((b->p + i) / a->W, a->H, a->h_mask);
    writer_zeros(&b->writers[i], (a->h_mask - a->H - rows.origin) * a->w_mask, 1);
    writer_end(&b->writers[i]);
  }
}

static void put_masks(struct mask_block *b) {
  const struct psamask_args *a = b->a;
  const int64_t first = window_of(b->p / a->W, a->H, a->h_mask).begin;
  const int64_t last = window_of((b->p + b->count - 1) / a->W, a->H, a->h_mask).end;
  if (a->stream) begin_masks(b);
  for (int64_t th = first, th_end; th < last; th = th_end) {
    th_end = mluop_min(last, th + a->blocks.rows);
    const int64_t next =
        a->prefetch ? (mluop_min(last, th_end + a->blocks.rows) - th_end) * a->W : 0;
    if (a->stream) {
      for (int64_t row = th; row < th_end; row++) {
        take_targets(b, row * a->W, a->W, (row - th) * a->w_mask);
      }
    } else {
      take_targets(b, th * a->W, (th_end - th) * a->W, 0);
    }
    for (int64_t i = 0; i < b->count; i++) {
      struct writer w = b->writers[i]; /* a copy, which stores to the masks cannot change */
      const int64_t begin = i * next / b->count, end = (i + 1) * next / b->count;
      prefetch_targets(b, th_end * a->W + begin, th_end * a->W + end);
      if (a->stream) {
        w.filled = (th_end - th) * a->w_mask;
        writer_flush(&w);
      } else {
        put_runs(a, b->p + i, th, th_end, b->at[i], &w, 0, 0, 0);
      }
      b->writers[i] = w;
    }
  }
  if (a->stream) end_masks(b);
}

void MLUOP_VARIANT(psamask_distribute_backward)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  for (struct mask_block b = {.a = a}; begin < end; begin += b.count) {
    b.p = begin % map;
    b.dy = a->source + (begin - b.p) * map;
    /* Blocks begin with a line of dy, in every row if the rows have whole lines. */
    const int64_t most = PSAMASK_PIXELS - floats_into_line(b.dy + b.p);
    b.count = mluop_min(most, mluop_min(end - begin, map - b.p));
    for (int64_t i = 0; i < b.count; i++) {
      b.at[i] = (float *)scratch + i * a->blocks.pitch;
      b.writers[i] = writer_at(a->target + (begin + i) * mask, b.at[i]);
    }
    put_masks(&b);
  }
  if (a->stream) vf_stream_end();
}
