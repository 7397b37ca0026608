/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/kernels.h"
#include "families/border_align/points.h"

/* The two lines of the map that a border lies between, one channel block of them, as floats. Line i
   is in slot i % 2. Behind the last pixel stands a copy of it, so that every pixel has one after
   it; before the first stand two of zeros, see NOWHERE. */
struct lines {
  float *slot[2];
  int64_t line[2]; /* what is in the slots; -1: nothing yet */
};

/* Fills the last vector up with zeros, which the next pixel may overwrite: whole vectors are
   computed on, and what nobody wrote could be slow or trap. */
MLUOP_INLINE void copy_pixel(float *to, const void *map, int64_t from, int64_t width, int is_half) {
  int64_t c = 0;
  for (; c + VL <= width; c += VL) vf_store(to + c, vf_load_as(map, from + c, is_half));
  const int64_t rest = width - c;
  if (rest > 0) vf_store(to + c, vf_load_part_as(map, from + c, rest, is_half));
}

static void copy_line(const struct border_list *list, int64_t line, float *to) {
  const struct border_align_args *a = list->a;
  const int is_half = a->shape.is_half;
  const int64_t from = list->origin + line * list->line_step;
  for (int64_t place = 0; place <= list->places; place++) {
    const int64_t source = place < list->places ? place : list->places - 1;
    copy_pixel(to + place * a->plan.pixel_floats, a->map, from + source * list->place_step,
               list->width, is_half);
  }
}

static struct lines lines_in(const struct border_align_plan *plan, float *room) {
  struct lines lines;
  for (int slot = 0; slot < 2; slot++, room += plan->line_floats) {
    memset(room, 0, (size_t)(-NOWHERE * plan->pixel_floats + VL) * sizeof(*room));
    lines.slot[slot] = room - NOWHERE * plan->pixel_floats;
  }
  return lines;
}

static const float *line_at(const struct border_list *list, int64_t line, struct lines *lines) {
  const int64_t slot = line % 2;
  if (lines->line[slot] != line) {
    lines->line[slot] = line;
    copy_line(list, line, lines->slot[slot]);
  }
  return lines->slot[slot];
}

/* Where to look for a border: its points, and the four pixels of a point at place 0, in the order
   of weights; the others are so many floats away from the first. */
struct look {
  const struct border_align_points *points;
  int64_t lane, count; /* that of the first point; of points */
  int64_t groups;      /* so many points of it are in a lane, the others in those after it */
  const float *pixel;
  int64_t away[3];
  int64_t pixel_floats;
};

MLUOP_INLINE void load_weights(vf weight[4], const struct border_align_points *points,
                               int64_t lane) {
  MLUOP_UNROLL
  for (int p = 0; p < 4; p++) weight[p] = vf_set(points->weight[p][lane]);
}

MLUOP_INLINE vf value_at(const float *pixel, const int64_t *away, const vf weight[4]) {
  const vf p1 = vf_load(pixel) * weight[0], p2 = vf_load(pixel + away[0]) * weight[1];
  const vf p3 = vf_load(pixel + away[1]) * weight[2], p4 = vf_load(pixel + away[2]) * weight[3];
  return p1 + p2 + p3 + p4;
}

/* The largest values of `vectors` vectors of channels from c on, and the steps that reach them. A
   later NaN compares as not greater; one at the first step is never replaced. */
MLUOP_INLINE void find_best(const struct look *look, int64_t c, int vectors, vf *best, vi *step) {
  const struct border_align_points *points = look->points;
  const float *pixel = look->pixel + c;
  const int64_t away[] = {look->away[0], look->away[1], look->away[2]};
  int64_t i = 0, lane = look->lane;
  vf weight[4];
  load_weights(weight, points, lane);
  const float *begin = pixel + points->place[lane] * look->pixel_floats;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    best[v] = value_at(begin + v * VL, away, weight);
    step[v] = vi_set(0);
  }
  for (int64_t left = look->count; left > 0; left -= look->groups, lane++, i = -1) {
    const int64_t end = left < look->groups ? left : look->groups;
    while (++i < end) {
      load_weights(weight, &points[i], lane);
      const float *here = pixel + points[i].place[lane] * look->pixel_floats;
      const vi this_step = vi_opaque(vi_set(points[i].step[lane]));
      MLUOP_UNROLL
      for (int v = 0; v < vectors; v++) {
        const vf value = value_at(here + v * VL, away, weight);
        step[v] = vi_select(vf_greater(value, best[v]), this_step, step[v]);
        best[v] = vf_max(value, best[v]);
      }
    }
  }
}

