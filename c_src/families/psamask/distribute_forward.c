/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/pixels.h"
#include "shared/move.h"

/* A slab of y: targets (th, begin) to (th, end - 1), of which `out` is the first. It is written in
   blocks of LINE_FLOATS pixels: one line of each of its rows. */
struct slab {
  const struct psamask_args *a;
  const float *masks; /* x of the image */
  int64_t th, begin, end;
  int64_t p_end; /* pixels that reach th: those before */
  float *out;
  int covers; /* all masks reach all of its targets */
  int far;    /* the runs of a pixel are lines apart */
};

/* Some pixels in a row, and the part of their masks that the slab needs. */
struct block {
  int64_t p, count;
  int full;                  /* no pixel is missing, and all masks reach all targets of the slab */
  int64_t runs[LINE_FLOATS]; /* where target (th, 0) would be in x */
  int64_t begin[LINE_FLOATS], end[LINE_FLOATS]; /* unless full: the targets tw in the mask */
  int64_t all_begin, all_end;                   /* of all */
};

enum {
  SLAB_TARGETS = 128, /* in a slab that is streamed */
  AHEAD = 3,          /* blocks between the prefetch of a block and its use */
  /* Of a row of y: a block of pixels and, before it, the block before. */
  ROW_FLOATS = 2 * LINE_FLOATS
};

/* For pixels of the columns w. */
MLUOP_INLINE void set_spans(struct block *b, const struct slab *s, const int64_t w[LINE_FLOATS]) {
  b->all_begin = s->begin;
  b->all_end = s->end;
  b->full = s->covers && b->count == LINE_FLOATS;
  if (b->full) return;
  for (int64_t i = 0; i < LINE_FLOATS; i++) {
    const struct window cols = window_of(w[i], s->a->W, s->a->w_mask);
    b->begin[i] = larger(s->begin, cols.begin);
    b->end[i] = i < b->count ? smaller(s->end, cols.end) : 0;
    b->all_begin = larger(b->all_begin, b->begin[i]);
    b->all_end = smaller(b->all_end, b->end[i]);
  }
}

/* The block that `pixel` begins. */
static void set_block(struct block *b, const struct slab *s, struct pixel *pixel, int64_t count) {
  const struct psamask_args *a = s->a;
  b->p = pixel->p;
  b->count = smaller(count, s->p_end - pixel->p);
  if (b->count == 0) return;
  const int64_t run = pixel->at + s->th * a->w_mask;
  int64_t w[LINE_FLOATS];
  if (a->W < LINE_FLOATS) {
    struct pixel next = *pixel;
    for (int64_t i = 0; i < LINE_FLOATS; i++, next_pixel(&next, a)) {
      w[i] = next.w;
      b->runs[i] = run + (i < b->count ? next.at - pixel->at : 0);
    }
  } else {
    const int64_t step = a->h_mask * a->w_mask - 1, left = a->W - pixel->w;
    for (int64_t i = 0; i < LINE_FLOATS; i++) {
      w[i] = pixel->w + i - (i >= left ? a->W : 0);
      b->runs[i] = run + i * step + (i >= left ? a->W - a->w_mask : 0);
    }
  }
  set_spans(b, s, w);
  skip_pixels(pixel, b->count, a);
}

/* Moves targets tw to tw + VL - 1 of a block to `out`, where row j is for target tw + j. (Not
   inlined, or the compiler keeps the addresses of all runs, for which there are no registers.) */
__attribute__((noinline)) static void move_tiles(const float *masks, const int64_t *runs,
                                                 int64_t tw, float *out, int64_t pitch) {
  for (int64_t first = 0; first < LINE_FLOATS; first += VL) {
    vf rows[VL];
    for (int i = 0; i < VL; i++) rows[i] = vf_load(masks + (runs[first + i] + tw));
    vf_transpose(rows);
    for (int j = 0; j < VL; j++) vf_store(out + j * pitch + first, rows[j]);
  }
}

