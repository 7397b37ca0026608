/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/runs.h"

/* Rows th to th_end - 1 of the map, which are rows of y. They are made in blocks of pixels, up to
   the last pixel that reaches them. */
struct slab {
  const struct psamask_args *a;
  const float *masks; /* of the image */
  float *y;
  int64_t th, th_end, p_begin, p_end;
  float *block; /* scratch: of each pixel of a block, what these rows get */
  float *rows;  /* scratch, to stream: for each row of y, the buffer of a writer */
};

/* Blocks between the prefetch of a block and its use: two where all waits for the memory. */
enum { MOST_AHEAD = 2 };

enum { ROW_FLOATS = PSAMASK_PIXELS + LINE_FLOATS };

/* Some pixels. Target t is `t + shift` floats from at[i], of pixel p + i; shift is the same for
   targets side by side. Vectors of pixels are full: the last one is repeated. */
struct pixel_block {
  int64_t p, count;
  const float *at[PSAMASK_PIXELS];
};

/* Where target (0, 0) is in masks that reach all of the map. */
static void find_targets(const struct slab *s, struct pixel_block *b) {
  const struct psamask_args *a = s->a;
  const int64_t mask = a->h_mask * a->w_mask;
  for (int64_t i = 0; i < b->count;) {
    const int64_t p = b->p + i, h = p / a->W, w = p % a->W;
    const int64_t row_end = mluop_min(b->count, i + a->W - w);
    int64_t at = p * mask + window_of(h, a->H, a->h_mask).origin * a->w_mask +
                 window_of(w, a->W, a->w_mask).origin;
    for (; i < row_end; i++, at += mask - 1) b->at[i] = s->masks + at;
  }
}

/* Other masks: what the slab gets of them is put together, with its zeros. */
static void gather_targets(const struct slab *s, struct pixel_block *b) {
  const struct psamask_args *a = s->a;
  const int64_t mask = a->h_mask * a->w_mask;
  for (int64_t i = 0; i < b->count; i++) {
    float *to = s->block + i * a->blocks.pitch;
    struct writer w = {.next = to};
    put_runs(a, b->p + i, s->th, s->th_end, s->masks + (b->p + i) * mask, &w, a->prefetch, 1, 0);
    b->at[i] = to;
  }
}

static void set_block(const struct slab *s, struct pixel_block *b, int64_t p) {
  b->p = p;
  b->count = mluop_min(PSAMASK_PIXELS, s->p_end - p);
  if (b->count == 0) return;
  if (s->a->blocks.whole) {
    find_targets(s, b);
  } else {
    gather_targets(s, b);
  }
  for (int64_t i = b->count; i < PSAMASK_PIXELS; i++) b->at[i] = b->at[b->count - 1];
}

/* VL targets of VL pixels, for VL rows of `to`. (Not inlined, or the compiler keeps the address of
   each run, for which it has no registers.) */
__attribute__((noinline)) static void turn_tile(const float *const *at, int64_t offset, float *to,
                                                int64_t pitch) {
  vf rows[VL];
  for (int i = 0; i < VL; i++) rows[i] = vf_load(at[i] + offset);
  vf_transpose(rows);
  for (int j = 0; j < VL; j++, to += pitch) vf_store(to, rows[j]);
}

/* Only so many rows and columns. */
__attribute__((noinline)) static void turn_part(const float *const *at, int64_t offset, float *to,
                                                int64_t pitch, int64_t height, int64_t width) {
  vf rows[VL];
  for (int i = 0; i < VL; i++) rows[i] = vf_load(at[i] + offset);
  vf_transpose(rows);
  for (int j = 0; j < height; j++, to += pitch) vf_store_part(to, rows[j], width);
}

/* Sends what the block has of rows begin to end - 1 of y. */
static void send_rows(const struct slab *s, const struct pixel_block *b, int64_t begin,
                      int64_t end) {
  const int64_t map = s->a->H * s->a->W;
  float *buffer = s->rows + (begin - s->th * s->a->W) * ROW_FLOATS;
  for (int64_t t = begin; t < end; t++, buffer += ROW_FLOATS) {
    struct writer w = writer_at(s->y + t * map + b->p, buffer);
    if (b->p > s->p_begin) w.before = 0;
    w.filled = b->count;
    if (b->p + b->count == s->p_end) {
      writer_end(&w);
    } else {
      writer_flush(&w);
    }
  }
}

