/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_
#define MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_

/* grad_mask of a row of window centres: K x K dot products over channels for each pixel of
   grad_output and group. Tiles of 3 or 4 pixels that share a window are done together; with S == 1,
   4 neighbours and the taps that all of them have on the map, and then what is left of each. */

#include "families/carafe/dots.h"

/* Bytes of the input under a window that stay in the first cache while the window moves on. Of
   larger ones, some rows at a time are done. */
enum { WINDOW_BYTES = 1 << 15 };

/* Taps of windows up to this size are one list, which is cut where registers are full. Of larger
   ones, and at the sides of the map, each row is a list. */
enum { LISTED_K = 11 };

struct mask_row {
  const struct carafe_backward_args *args;
  const struct carafe_item *item; /* row item->row, all channels of its groups */
  const struct carafe_rows *map;  /* the input under its windows, first part of the channels */
  int64_t part_step;              /* to the next part, in `map` */
  float *grads;                   /* room for a tile of grad_output */
  float *results;                 /* half: room for the results of a segment */
  int64_t place[CARAFE_MAX_K];    /* of taps in `map`, after the first one of all */
  struct ahead ahead;             /* what the next segment needs */
  int64_t ahead_lines;            /* of it are asked for with each run of taps of a tile */
};

/* Tiles of `pixels` pixels for window centres j, j + step, ... before end; with shift, each pixel
   of a tile is a column further than the one before. */
struct mask_tiles {
  int64_t j, end, step;
  int pixels, shift;
  const char *grad[DOT_PIXELS]; /* of the first tile */
  float *out[DOT_PIXELS];       /* K x K of each */
  int64_t grad_step, out_step;  /* to the next tile, in bytes and floats */
};

/* Where the taps are of a list, or of a row. */
static void see_places(struct mask_row *m, int64_t rows) {
  const int64_t K = m->args->shape.K;
  for (int64_t y = 0; y < (K <= LISTED_K ? rows : 1); y++) {
    for (int64_t t = 0; t < K; t++) {
      m->place[y * K + t] = m->map->row[y] - m->map->row[0] + t * m->map->pixel;
    }
  }
}

/* One part of the channels, `origin` floats after the first one, for the rows [first, stop) of the
   window on the map, the first of which is row `top` of the window: all taps that one of the pixels
   has on the map. Beside the map the others see a margin of zeros; whatever the gradient, their
   results there are 0. */
static void dot_tile(const struct mask_row *m, const struct dots *d, int pixels, int shift,
                     int64_t j, int64_t origin, int64_t top, int64_t first, int64_t stop) {
  const struct carafe_shape *a = &m->args->shape;
  const int64_t K = a->K, r = (K - 1) / 2, ahead = shift ? pixels - 1 : 0;
  const int64_t begin = carafe_max(0, r - j - ahead), end = carafe_min(K, a->W - j + r);
  const int64_t at = origin + (j - r + begin - m->map->first) * m->map->pixel;
  if (end - begin == K && K <= LISTED_K && !shift) {
    add_dots(d, m->map->row, 1, at, m->place + first * K, (top + first) * K, K, pixels, 0,
             (stop - first) * K);
    return;
  }
  add_dots(d, m->map->row + first, stop - first, at, m->place, (top + first) * K + begin, K, pixels,
           shift, end - begin);
  for (int e = 0; e < pixels && ahead > 0; e++) {
    const struct carafe_span window = carafe_window(j + e, K, a->W);
    const int64_t left = window.begin - j - e + r, right = window.end - j - e + r;
    for (int64_t y = first; y < stop; y++) {
      float *out = d->out[e] + (top + y) * K;
      for (int64_t t = begin; t < left; t++) out[t] = 0.0f;
      for (int64_t t = right; t < end; t++) out[t] = 0.0f;
    }
  }
}

/* `length` channels of grad_output for tile number i; copied if they are half, or end within a
   vector. */
static void see_tile(const struct mask_row *m, const struct mask_tiles *t, int64_t i,
                     struct dots *d, int64_t channel, int64_t length) {
  const int is_half = m->args->shape.is_half;
  d->length = carafe_div_up(length, VL) * VL;
  for (int e = 0; e < t->pixels; e++) {
    const char *grad = t->grad[e] + i * t->grad_step;
    d->out[e] = t->out[e] + i * t->out_step;
    if (is_half || d->length != length) {
      float *to = m->grads + e * carafe_padded(m->args->part);
      pack_pixel(to, grad, channel, length, is_half);
      d->grad[e] = to;
    } else {
      d->grad[e] = (const float *)(const void *)grad + channel;
    }
  }
}

/* The tiles for one group: channels part by part, so that the input under the windows stays near.
 */
static void dot_tiles(struct mask_row *m, const struct mask_tiles *t, int64_t group) {
  const struct carafe_shape *a = &m->args->shape;
  const struct carafe_span rows = carafe_window(m->item->row, a->K, a->H);
  const int64_t top = rows.begin - m->item->row + (a->K - 1) / 2;
  const int64_t most =
      carafe_max(1, WINDOW_BYTES / (a->K * m->args->part * (int64_t)sizeof(float)));
  const int64_t cuts = carafe_div_up(rows.end - rows.begin, most);
  int64_t origin = group * m->map->group;
  for (int64_t channel = 0; channel < a->C; channel += m->args->part) {
    const int64_t length = carafe_min(m->args->part, a->C - channel);
    struct dots d = {.stride = m->map->pixel,
                     .add = channel > 0,
                     .ahead = &m->ahead,
                     .ahead_lines = m->ahead_lines};
    for (int64_t cut = 0; cut < cuts; cut++) {
      const int64_t first = (rows.end - rows.begin) * cut / cuts;
      const int64_t stop = (rows.end - rows.begin) * (cut + 1) / cuts;
      for (int64_t i = 0, j = t->j; j < t->end; i++, j += t->step) {
        see_tile(m, t, i, &d, channel, length);
        dot_tile(m, &d, t->pixels, t->shift, j, origin, top, first, stop);
      }
    }
    origin += m->part_step;
  }
}

