/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/pixels.h"
#include "shared/move.h"

/* Reads targets (th, tw) to (th, tw + VL - 1) of `count` pixels from p on; rows[i] becomes what
   belongs to pixel p + i. */
MLUOP_INLINE void load_targets(vf rows[VL], const float *from, int64_t pitch, int64_t height,
                               int64_t width) {
  if (height == VL && width == VL) {
    for (int j = 0; j < VL; j++) rows[j] = vf_load(from + j * pitch);
  } else {
    for (int j = 0; j < VL; j++) {
      rows[j] = vf_load_part(from + smaller(j, height - 1) * pitch, j < height ? width : 0);
    }
  }
  vf_transpose(rows);
}

/* Moves targets (th, tw) to (th, tw + VL - 1) of some pixels from `from`, in rows of H * W, to
   where the masks of the pixels have them. */
MLUOP_INLINE void scatter_tile(const struct psamask_args *a, const float *from, float *masks,
                               const struct pixel_vector *v, int64_t shift, int64_t th,
                               int64_t tw) {
  const int64_t height = smaller(VL, a->W - tw);
  if (v->any_end <= tw || v->any_begin >= tw + height) return;
  vf rows[VL];
  load_targets(rows, from, a->H * a->W, height, v->count);
  if (v->count < VL || v->all_first > th || v->all_last <= th || v->all_begin > tw ||
      v->all_end < tw + height) {
    for (int i = 0; i < VL; i++) {
      const int64_t end = v->first[i] <= th && th < v->last[i] ? v->end[i] - tw : 0;
      vf_store_span(masks + (v->at[i] + shift + tw), rows[i], v->begin[i] - tw, end);
    }
  } else if (height < VL) {
    for (int i = 0; i < VL; i++) vf_store_part(masks + (v->at[i] + shift + tw), rows[i], height);
  } else {
    for (int i = 0; i < VL; i++) vf_store(masks + (v->at[i] + shift + tw), rows[i]);
  }
}

static void zero_around(const struct psamask_args *a, float *mask, int64_t begin, int64_t end) {
  zero_long_run(mask, begin, a->stream);
  zero_long_run(mask + end, a->h_mask * a->w_mask - end, a->stream);
}

/* The zeros between the runs of target rows th and th + 1. */
static void zero_gaps(const struct psamask_args *a, float *masks, const struct pixel_vector *v,
                      int64_t th) {
  for (int64_t i = 0; i < v->count; i++) {
    if (th < v->first[i] || th + 1 >= v->last[i]) continue;
    const int64_t gap = a->w_mask - (v->end[i] - v->begin[i]);
    if (gap > 0) {
      zero_long_run(masks + v->at[i] + th * a->w_mask + v->end[i], gap, a->stream);
    }
  }
}

/* Prefetches VL floats of VL rows of dy; where VL are a line, they lie in two lines. */
MLUOP_INLINE void prefetch_tile(const float *from, int64_t pitch) {
  for (int j = 0; j < VL; j++) {
    const uintptr_t row = (uintptr_t)from + (uintptr_t)(j * pitch) * sizeof(float);
    if ((int)VL == (int)LINE_FLOATS) mluop_prefetch((const void *)row);
    mluop_prefetch((const void *)(row + (VL - 1) * sizeof(float)));
  }
}

static void backward_direct(const struct psamask_args *a, const float *spread, float *masks,
                            int64_t p, int64_t p_end) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  struct pixel_vector v;
  for (; p < p_end; p += VL) {
    set_pixels(&v, a, p, smaller(VL, p_end - p));
    for (int64_t i = 0; i < v.count; i++) {
      const int64_t at = (p + i) * mask;
      zero_around(a, masks + at, v.at[i] - at + v.first[i] * a->w_mask + v.begin[i],
                  v.at[i] - at + (v.last[i] - 1) * a->w_mask + v.end[i]);
    }
    for (int64_t th = v.any_first; th < v.any_last; th++) {
      zero_gaps(a, masks, &v, th);
      for (int64_t tw = 0; tw < a->W; tw += VL) {
        const float *from = spread + (th * a->W + tw) * map + p;
        if (a->prefetch && th + 1 < v.any_last) prefetch_tile(from + a->W * map, map);
        scatter_tile(a, from, masks, &v, th * a->w_mask, th, tw);
      }
    }
  }
}

/* Streamed, the masks of a panel of pixels are put together in a buffer, a group of target rows at
   a time, and written while the next group is put together in another. In the buffer of a pixel,
   lines begin where they do in dx. The number of rows in a group is a multiple of half a line:
   every other group has its lines, and the zeros between its runs, at the same places, and these
   are put into each of the two buffers once. */
