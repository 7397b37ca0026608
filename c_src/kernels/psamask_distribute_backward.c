/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/move.h"
#include "kernels/psamask_lanes.h"

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

/* Moves targets (th, tw) to (th, tw + VL - 1) of the lanes from `from`, in rows of H * W, to where
   the masks of the lanes have them. */
MLUOP_INLINE void scatter_tile(const struct psamask_args *a, const float *from, float *masks,
                               const struct lanes *l, int64_t shift, int64_t th, int64_t tw) {
  const int64_t height = smaller(VL, a->W - tw);
  if (l->any_end <= tw || l->any_begin >= tw + height) return;
  vf rows[VL];
  load_targets(rows, from, a->H * a->W, height, l->count);
  if (l->count < VL || l->all_first > th || l->all_last <= th || l->all_begin > tw ||
      l->all_end < tw + height) {
    for (int i = 0; i < VL; i++) {
      const int64_t end = l->first[i] <= th && th < l->last[i] ? l->end[i] - tw : 0;
      vf_store_span(masks + l->at[i] + shift + tw, rows[i], l->begin[i] - tw, end);
    }
  } else if (height < VL) {
    for (int i = 0; i < VL; i++) vf_store_part(masks + l->at[i] + shift + tw, rows[i], height);
  } else {
    for (int i = 0; i < VL; i++) vf_store(masks + l->at[i] + shift + tw, rows[i]);
  }
}

static void zero_around(const struct psamask_args *a, float *mask, int64_t begin, int64_t end) {
  zero_long_run(mask, begin, a->stream);
  zero_long_run(mask + end, a->h_mask * a->w_mask - end, a->stream);
}

/* The zeros between the runs of target rows th and th + 1. */
static void zero_gaps(const struct psamask_args *a, float *masks, const struct lanes *l,
                      int64_t th) {
  for (int64_t i = 0; i < l->count; i++) {
    if (th < l->first[i] || th + 1 >= l->last[i]) continue;
    const int64_t gap = a->w_mask - (l->end[i] - l->begin[i]);
    if (gap > 0) {
      zero_long_run(masks + l->at[i] + th * a->w_mask + l->end[i], gap, a->stream);
    }
  }
}

static void backward_direct(const struct psamask_args *a, const float *spread, float *masks,
                            int64_t p, int64_t p_end) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  struct lanes l;
  for (; p < p_end; p += VL) {
    set_lanes(&l, a, p, smaller(VL, p_end - p));
    for (int64_t i = 0; i < l.count; i++) {
      const int64_t at = (p + i) * mask;
      zero_around(a, masks + at, l.at[i] - at + l.first[i] * a->w_mask + l.begin[i],
                  l.at[i] - at + (l.last[i] - 1) * a->w_mask + l.end[i]);
    }
    for (int64_t th = l.any_first; th < l.any_last; th++) {
      zero_gaps(a, masks, &l, th);
      for (int64_t tw = 0; tw < a->W; tw += VL) {
        scatter_tile(a, spread + (th * a->W + tw) * map + p, masks, &l, th * a->w_mask, th, tw);
      }
    }
  }
}

/* Streamed, the masks of a panel of pixels are put together in a buffer, a group of target rows at
   a time, and written while the next group is put together in another. The zeros between the runs
   of a pixel are the same in each of its groups: they are put into the buffer once. */
enum {
  PANEL_PIXELS = 64,
  CHUNK = 1 << 10, /* floats for a pixel in a group */
  GROUP_FLOATS = PANEL_PIXELS * CHUNK
};

struct panel {
  const float *spread; /* dy and dx of the image */
  float *masks;
  int64_t p, pixels;
  int64_t group_rows;
  struct lanes real[PANEL_PIXELS / VL];  /* as in dx */
  struct lanes local[PANEL_PIXELS / VL]; /* as in a buffer, for a group that begins with row 0 */
};

struct group {
  const float *buffer;
  int64_t begin, end; /* target rows */
  int64_t written;    /* pixels */
};

static void set_panel(struct panel *panel, const struct psamask_args *a) {
  for (int64_t i = 0; i < panel->pixels; i += VL) {
    struct lanes *real = &panel->real[i / VL], *local = &panel->local[i / VL];
    set_lanes(real, a, panel->p + i, smaller(VL, panel->pixels - i));
    *local = *real;
    local->all_first = 0;
    local->all_last = a->H;
    for (int64_t k = 0; k < real->count; k++) {
      const int64_t w = (panel->p + i + k) % a->W;
      local->at[k] = (i + k) * CHUNK + window_of(w, a->W, a->w_mask).origin;
      local->first[k] = 0;
      local->last[k] = a->H;
    }
  }
}