/* The same where masks end, pixels are missing, or the slab has fewer targets. */
static void move_tile_part(const struct slab *s, const struct block *b, int64_t first, int64_t tw,
                           float *out, int64_t pitch) {
  const int64_t height = smaller(VL, s->end - tw), width = smaller(VL, b->count - first);
  vf rows[VL];
  for (int i = 0; i < VL; i++) {
    const float *from = s->masks + (b->runs[first + i] + tw);
    const int64_t begin = b->full ? tw : b->begin[first + i];
    const int64_t end = b->full ? s->end : b->end[first + i];
    /* Where nothing is wanted of a line, it is not even loaded with an empty mask. */
    rows[i] = begin < tw + VL && end > tw ? vf_load_span(from, begin - tw, end - tw) : vf_set(0.0f);
  }
  vf_transpose(rows);
  for (int j = 0; j < height; j++, out += pitch) vf_store_part(out, rows[j], width);
}

/* Prefetches the run of pixel i. In ascending order, the CPU fetches what lies between the runs as
   well. That helps where it is little; else lines of both halves of the run come in turn. (Inlined,
   or GCC takes it for a function without effect.) */
MLUOP_INLINE void prefetch_run(const struct slab *s, const struct block *b, int64_t i) {
  const int64_t begin = s->covers ? s->begin : b->begin[i], end = s->covers ? s->end : b->end[i];
  if (begin >= end) return;
  const uintptr_t run = (uintptr_t)s->masks + (uintptr_t)(b->runs[i] + begin) * sizeof(float);
  const uintptr_t bytes = (uintptr_t)(end - begin) * sizeof(float);
  const uintptr_t half = s->far ? (bytes / LINE_BYTES + 1) / 2 * LINE_BYTES : 0;
  for (uintptr_t line = half; line < bytes; line += LINE_BYTES) {
    mluop_prefetch((const void *)(run + line));
    if (half > 0) mluop_prefetch((const void *)(run + line - half));
  }
  mluop_prefetch((const void *)(run + bytes - 1));
}

/* The line of a row of y that this block completes. `row` has the block, after the block before. */
MLUOP_INLINE void put_line(float *row, float *out) {
  const int64_t offset = floats_into_line(out);
  for (int i = 0; i < LINE_FLOATS; i += VL) {
    vf_stream(out - offset + i, vf_load(row + LINE_FLOATS - offset + i));
  }
}

/* For the first and the last block of a row: what there is of lines. */
static void put_edge(float *row, float *out, int64_t count, int is_first, int is_last) {
  const int64_t offset = floats_into_line(out);
  const int64_t begin = is_first ? 0 : -offset;
  const int64_t end = is_last ? count : smaller(count, LINE_FLOATS - offset);
  move_run(out + begin, row + LINE_FLOATS + begin, end - begin);
}

MLUOP_INLINE void put_rows(const struct slab *s, const struct block *b, float *row, float *out,
                           int64_t height, int is_first) {
  const int64_t pitch = s->a->H * s->a->W;
  const int is_last = b->p + b->count == s->p_end;
  if (is_first || is_last) {
    for (int64_t j = 0; j < height; j++) {
      put_edge(row + j * ROW_FLOATS, out + j * pitch, b->count, is_first, is_last);
    }
  } else {
    for (int64_t j = 0; j < height; j++) put_line(row + j * ROW_FLOATS, out + j * pitch);
  }
  for (int64_t j = 0; j < height; j++, row += ROW_FLOATS) {
    for (int i = 0; i < LINE_FLOATS; i += VL) vf_store(row + i, vf_load(row + LINE_FLOATS + i));
  }
}

