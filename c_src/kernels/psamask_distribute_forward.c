/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/move.h"
#include "kernels/psamask_lanes.h"

/* rows[j] becomes what the lanes have for target (th, tw + j), j < height. */
MLUOP_INLINE void gather_tile(vf rows[VL], const float *masks, const struct lanes *l, int64_t shift,
                              int64_t tw, int64_t height) {
  if (l->count < VL || l->all_begin > tw || l->all_end < tw + height) {
    for (int i = 0; i < VL; i++) {
      rows[i] = vf_load_span(masks + l->at[i] + shift + tw, l->begin[i] - tw, l->end[i] - tw);
    }
  } else if (height < VL) {
    for (int i = 0; i < VL; i++) rows[i] = vf_load_part(masks + l->at[i] + shift + tw, height);
  } else {
    for (int i = 0; i < VL; i++) rows[i] = vf_load(masks + l->at[i] + shift + tw);
  }
  vf_transpose(rows);
}

/* Targets (th, begin) to (th, end - 1) of y; row tw of it is at `out` + (tw - begin) * pitch. */
struct slab {
  const float *masks; /* x of the image */
  int64_t th, begin, end;
  float *out;
  int64_t pitch;
};

MLUOP_INLINE void store_tile(const vf rows[VL], float *out, int64_t pitch, int64_t height,
                             int64_t width) {
  if (height == VL && width == VL) {
    for (int j = 0; j < VL; j++) vf_store(out + j * pitch, rows[j]);
    return;
  }
  for (int j = 0; j < VL; j++) {
    if (j < height) vf_store_part(out + j * pitch, rows[j], width);
  }
}

MLUOP_INLINE void slab_tile(const struct slab *s, const struct lanes *l, int64_t shift, int64_t tw,
                            float *out, int64_t pitch) {
  vf rows[VL];
  const int64_t height = smaller(VL, s->end - tw);
  if (l->any_end <= tw || l->any_begin >= tw + height) {
    for (int j = 0; j < VL; j++) rows[j] = vf_set(0.0f);
  } else {
    gather_tile(rows, s->masks, l, shift, tw, height);
  }
  store_tile(rows, out, pitch, height, l->count);
}

/* Streamed, a panel of rows of y is put together in a buffer, and written while the next panel is
   put together in another: reading and writing overlap. */
enum {
  PANEL_TARGETS = 128, /* rows of y in a panel */
  PANEL_PIXELS = 256,
  PANEL_PITCH = PANEL_PIXELS + LINE_FLOATS, /* no power of two: the rows must not share a set */
  PANEL_FLOATS = PANEL_TARGETS * PANEL_PITCH
};

struct panel {
  const float *buffer;
  float *out; /* where the first row goes; the others follow at the pitch of the slab */
  int64_t rows, width;
  int64_t written; /* rows */
};

static void write_panel_row(struct panel *panel, int64_t pitch) {
  const int64_t row = panel->written++;
  stream_bytes(panel->out + row * pitch, panel->buffer + row * PANEL_PITCH,
               panel->width * (int64_t)sizeof(float));
}

/* Prefetches what the slab needs of the lanes. In one go, and the lines of a lane one after the
   other: the memory is faster in that order than with a line of each lane for each tile. */
static void prefetch_lanes(const struct slab *s, const struct lanes *l, int64_t shift) {
  for (int64_t i = 0; i < l->count; i++) {
    const int64_t begin = larger(s->begin, l->begin[i]), end = smaller(s->end, l->end[i]);
    if (begin >= end) continue;
    const uintptr_t row = (uintptr_t)s->masks + (uintptr_t)(l->at[i] + shift) * sizeof(float);
    const uintptr_t row_end = row + (uintptr_t)end * sizeof(float);
    uintptr_t line = (row + (uintptr_t)begin * sizeof(float)) / LINE_BYTES * LINE_BYTES;
    for (; line < row_end; line += LINE_BYTES) mluop_prefetch((const void *)line);
  }
}