enum {
  PANEL_PIXELS = 32,
  PIXEL_FLOATS = 1 << 10,                            /* of a buffer, for a pixel, usually */
  PANEL_FLOATS = PSAMASK_DISTRIBUTE_SCRATCH / 4 / 2, /* of a buffer */
  SPARE_FLOATS = 4 * LINE_FLOATS, /* of a pixel, more than there are in a group */
  GROUP_ROWS = LINE_FLOATS / 2,
  WIDEST_MASK = (PANEL_FLOATS / LINE_FLOATS - SPARE_FLOATS) / GROUP_ROWS
};

struct panel {
  const struct psamask_args *a;
  const float *spread; /* dy and dx of the image */
  float *masks;
  int64_t p, pixels;
  int64_t first, last;       /* target rows that any pixel reaches */
  int64_t group_rows, pitch; /* of a group; floats of a pixel in a buffer */
  struct pixel_vector
      local[PANEL_PIXELS / VL]; /* as in a buffer, for a group that begins with row 0 */
};

struct group {
  float *buffer, *other;
  int64_t begin, end; /* target rows */
  int64_t written;    /* pixels */
};

/* Where the mask of pixel p would have target row th, as floats into a line. */
static int64_t phase_of(const struct panel *panel, int64_t p, int64_t th) {
  const struct psamask_args *a = panel->a;
  const int64_t row = p * a->h_mask + th + window_of(p / a->W, a->H, a->h_mask).origin;
  const uintptr_t floats = (uintptr_t)panel->masks / sizeof(float) + (uintptr_t)(row * a->w_mask);
  return (int64_t)(floats % LINE_FLOATS);
}

static void set_local(struct panel *panel, int64_t th) {
  const int64_t W = panel->a->W;
  for (int64_t i = 0; i < panel->pixels; i++) {
    const int64_t origin = window_of((panel->p + i) % W, W, panel->a->w_mask).origin;
    panel->local[i / VL].at[i % VL] = i * panel->pitch + phase_of(panel, panel->p + i, th) + origin;
  }
}

/* Only what is before the first line and after the last takes the way through the caches. */
static void stream_zeros(float *begin, const float *end) {
  const int64_t head = smaller(floats_to_line(begin), end - begin);
  zero_run(begin, head);
  for (begin += head; end - begin >= LINE_FLOATS; begin += LINE_FLOATS) {
    for (int64_t i = 0; i < LINE_FLOATS; i += VL) vf_stream(begin + i, vf_set(0.0f));
  }
  zero_run(begin, end - begin);
}

/* Writes what a group has of the next pixel; with the first and the last group, the zeros before
   and after the rows on the map. A line that the next group continues is left to that. */
static void write_pixel(const struct panel *panel, struct group *group) {
  const struct psamask_args *a = panel->a;
  const int64_t i = group->written++, p = panel->p + i, size = a->h_mask * a->w_mask;
  const struct window rows = window_of(p / a->W, a->H, a->h_mask);
  const int64_t begin = larger(group->begin, rows.begin), end = smaller(group->end, rows.end);
  float *const mask = panel->masks + p * size;
  /* The rows on the map, in floats of the mask, and the lines that they touch. */
  const int64_t first = (rows.begin + rows.origin) * a->w_mask;
  const int64_t last = (rows.end + rows.origin) * a->w_mask;
  const int64_t first_line = larger(0, first - floats_into_line(mask + first));
  const int64_t last_line = smaller(size, last + floats_to_line(mask + last));
  if (group->begin == panel->first) stream_zeros(mask, mask + first_line);
  if (group->end == panel->last) stream_zeros(mask + last_line, mask + size);
  if (begin >= end) return;
  const int64_t at = (group->begin + rows.origin) * a->w_mask - phase_of(panel, p, group->begin);
  float *const buffer = group->buffer + i * panel->pitch;
  int64_t from = first_line, to = last_line;
  if (begin > rows.begin) {
    from = (begin + rows.origin) * a->w_mask;
    from -= floats_into_line(mask + from);
  } else {
    zero_run(buffer + (from - at), first - from);
  }
  if (end < rows.end) {
    to = (end + rows.origin) * a->w_mask;
    const int64_t left = floats_into_line(mask + to);
    to -= left;
    move_run(group->other + i * panel->pitch, buffer + (to - at), left);
  } else {
    zero_run(buffer + (last - at), to - last);
  }
  stream_bytes(mask + from, buffer + (from - at), (to - from) * (int64_t)sizeof(float));
}

/* Prefetches a share of what the panel needs of W rows of dy. */
MLUOP_INLINE void prefetch_row(const struct panel *panel, int64_t row) {
  const int64_t map = panel->a->H * panel->a->W;
  const float *from = panel->spread + row * map + panel->p;
  for (int64_t i = 0; i < panel->pixels; i += LINE_FLOATS) mluop_prefetch(from + i);
  mluop_prefetch(from + panel->pixels - 1);
}

