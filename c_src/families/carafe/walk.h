/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_WALK_H_
#define MLUOP_FAMILIES_CARAFE_WALK_H_

/* The walk over the tiles of an item: row by row, in segments, group by group, and in cuts of as
   many channels as a tile has registers for. */

#include "families/carafe/line.h"

/* Pixels of a mask of many groups lie so far apart that no hardware asks for their weights in time:
   here that is done, so many groups before they are needed. */
enum { ASK_GROUPS = 4, ASK_WEIGHTS = 768 };

/* Grouped lines read the mask in its order: whole columns, and at least so many weights, before. */
enum { GROUPED_ASK = 500 };

/* Pixels of a segment whose sums are made in parts, all channels. */
enum { TOTAL_PIXELS = CARAFE_SEGMENT };

/* What a walk over the rows of an item works with. */
struct walk {
  const struct carafe_shape *shape;
  const struct carafe_item *item;
  const void *mask;
  float *weights; /* room for weights of a segment as floats */
  line_function *const (*table)[PIXELS][MAX_VECTORS];
  int64_t row;               /* of the window centres */
  struct carafe_span rows;   /* of the map under the windows */
  int64_t first_row;         /* that map->row[0] is */
  int64_t most_rows;         /* that are walked at once */
  int64_t columns;           /* of a segment */
  struct carafe_span chunks; /* of the pixels of a window; empty: all */
  const char *next;          /* NULL, or where the row to pack next is: column 0 of the item */
  int64_t turn;              /* of the map's channels and, if it is not 0, room for their ends */
  int grouped;               /* lines are, if there is more than one group */
  vm turned[END_VECTORS];
  int halves;    /* the map is an input of halves */
  int by_halves; /* weights are not converted if they are too many for a segment's */
  float *ends;
  int64_t converted_row; /* 0, or floats from row to row of the segment's weights, all converted */
};

/* Tiles of a segment: the first pixel of each is `step` after that of the one before. */
struct tiles {
  int pixels;
  int64_t pixel, step;                   /* pixel: of the output, the first one */
  int64_t offset[PIXELS];                /* of the others in the output; in the segment: */
  int64_t slot, row[PIXELS], at[PIXELS]; /* slot: of the first one, in its row */
};

/* Where the weights of a line are in the mask. */
struct mask_line {
  int64_t first, step, pixel[PIXELS];
  int64_t ask; /* 0, or from there to those that are needed later */
  int64_t
      room; /* 0, or for a pixel's weights in a block of rows, if it is converted when it comes */
};

/* The last vector begins within the one before it: parts of vectors are slower. */
static void convert_halves(float *to, const void *halves, int64_t from, int64_t count) {
  if (count < VL) {
    vf_store_part(to, vf_load_part_as(halves, from, count, 1), count);
    return;
  }
  for (int64_t i = 0; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(halves, from + i, 1));
  vf_store(to + count - VL, vf_load_as(halves, from + count - VL, 1));
}

/* Weights of a line, `count` of each pixel from number `from` on. */
static void convert_line(const struct line *t, const struct walk *w, const struct mask_line *m,
                         int64_t from, int64_t count, int pixels) {
  float *to = w->weights;
  int64_t first = m->first + from;
  for (int64_t j = t->j; j < t->end; j += t->step) {
    for (int e = 0; e < pixels; e++) {
      const int64_t at = first + m->pixel[e];
      if (m->ask > 0) ask_for((const uint16_t *)w->mask + at + m->ask, count * 2);
      convert_halves(to, w->mask, at, count);
      to += m->room;
    }
    first += m->step;
  }
}

/* Weights of a segment, if it has few: those of a row of pixels lie side by side, unless other
   groups do between them. They come from memory: those of the next segment are asked for. */
static void convert_segment(struct walk *w, int64_t pixel, int64_t columns) {
  const struct carafe_shape *a = w->shape;
  const int64_t block = w->item->groups * a->K * a->K, pixels = columns * a->S;
  w->converted_row = 0;
  if (!a->is_half || w->columns * a->S * a->S * block > CARAFE_SEGMENT_WEIGHTS) return;
  w->converted_row = carafe_padded(pixels * block);
  for (int64_t u = 0; u < a->S; u++) {
    const int64_t from = ((pixel + u * a->S * a->W) * a->G + w->item->group) * a->K * a->K;
    float *to = w->weights + u * w->converted_row;
    if (w->item->groups == a->G) {
      convert_halves(to, w->mask, from, pixels * block);
      ask_for((const uint16_t *)w->mask + from + pixels * block, pixels * block * 2);
      continue;
    }
    for (int64_t i = 0; i < pixels; i++) {
      convert_halves(to + i * block, w->mask, from + i * a->G * a->K * a->K, block);
    }
  }
}