/* The last vector begins within the one before it. */
static void results_to_halves(uint16_t *to, const float *from, int64_t count) {
  if (count < VL) {
    vf_store_half_part(to, vf_load_part(from, count), count);
    return;
  }
  for (int64_t i = 0; i + VL <= count; i += VL) vf_store_half(to + i, vf_load(from + i));
  vf_store_half(to + count - VL, vf_load(from + count - VL));
}

/* Taps of windows that are not whole are 0, unless they are made. */
static void clear_results(const struct mask_row *m, const struct mask_tiles *t) {
  const struct carafe_shape *a = &m->args->shape;
  const int64_t K = a->K, reach = K / 2 + (t->shift ? t->pixels - 1 : 0);
  const struct carafe_span rows = carafe_window(m->item->row, K, a->H);
  for (int64_t i = 0, j = t->j; j < t->end; i++, j += t->step) {
    if (rows.end - rows.begin == K && j >= K / 2 && j + reach < a->W) continue;
    for (int e = 0; e < t->pixels; e++) {
      memset(t->out[e] + i * t->out_step, 0, (size_t)(K * K) * sizeof(float));
    }
  }
}

/* The tiles for window centres j, j + step, ... before end; pixel e of one is offset[e] after its
   first one, which is S * step after that of the tile before. */
static void mask_tiles(struct mask_row *m, int64_t j, int64_t end, int64_t step, int pixels,
                       const int64_t *offset) {
  const struct carafe_backward_args *args = m->args;
  const struct carafe_shape *a = &args->shape;
  const struct carafe_item *item = m->item;
  const int64_t S = a->S, taps = a->K * a->K, size = a->is_half ? 2 : 4;
  const int64_t pixel = (item->n * a->H + item->row) * S * S * a->W + j * S;
  const int64_t next = step * S * a->G; /* from tile to tile, in blocks of a group */
  struct mask_tiles t = {.j = j,
                         .end = end,
                         .step = step,
                         .pixels = pixels,
                         .shift = S == 1 && pixels > 1,
                         .grad_step = next * a->C * size,
                         .out_step = a->is_half ? pixels * taps : next * taps};
  for (int64_t g = item->group; g < item->group + item->groups; g++) {
    int64_t block[DOT_PIXELS];
    for (int e = 0; e < pixels; e++) {
      block[e] = (pixel + offset[e]) * a->G + g;
      t.grad[e] = (const char *)args->grad_output + block[e] * a->C * size;
      t.out[e] = a->is_half ? m->results + e * taps : (float *)args->grad_mask + block[e] * taps;
    }
    clear_results(m, &t);
    dot_tiles(m, &t, g - item->group);
    for (int64_t i = 0; a->is_half && j + i * step < end; i++) {
      for (int e = 0; e < pixels; e++) {
        results_to_halves((uint16_t *)args->grad_mask + (block[e] + i * next) * taps,
                          t.out[e] + i * t.out_step, taps);
      }
    }
  }
}

/* Window centres [begin, end) of the row, at most CARAFE_SEGMENT. What `ahead` holds is asked for
   meanwhile. */
static void mask_segment(struct mask_row *m, int64_t begin, int64_t end) {
  const struct carafe_shape *a = &m->args->shape;
  const int64_t K = a->K, S = a->S, chunks = carafe_chunks(a);
  const struct carafe_span rows = carafe_window(m->item->row, K, a->H);
  const int64_t tiles = S > 1 ? (end - begin) * chunks : carafe_div_up(end - begin, DOT_PIXELS);
  const int64_t steps = tiles * m->item->groups * carafe_div_up(a->C, m->args->part);
  int64_t offset[DOT_PIXELS];
  const int64_t lines = m->args->large ? m->ahead.lines : 0;
  const int64_t count = rows.end - rows.begin;
  const int64_t runs = S > 1 && K <= LISTED_K ? count * K / TAPS : count * carafe_div_up(K, TAPS);
  m->ahead_lines = carafe_div_up(lines, steps * carafe_max(runs, 1));
  see_places(m, count);
  if (S == 1) {
    const int64_t whole = (end - begin) / DOT_PIXELS * DOT_PIXELS;
    for (int e = 0; e < DOT_PIXELS; e++) offset[e] = e;
    if (whole > 0) mask_tiles(m, begin, begin + whole, DOT_PIXELS, DOT_PIXELS, offset);
    begin += whole;
    if (begin < end) mask_tiles(m, begin, end, end - begin, (int)(end - begin), offset);
    return;
  }
  for (int64_t chunk = 0; chunk < chunks; chunk++) {
    const int pixels = carafe_chunk(a, chunk, offset);
    mask_tiles(m, begin, end, 1, pixels, offset);
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_GRAD_MASK_H_ */