static void write_pixel(const struct psamask_args *a, const struct panel *panel,
                        struct group *group) {
  const int64_t pixel = group->written++, p = panel->p + pixel;
  const struct window rows = window_of(p / a->W, a->H, a->h_mask);
  const int64_t begin = larger(group->begin, rows.begin), end = smaller(group->end, rows.end);
  if (begin >= end) return;
  stream_bytes(panel->masks + (p * a->h_mask + begin + rows.origin) * a->w_mask,
               group->buffer + pixel * CHUNK + (begin - group->begin) * a->w_mask,
               (end - begin) * a->w_mask * (int64_t)sizeof(float));
}

/* Puts target rows begin to end - 1 together in `buffer`, and writes `before` meanwhile. */
static void fill_group(const struct psamask_args *a, const struct panel *panel, float *buffer,
                       int64_t begin, int64_t end, struct group *before) {
  const int64_t map = a->H * a->W, blocks = (panel->pixels + VL - 1) / VL;
  const int64_t tiles = (end - begin) * blocks * ((a->W + VL - 1) / VL);
  const int64_t pixels = before->buffer != NULL ? panel->pixels : 0;
  int64_t due = 0;
  for (int64_t th = begin; th < end; th++) {
    for (int64_t tw = 0; tw < a->W; tw += VL) {
      const float *from = panel->spread + (th * a->W + tw) * map + panel->p;
      for (int64_t block = 0; block < blocks; block++, from += VL) {
        const struct lanes *l = &panel->local[block];
        for (int j = 0; j < VL; j++) mluop_prefetch(from + (a->W + j) * map);
        scatter_tile(a, from, buffer, l, (th - begin) * a->w_mask, th, tw);
        for (due += pixels; due >= tiles && before->written < pixels; due -= tiles) {
          write_pixel(a, panel, before);
        }
      }
    }
  }
  while (before->written < pixels) write_pixel(a, panel, before);
}

static void backward_panel(const struct psamask_args *a, struct panel *panel, float *buffers) {
  set_panel(panel, a);
  int64_t first = a->H, last = 0;
  for (int64_t i = 0; i < panel->pixels; i += VL) {
    const struct lanes *real = &panel->real[i / VL];
    for (int64_t k = 0; k < real->count; k++) {
      const int64_t p = panel->p + i + k;
      const int64_t origin = window_of(p / a->W, a->H, a->h_mask).origin;
      zero_around(a, panel->masks + p * a->h_mask * a->w_mask,
                  (real->first[k] + origin) * a->w_mask, (real->last[k] + origin) * a->w_mask);
    }
    first = smaller(first, real->any_first);
    last = larger(last, real->any_last);
  }
  for (int64_t i = 0; i < 2 * PANEL_PIXELS; i++) {
    zero_run(buffers + i * CHUNK, panel->group_rows * a->w_mask);
  }
  struct group before = {.buffer = NULL};
  int which = 0;
  for (int64_t th = first; th < last; th += panel->group_rows, which = !which) {
    const int64_t end = smaller(last, th + panel->group_rows);
    fill_group(a, panel, buffers + which * GROUP_FLOATS, th, end, &before);
    before = (struct group){.buffer = buffers + which * GROUP_FLOATS, .begin = th, .end = end};
  }
  while (before.buffer != NULL && before.written < panel->pixels) write_pixel(a, panel, &before);
}

static void backward_panels(const struct psamask_args *a, const float *spread, float *masks,
                            int64_t p, int64_t p_end, float *buffers) {
  struct panel panel = {.spread = spread, .masks = masks};
  panel.group_rows = CHUNK / a->w_mask;
  for (; p < p_end; p += PANEL_PIXELS) {
    panel.p = p;
    panel.pixels = smaller(PANEL_PIXELS, p_end - p);
    backward_panel(a, &panel, buffers);
  }
}

void MLUOP_VARIANT(psamask_distribute_backward)(const void *vargs, int64_t begin, int64_t end,
                                                void *scratch) {
  const struct psamask_args *a = vargs;
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  while (begin < end) {
    const int64_t at = begin % map, image = begin - at, p_end = smaller(map, at + end - begin);
    if (a->stream && a->w_mask <= CHUNK) {
      backward_panels(a, a->source + image * map, a->target + image * mask, at, p_end, scratch);
    } else {
      backward_direct(a, a->source + image * map, a->target + image * mask, at, p_end);
    }
    begin += p_end - at;
  }
  if (a->stream) vf_stream_end();
}