/* Where the weights of the line are, for group g of the item. */
static void see_weights(struct line *t, const struct walk *w, const struct tiles *tiles, int64_t g,
                        struct mask_line *m) {
  const struct carafe_shape *a = w->shape;
  const int64_t taps = a->K * a->K, groups = w->item->groups;
  m->first = (tiles->pixel * a->G + w->item->group + g) * taps;
  m->step = tiles->step * a->G * taps;
  t->by_halves = a->is_half && w->converted_row == 0 && w->by_halves;
  m->room = a->is_half && w->converted_row == 0 && !t->by_halves
                ? carafe_min(w->most_rows * a->K, taps)
                : 0;
  for (int e = 0; e < tiles->pixels; e++) {
    m->pixel[e] = tiles->offset[e] * a->G * taps;
    t->weights_pixel[e] = m->room > 0 ? e * m->room : m->pixel[e];
  }
  if (!a->is_half || t->by_halves) {
    t->weights = mluop_at(w->mask, m->first, a->is_half);
    t->weights_step = m->step;
  } else if (m->room > 0) {
    t->weights = w->weights;
    t->weights_step = tiles->pixels * m->room;
  } else {
    t->weights = w->weights + (tiles->slot * groups + g) * taps;
    t->weights_step = tiles->step * groups * taps;
    for (int e = 0; e < tiles->pixels; e++) {
      t->weights_pixel[e] = tiles->row[e] * w->converted_row + tiles->at[e] * groups * taps;
    }
  }
}

/* From the weights of group g to those that are needed ASK_GROUPS groups later, perhaps in the next
   segment; 0 where nothing is to be asked for. */
static int64_t ask_distance(const struct line *t, const struct walk *w, int64_t g) {
  const int64_t taps = t->K * t->K, groups = w->item->groups;
  if (t->groups > 1) {
    const int64_t column = w->shape->S * w->shape->G * taps;
    return carafe_div_up(GROUPED_ASK, column) * column;
  }
  if (groups < 2 * ASK_GROUPS || w->shape->G * taps < ASK_WEIGHTS) return 0;
  if (g + ASK_GROUPS < groups) return ASK_GROUPS * taps;
  return (w->columns * w->shape->S * w->shape->G + ASK_GROUPS - groups) * taps;
}

/* All channels of group g, in cuts, for the rows of the map that the line has. */
static void walk_channels(struct line *t, const struct walk *w, const struct tiles *tiles,
                          int64_t g, float *total) {
  const struct carafe_shape *a = w->shape;
  const struct carafe_item *item = w->item;
  const int64_t block = tiles->pixel * a->G + item->group + g, size = a->is_half ? 2 : 4;
  const int64_t per = t->stream && a->is_half ? 2 : 1; /* vectors of sums in one of results */
  const int64_t most = VECTORS / per * per, all = carafe_div_up(item->length, VL);
  const int64_t cuts = carafe_div_up(all, most);
  for (int64_t cut = 0, begin = 0; cut < cuts; cut += t->cuts) {
    const int64_t vectors = carafe_div_up(all - begin, (cuts - cut) * per) * per;
    t->channel = g * t->map->group + begin * VL / (1 + w->halves);
    t->cuts = t->groups > 1 && vectors * cuts == all ? cuts : 1;
    t->length = carafe_min(item->length - begin * VL, t->cuts * vectors * VL);
    t->at = (block * a->C + item->channel + begin * VL - w->turn) / per;
    t->total = total != NULL ? total + begin * VL * TOTAL_PIXELS : NULL;
    t->ends = NULL;
    const int at_seam = w->turn > 0 && item->channel + begin * VL < carafe_line_elements(a);
    const int shared = t->groups > 1 ? GROUPED : a->S > 1 ? SHARED : NEIGHBOURS;
    const int kind = at_seam && t->turn > 0 ? JOINED : shared;
    if (at_seam && t->stream) {
      t->turned = w->turned + begin / per;
      t->ends = w->ends + ((tiles->slot + 1) * item->groups + g) * CARAFE_PAD + begin * VL / per;
      t->ends_step = tiles->step * item->groups * CARAFE_PAD;
    }
    t->next = w->next != NULL ? w->next + (g * a->C + begin * VL) * size : NULL;
    const int halves = t->by_halves ? BY_HALVES : w->halves * OF_HALVES;
    w->table[kind + halves][tiles->pixels - 1][vectors - 1](t);
    t->ask = 0;
    begin += vectors;
  }
}