/* Puts target rows begin to end - 1 together in `buffer`, and writes `before` meanwhile. */
static void fill_group(struct panel *panel, float *buffer, int64_t begin, int64_t end,
                       struct group *before) {
  const struct psamask_args *a = panel->a;
  const int64_t map = a->H * a->W, blocks = (panel->pixels + VL - 1) / VL;
  const int64_t tiles = (end - begin) * blocks * ((a->W + VL - 1) / VL);
  const int64_t pixels = before->buffer != NULL ? panel->pixels : 0;
  int64_t due = 0;
  set_local(panel, begin);
  for (int64_t th = begin; th < end; th++) {
    for (int64_t tw = 0; tw < a->W; tw += VL) {
      const float *from = panel->spread + (th * a->W + tw) * map + panel->p;
      int64_t fetched = 0;
      const int64_t rows = th + 1 < a->H ? smaller(VL, a->W - tw) : 0;
      for (int64_t block = 0; block < blocks; block++, from += VL) {
        for (; fetched < rows * (block + 1) / blocks; fetched++)
          prefetch_row(panel, (th + 1) * a->W + tw + fetched);
        scatter_tile(a, from, buffer, &panel->local[block], (th - begin) * a->w_mask, th, tw);
        for (due += pixels; due >= tiles && before->written < pixels; due -= tiles) {
          write_pixel(panel, before);
        }
      }
    }
  }
  while (before->written < pixels) write_pixel(panel, before);
}

static void set_panel(struct panel *panel, int64_t p, int64_t pixels) {
  const struct psamask_args *a = panel->a;
  panel->p = p;
  panel->pixels = pixels;
  panel->first = a->H;
  panel->last = 0;
  for (int64_t i = 0; i < pixels; i += VL) {
    struct pixel_vector *v = &panel->local[i / VL];
    set_pixels(v, a, p + i, smaller(VL, pixels - i));
    panel->first = smaller(panel->first, v->any_first);
    panel->last = larger(panel->last, v->any_last);
    /* In a buffer there is room for rows that are not in a mask. */
    v->all_first = 0;
    v->all_last = a->H;
    for (int64_t k = 0; k < v->count; k++) {
      v->first[k] = 0;
      v->last[k] = a->H;
    }
  }
}

static void backward_panel(struct panel *panel, float *buffers) {
  for (int64_t i = 0; i < 2 * PANEL_FLOATS; i += PANEL_FLOATS) {
    zero_run(buffers + i, panel->pixels * panel->pitch);
  }
  struct group before = {.buffer = NULL};
  float *buffer = buffers, *other = buffers + PANEL_FLOATS;
  for (int64_t th = panel->first; th < panel->last; th += panel->group_rows) {
    const int64_t end = smaller(panel->last, th + panel->group_rows);
    fill_group(panel, buffer, th, end, &before);
    before = (struct group){.buffer = buffer, .other = other, .begin = th, .end = end};
    buffer = other;
    other = before.buffer;
  }
  while (before.written < panel->pixels) write_pixel(panel, &before);
}

static void backward_panels(const struct psamask_args *a, const float *spread, float *masks,
                            int64_t p, int64_t p_end, float *buffers) {
  struct panel panel = {.a = a, .spread = spread, .masks = masks};
  const int64_t usual = (PIXEL_FLOATS - SPARE_FLOATS) / a->w_mask / GROUP_ROWS;
  panel.group_rows = larger(1, usual) * GROUP_ROWS;
  /* An odd number of lines: the pixels of a tile must not share a set of the cache. */
  panel.pitch = ((panel.group_rows * a->w_mask / LINE_FLOATS + 2) | 1) * LINE_FLOATS;
  const int64_t most =
      smaller(PANEL_PIXELS, PANEL_FLOATS / panel.pitch / LINE_FLOATS * LINE_FLOATS);
  /* Panels begin with a line of dy, in every row if the rows have whole lines. */
  int64_t pixels = most - floats_into_line(spread + p);
  for (; p < p_end; p += pixels, pixels = most) {
    pixels = smaller(pixels, p_end - p);
    set_panel(&panel, p, pixels);
    backward_panel(&panel, buffers);
  }
}

void MLUOP_VARIANT(psamask_distribute_backward)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  while (begin < end) {
    const int64_t at = begin % map, image = begin - at, p_end = smaller(map, at + end - begin);
    if (a->stream && a->w_mask <= WIDEST_MASK) {
      backward_panels(a, a->source + image * map, a->target + image * mask, at, p_end, scratch);
    } else {
      backward_direct(a, a->source + image * map, a->target + image * mask, at, p_end);
    }
    begin += p_end - at;
  }
  if (a->stream) vf_stream_end();
}