/* As many vectors at a time as there are registers for. */
enum { MANY = VL == 16 ? 8 : 4, SOME = MANY / 2 };

MLUOP_INLINE void write_vectors(const struct look *look, const struct border_align_args *a,
                                int64_t row, int64_t c, int vectors, int is_half) {
  vf best[MANY];
  vi step[MANY];
  find_best(look, c, vectors, best, step);
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    vf_store_as(a->rows_out, row + c + v * VL, best[v], is_half);
    vi_store(a->argmax_out + row + c + v * VL, step[v]);
  }
}

MLUOP_INLINE void write_row(const struct border_list *list, const struct look *look, int64_t row,
                            int is_half) {
  const struct border_align_args *a = list->a;
  int64_t c = 0;
  for (; c + MANY * VL <= list->width; c += MANY * VL) {
    write_vectors(look, a, row, c, MANY, is_half);
  }
  for (; c + SOME * VL <= list->width; c += SOME * VL) {
    write_vectors(look, a, row, c, SOME, is_half);
  }
  for (; c < list->width; c += VL) {
    const int64_t n = list->width - c < VL ? list->width - c : VL;
    vf best;
    vi step;
    find_best(look, c, 1, &best, &step);
    vf_store_part_as(a->rows_out, row + c, best, n, is_half);
    vi_store_part(a->argmax_out + row + c, step, n);
  }
}

/* Sets the pixels of a look at a border on or before `line`. */
static void look_at(struct look *look, const struct border_list *list, int64_t line,
                    struct lines *lines) {
  const int64_t high_line = line + 1 < list->lines ? line + 1 : line;
  look->pixel = line_at(list, line, lines);
  const int64_t across = line_at(list, high_line, lines) - look->pixel, next = look->pixel_floats;
  look->away[0] = list->vertical ? across : next;
  look->away[1] = list->vertical ? next : across;
  look->away[2] = across + next;
}

/* The borders at [begin, end) of a list's order. */
static void do_borders(const struct border_list *list, int64_t begin, int64_t end,
                       struct lines *lines, struct border_align_points *points) {
  const struct border_align_args *a = list->a;
  const int32_t *order = list->order.boxes;
  struct border_walk walks[LANES];
  struct look look = {
      .points = points, .groups = a->plan.point_groups, .pixel_floats = a->plan.pixel_floats};
  lines->line[0] = lines->line[1] = -1;
  for (int64_t i = begin; i < end; i += a->plan.together) {
    const int64_t count = end - i < a->plan.together ? end - i : a->plan.together;
    for (int64_t k = 0; k < count; k++) walks[k] = walk_of(list, order[i + k]);
    if (a->plan.together > 1) {
      sample_together(points, walks, count, list);
    } else {
      sample_ends(points, walks, list);
    }
    for (int64_t k = 0; k < count; k++) {
      if (a->plan.large && i + k + 1 < end) {
        const int64_t next = border_row(list, order[i + k + 1]);
        prefetch_elements(a->rows_out, next, list->width, a->shape.is_half);
        prefetch_elements(a->argmax_out, next, list->width, 0);
      }
      look.lane = k;
      look.count = walks[k].count;
      look_at(&look, list, walks[k].line, lines);
      if (a->shape.is_half) {
        write_row(list, &look, border_row(list, order[i + k]), 1);
      } else {
        write_row(list, &look, border_row(list, order[i + k]), 0);
      }
    }
  }
}

/* Item: a place in the order of a list. */
void MLUOP_VARIANT(border_align_forward)(const void *vargs, int64_t begin, int64_t end,
                                         void *memory) {
  const struct border_align_args *a = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct border_align_scratch scratch = border_align_take(&a->plan, &arena);
  struct lines lines = lines_in(&a->plan, scratch.lines);
  for (int64_t item = begin; item < end;) {
    const int64_t index = item / a->shape.K, start = index * a->shape.K;
    const int64_t stop = end < start + a->shape.K ? end : start + a->shape.K;
    for (int64_t block = 0; block < a->plan.blocks; block++) {
      const struct border_list list = border_list_of(a, index, block);
      do_borders(&list, item - start, stop - start, &lines, scratch.points);
    }
    item = stop;
  }
}