/* All rows under the windows; many of them in blocks, whose sums are added up. */
static void walk_rows(struct line *t, const struct walk *w, const struct tiles *tiles, int64_t g) {
  struct mask_line mask;
  see_weights(t, w, tiles, g, &mask);
  mask.ask = ask_distance(t, w, g);
  const int64_t size = t->by_halves ? 2 : sizeof(float);
  const int converted = w->shape->is_half && !t->by_halves;
  t->ask = converted ? 0 : mask.ask;
  t->ask_bytes = t->K * t->K * size;
  float totals[TOTAL_PIXELS * CARAFE_BLOCK_CHANNELS];
  const int blocks = w->rows.end - w->rows.begin > w->most_rows;
  const void *weights = t->weights;
  for (int64_t y = w->rows.begin; y < w->rows.end; y += w->most_rows) {
    const int64_t from = (y - w->row + (t->K - 1) / 2) * t->K;
    t->rows = t->map->row + (y - w->first_row);
    t->row_count = carafe_min(w->most_rows, w->rows.end - y);
    t->weights = mluop_at(weights, mask.room > 0 ? 0 : from, t->by_halves);
    t->first = y == w->rows.begin;
    t->final = y + t->row_count == w->rows.end;
    if (blocks) {
      mask.ask = t->final ? 0 : t->row_count * t->K;
      t->ask = converted ? 0 : mask.ask;
      t->ask_bytes = t->row_count * t->K * size;
    }
    if (mask.room > 0) {
      convert_line(t, w, &mask, from, t->row_count * t->K, tiles->pixels);
    }
    walk_channels(t, w, tiles, g, blocks ? totals : NULL);
  }
}

/* When the line with the begin of group g is written, of pixel `at` of a row under a window. */
static inline int ends_at_once(const struct carafe_shape *a, int64_t g, int64_t at) {
  if (g > 0) return ALWAYS;
  if (a->G > 1) return LATER; /* the last group of the pixel before is not done yet */
  if (at > 0) return ALWAYS;
  /* The last pixel under the window before has been done if a chunk has whole rows. */
  return a->S > CARAFE_TILE ? LATER : BUT_FIRST;
}

static void walk_tiles(struct line *t, const struct walk *w, const struct tiles *tiles) {
  const struct carafe_shape *a = w->shape;
  const int64_t pixel = t->stream ? carafe_words(a, a->G * a->C) : a->G * a->C;
  t->values_step = tiles->step * pixel;
  for (int e = 0; e < tiles->pixels; e++) {
    t->values_pixel[e] = tiles->offset[e] * pixel;
    t->ends_pixel[e] =
        (tiles->row[e] * carafe_ends_row(a) + tiles->at[e]) * w->item->groups * CARAFE_PAD;
  }
  t->row_begin = w->item->column;
  t->groups = w->grouped ? w->item->groups : 1;
  for (int64_t g = 0; g < w->item->groups; g += t->groups) {
    for (int e = 0; e < tiles->pixels; e++) {
      t->at_once[e] = ends_at_once(a, g, tiles->at[e]);
    }
    walk_rows(t, w, tiles, g);
  }
}

/* Neighbours whose windows overlap by all but 3 columns, or, where they do not overlap, by 1. */
static void walk_neighbours(struct line *t, const struct walk *w, int64_t pixel, int64_t begin,
                            int64_t end) {
  const int64_t step = w->shape->K == 1 ? 2 : PIXELS, whole = (end - begin) / step * step;
  struct tiles tiles = {.pixels = (int)step, .pixel = pixel, .step = step};
  for (int e = 0; e < PIXELS; e++) tiles.offset[e] = tiles.at[e] = e;
  t->step = step;
  t->j = begin;
  t->end = begin + whole;
  if (whole > 0) walk_tiles(t, w, &tiles);
  if (t->end == end) return;
  tiles.pixel += whole;
  tiles.slot = whole;
  tiles.pixels = (int)(end - t->end);
  t->j = t->end;
  t->end = end;
  walk_tiles(t, w, &tiles);
}

/* Window centres [begin, end) of row w->row; at most w->columns of them. */
static void walk_segment(struct line *t, struct walk *w, int64_t begin, int64_t end) {
  const struct carafe_shape *a = w->shape;
  const int64_t S = a->S, pixel = (w->item->n * a->H + w->row) * S * S * a->W + begin * S;
  convert_segment(w, pixel, end - begin);
  if (S == 1) {
    walk_neighbours(t, w, pixel, begin, end);
    return;
  }
  t->j = begin;
  t->end = end;
  t->step = 1;
  const int64_t stop = w->chunks.end > 0 ? w->chunks.end : carafe_chunks(a);
  for (int64_t chunk = w->chunks.begin; chunk < stop; chunk++) {
    struct tiles tiles = {.pixel = pixel, .step = S};
    tiles.pixels = carafe_chunk(a, chunk, tiles.offset);
    for (int e = 0; e < tiles.pixels; e++) {
      tiles.row[e] = tiles.offset[e] / (S * a->W);
      tiles.at[e] = tiles.offset[e] % (S * a->W);
    }
    walk_tiles(t, w, &tiles);
  }
}

static inline void walk_columns(struct line *t, struct walk *w, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; j += w->columns) {
    walk_segment(t, w, j, carafe_min(j + w->columns, end));
  }
}

#endif /* MLUOP_FAMILIES_CARAFE_WALK_H_ */