/* Puts one panel together in `buffer`, and writes `before` meanwhile. */
static void fill_panel(const struct psamask_args *a, const struct slab *s, float *buffer, int64_t p,
                       int64_t p_end, struct panel *before) {
  const int64_t shift = s->th * a->w_mask, rows = s->end - s->begin;
  const int64_t blocks = (p_end - p + VL - 1) / VL, tiles = blocks * ((rows + VL - 1) / VL);
  struct lanes lanes[2];
  set_lanes(&lanes[0], a, p, smaller(VL, p_end - p));
  int64_t due = 0;
  for (int64_t block = 0; block < blocks; block++, p += VL) {
    const struct lanes *l = &lanes[block & 1];
    struct lanes *next = &lanes[~block & 1];
    set_lanes(next, a, smaller(p + VL, a->H * a->W - 1),
              smaller(VL, larger(1, a->H * a->W - p - VL)));
    prefetch_lanes(s, next, shift);
    for (int64_t row = 0; row < rows; row += VL) {
      slab_tile(s, l, shift, s->begin + row, buffer + row * PANEL_PITCH + block * VL, PANEL_PITCH);
      for (due += before->rows; due >= tiles && before->written < before->rows; due -= tiles) {
        write_panel_row(before, s->pitch);
      }
    }
  }
}

static void forward_panels(const struct psamask_args *a, const struct slab *s, int64_t p,
                           int64_t p_end, float *buffers) {
  struct panel before = {.rows = 0};
  int which = 0;
  /* Panels end with a line, in every row if the rows have whole lines. */
  int64_t width = PANEL_PIXELS - LINE_FLOATS + floats_to_line(s->out + p);
  for (; p < p_end; p += width, width = PANEL_PIXELS) {
    width = smaller(width, p_end - p);
    float *buffer = buffers + which * PANEL_FLOATS;
    fill_panel(a, s, buffer, p, p + width, &before);
    while (before.written < before.rows) write_panel_row(&before, s->pitch);
    before = (struct panel){
        .buffer = buffer, .out = s->out + p, .rows = s->end - s->begin, .width = width};
    which = !which;
  }
  while (before.written < before.rows) write_panel_row(&before, s->pitch);
}

static void forward_slab(const struct psamask_args *a, const struct slab *s, float *buffers) {
  const int64_t map = a->H * a->W;
  /* The pixels that reach th are those of these rows. */
  const int64_t reach = (a->h_mask - 1) / 2;
  const int64_t p_begin = larger(0, s->th + reach - a->h_mask + 1) * a->W;
  const int64_t p_end = smaller(a->H, s->th + reach + 1) * a->W;
  for (int64_t tw = s->begin; tw < s->end; tw++) {
    float *row = s->out + (tw - s->begin) * s->pitch;
    zero_long_run(row, p_begin, a->stream);
    zero_long_run(row + p_end, map - p_end, a->stream);
  }
  if (a->stream) {
    forward_panels(a, s, p_begin, p_end, buffers);
    return;
  }
  struct lanes lanes;
  for (int64_t p = p_begin; p < p_end; p += VL) {
    set_lanes(&lanes, a, p, smaller(VL, p_end - p));
    for (int64_t tw = s->begin; tw < s->end; tw += VL) {
      slab_tile(s, &lanes, s->th * a->w_mask, tw, s->out + (tw - s->begin) * s->pitch + p,
                s->pitch);
    }
  }
}

void MLUOP_VARIANT(psamask_distribute_forward)(const void *vargs, int64_t begin, int64_t end,
                                               void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  while (begin < end) {
    const int64_t at = begin % map;
    struct slab slab = {.masks = a->source + (begin - at) * mask,
                        .th = at / a->W,
                        .begin = at % a->W,
                        .out = a->target + begin * map,
                        .pitch = map};
    slab.end = smaller(a->W, slab.begin + end - begin);
    if (a->stream) slab.end = smaller(slab.end, slab.begin + PANEL_TARGETS);
    forward_slab(a, &slab, scratch);
    begin += slab.end - slab.begin;
  }
  if (a->stream) vf_stream_end();
}