/* Targets begin to end - 1, which lie side by side. The same of a later block is prefetched, a
   few runs after each tile. */
static void put_targets(const struct slab *s, const struct pixel_block *b,
                        const struct pixel_block *next, int64_t begin, int64_t end, int64_t shift) {
  const struct psamask_args *a = s->a;
  const int64_t map = a->H * a->W, pitch = a->stream ? ROW_FLOATS : map;
  const int64_t runs = a->prefetch && a->blocks.whole ? next->count : 0,
                area = b->count * (end - begin);
  int64_t due = 0, fetched = 0;
  for (int64_t first = begin; first < end; first += VL) {
    /* The last tile overlaps the one before, or ends in the padding of scratch. */
    const int64_t t = a->blocks.whole ? mluop_min(first, end - VL) : first,
                  height = mluop_min(VL, end - t);
    float *to =
        a->stream ? s->rows + (t - s->th * a->W) * pitch + LINE_FLOATS : s->y + t * map + b->p;
    for (int64_t i = 0; i < b->count; i += VL) {
      if (a->stream || (height == VL && b->count - i >= VL)) {
        turn_tile(b->at + i, t + shift, to + i, pitch);
      } else {
        turn_part(b->at + i, t + shift, to + i, pitch, height, mluop_min(VL, b->count - i));
      }
      for (due += runs * VL * VL; due >= area && fetched < runs; due -= area, fetched++) {
        prefetch_run(next->at[fetched], begin + shift, end - begin, runs_are_far(a));
      }
    }
    if (a->stream) send_rows(s, b, first, mluop_min(first + VL, end));
  }
}

static void put_slab(const struct slab *s) {
  const struct psamask_args *a = s->a;
  struct pixel_block blocks[MOST_AHEAD + 1]; /* these pixels, and the next ones */
  int64_t p = s->p_begin;
  if (!a->blocks.whole) {
    for (struct pixel_block *b = blocks; p < s->p_end; p += b->count) {
      set_block(s, b, p);
      put_targets(s, b, b, s->th * a->W, s->th_end * a->W, -s->th * a->W);
    }
    return;
  }
  const int ahead = a->stream ? MOST_AHEAD : 1;
  for (int i = 0; i < ahead; p += blocks[i].count, i++) set_block(s, &blocks[i], p);
  for (int i = 0; blocks[i].count > 0; i = (i + 1) % (ahead + 1)) {
    struct pixel_block *next = &blocks[(i + ahead) % (ahead + 1)];
    set_block(s, next, p);
    p += next->count;
    for (int64_t th = s->th; th < s->th_end; th++) {
      put_targets(s, &blocks[i], next, th * a->W, (th + 1) * a->W, th * (a->w_mask - a->W));
    }
  }
}

void MLUOP_VARIANT(psamask_distribute_forward)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask, reach = (a->h_mask - 1) / 2;
  struct slab s = {.a = a, .block = scratch};
  s.rows = s.block + PSAMASK_PIXELS * a->blocks.pitch;
  for (; begin < end; begin += s.th_end - s.th) {
    const int64_t image = begin / a->H;
    s.masks = a->source + image * map * mask;
    s.y = a->target + image * map * map;
    s.th = begin % a->H;
    s.th_end = mluop_min(mluop_min(a->H, s.th + a->blocks.rows), s.th + end - begin);
    s.p_begin = mluop_max(0, s.th + reach - a->h_mask + 1) * a->W;
    s.p_end = mluop_min(a->H, s.th_end + reach) * a->W;
    for (int64_t t = s.th * a->W; t < s.th_end * a->W; t++) {
      zero_long_run(s.y + t * map, s.p_begin, a->stream);
      zero_long_run(s.y + t * map + s.p_end, map - s.p_end, a->stream);
    }
    put_slab(&s);
  }
  if (a->stream) vf_stream_end();
}