MLUOP_INLINE void put_block(const struct slab *s, const struct block *b, const struct block *ahead,
                            float *rows, int is_first, int stream) {
  const int64_t pitch = s->a->H * s->a->W;
  const int64_t tiles = (s->end - s->begin + VL - 1) / VL;
  int64_t due = 0, fetched = 0;
  for (int64_t next = s->begin; next < s->end; next += VL) {
    /* The last tile may overlap the one before. */
    const int64_t tw = larger(s->begin, smaller(next, s->end - VL));
    const int whole = b->all_begin <= tw && tw + VL <= b->all_end;
    float *out = s->out + (tw - s->begin) * pitch + b->p;
    float *row = stream ? rows + (tw - s->begin) * ROW_FLOATS : NULL;
    if (s->a->prefetch) {
      for (due += ahead->count; due >= tiles; due -= tiles) prefetch_run(s, ahead, fetched++);
    }
    float *to = stream ? row + LINE_FLOATS : out;
    if (whole) {
      move_tiles(s->masks, b->runs, tw, to, stream ? ROW_FLOATS : pitch);
    } else {
      for (int64_t first = 0; first < b->count; first += VL) {
        move_tile_part(s, b, first, tw, to + first, stream ? ROW_FLOATS : pitch);
      }
    }
    if (stream) {
      put_rows(s, b, row + (next - tw) * ROW_FLOATS, out + (next - tw) * pitch,
               smaller(VL, s->end - next), is_first);
    }
  }
}

MLUOP_INLINE void forward_slab(const struct slab *s, int64_t p_begin, float *rows, int stream) {
  struct pixel pixel = pixel_at(p_begin, s->a);
  struct block blocks[AHEAD + 1];
  /* Lines end with blocks, in every row if the rows have whole lines. */
  int64_t count = LINE_FLOATS;
  if (s->a->H * s->a->W % LINE_FLOATS == 0) count -= floats_into_line(s->out + p_begin);
  for (int i = 0; i < AHEAD; i++) {
    set_block(&blocks[i], s, &pixel, count);
    count = LINE_FLOATS;
    for (int64_t k = 0; s->a->prefetch && k < blocks[i].count; k++) prefetch_run(s, &blocks[i], k);
  }
  for (int i = 0; blocks[i].count > 0; i = (i + 1) % (AHEAD + 1)) {
    struct block *ahead = &blocks[(i + AHEAD) % (AHEAD + 1)];
    set_block(ahead, s, &pixel, LINE_FLOATS);
    put_block(s, &blocks[i], ahead, rows, blocks[i].p == p_begin, stream);
  }
}

static void put_slab(const struct slab *slab, float *rows) {
  const struct psamask_args *a = slab->a;
  struct slab s = *slab;
  const int64_t map = a->H * a->W;
  /* The pixels that reach th are those of these rows. */
  const int64_t reach = (a->h_mask - 1) / 2;
  const int64_t p_begin = larger(0, s.th + reach - a->h_mask + 1) * a->W;
  s.p_end = smaller(a->H, s.th + reach + 1) * a->W;
  s.covers = window_of(0, a->W, a->w_mask).end >= s.end &&
             window_of(a->W - 1, a->W, a->w_mask).begin <= s.begin;
  s.far = a->w_mask - a->W >= 3 * LINE_FLOATS;
  for (int64_t tw = s.begin; tw < s.end; tw++) {
    float *row = s.out + (tw - s.begin) * map;
    zero_long_run(row, p_begin, a->stream);
    zero_long_run(row + s.p_end, map - s.p_end, a->stream);
  }
  if (a->stream) {
    forward_slab(&s, p_begin, rows, 1);
  } else {
    forward_slab(&s, p_begin, NULL, 0);
  }
}

void MLUOP_VARIANT(psamask_distribute_forward)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  while (begin < end) {
    const int64_t at = begin % map;
    struct slab slab = {.a = a,
                        .masks = a->source + (begin - at) * mask,
                        .th = at / a->W,
                        .begin = at % a->W,
                        .out = a->target + begin * map};
    slab.end = smaller(a->W, slab.begin + end - begin);
    if (a->stream) slab.end = smaller(slab.end, slab.begin + SLAB_TARGETS);
    put_slab(&slab, scratch);
    begin += slab.end - slab.begin;
  }
  if (a->stream) vf_stream_end();
}
