/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/kernels.h"
#include "families/border_align/order.h"
#include "families/border_align/samples.h"

/* The two lines of the map that a border lies between, one channel block of them, as floats. Line i
   is in slot i % 2. Behind the last pixel stands a copy of it, so that the pixel after `low` can be
   read with any `low`. */
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

MLUOP_INLINE void copy_line(const struct border_list *list, int64_t line, float *to, int is_half) {
  const struct border_align_args *a = list->a;
  const int64_t from = list->origin + line * list->line_step;
  for (int64_t place = 0; place <= list->places; place++) {
    const int64_t source = place < list->places ? place : list->places - 1;
    if (place + PIXELS_AHEAD < list->places) {
      const int64_t next = from + (place + PIXELS_AHEAD) * list->place_step;
      prefetch_elements(a->map, next, list->width, is_half);
    }
    copy_pixel(to + place * a->plan.pixel_floats, a->map, from + source * list->place_step,
               list->width, is_half);
  }
}

static const float *line_at(const struct border_list *list, int64_t line, struct lines *lines) {
  const int64_t slot = line % 2;
  if (lines->line[slot] != line) {
    lines->line[slot] = line;
    if (list->a->shape.is_half) {
      copy_line(list, line, lines->slot[slot], 1);
    } else {
      copy_line(list, line, lines->slot[slot], 0);
    }
  }
  return lines->slot[slot];
}

/* Where to look for a border: its first sample, and the four pixels of a sample at place 0, in the
   order of weights; the others are so many floats away from the first. */
struct look {
  const struct border_sample_group *group;
  int64_t lane;
  const float *pixel;
  int64_t away[3];
  int64_t pixel_floats;
  struct border_range range;
};

/* To the next sample: in the next group, or of a border that is alone, in the next lane. */
MLUOP_INLINE void step_on(const struct border_sample_group **group, int64_t *lane, int alone) {
  if (!alone) {
    (*group)++;
  } else if (++*lane == LANES) {
    (*group)++;
    *lane = 0;
  }
}

struct corner_weights {
  vf of[4];
};

MLUOP_INLINE struct corner_weights weights_in(const struct border_sample_group *group,
                                              int64_t lane) {
  struct corner_weights weights;
  MLUOP_UNROLL
  for (int p = 0; p < 4; p++) weights.of[p] = vf_set(group->weight[p][lane]);
  return weights;
}

MLUOP_INLINE vf value_at(const float *pixel, const int64_t *away,
                         const struct corner_weights *weights) {
  const vf p1 = vf_load(pixel) * weights->of[0];
  const vf p2 = vf_load(pixel + away[0]) * weights->of[1];
  const vf p3 = vf_load(pixel + away[1]) * weights->of[2];
  const vf p4 = vf_load(pixel + away[2]) * weights->of[3];
  return p1 + p2 + p3 + p4;
}

/* The largest values of `vectors` vectors of channels from c on, and the steps that reach them. A
   later NaN compares as not greater; one at the first step is never replaced. */
MLUOP_INLINE void find_best(const struct look *look, int64_t c, int vectors, int alone, vf *best,
                            vi *step) {
  const struct border_range *range = &look->range;
  const struct border_sample_group *group = look->group;
  const float *pixel = look->pixel + c;
  const int64_t away[] = {look->away[0], look->away[1], look->away[2]};
  int64_t lane = look->lane, left = range->count;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    best[v] = vf_set(0.0f);
    step[v] = vi_set(0);
  }
  if (!range->zero_first) {
    const struct corner_weights weights = weights_in(group, lane);
    const float *here = pixel + group->place[lane] * look->pixel_floats;
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) best[v] = value_at(here + v * VL, away, &weights);
    step_on(&group, &lane, alone);
    left--;
  }
  for (; left > 0; left--) {
    const struct corner_weights weights = weights_in(group, lane);
    const float *here = pixel + group->place[lane] * look->pixel_floats;
    const vi this_step = vi_opaque(vi_set(group->step[lane]));
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vf value = value_at(here + v * VL, away, &weights);
      step[v] = vi_select(vf_greater(value, best[v]), this_step, step[v]);
      best[v] = vf_max(value, best[v]);
    }
    step_on(&group, &lane, alone);
  }
  if (range->zero_last == 0) return;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    step[v] = vi_select(vf_greater(vf_set(0.0f), best[v]), vi_set(range->zero_last), step[v]);
    best[v] = vf_max(vf_set(0.0f), best[v]);
  }
}

MLUOP_INLINE void store_best(const struct border_align_args *a, int64_t at, vf best, vi step,
                             int is_half, int stream) {
  if (stream) {
    vf_stream((float *)a->rows_out + at, best);
    vi_stream(a->argmax_out + at, step);
  } else {
    vf_store_as(a->rows_out, at, best, is_half);
    vi_store(a->argmax_out + at, step);
  }
}

/* As many vectors at a time as there are registers for; streamed results are float. */
enum { MANY = VL == 16 ? 8 : 4, SOME = MANY / 2 };

MLUOP_INLINE void border_rows(const struct border_list *list, const struct look *look, int64_t row,
                              int alone, int is_half, int stream) {
  const struct border_align_args *a = list->a;
  vf best[MANY];
  vi step[MANY];
  int64_t c = 0;
  for (; c + MANY * VL <= list->width; c += MANY * VL) {
    find_best(look, c, MANY, alone, best, step);
    MLUOP_UNROLL
    for (int v = 0; v < MANY; v++) {
      store_best(a, row + c + v * VL, best[v], step[v], is_half, stream);
    }
  }
  for (; c + SOME * VL <= list->width; c += SOME * VL) {
    find_best(look, c, SOME, alone, best, step);
    MLUOP_UNROLL
    for (int v = 0; v < SOME; v++) {
      store_best(a, row + c + v * VL, best[v], step[v], is_half, stream);
    }
  }
  for (; c < list->width; c += VL) {
    const int64_t n = list->width - c < VL ? list->width - c : VL;
    find_best(look, c, 1, alone, best, step);
    vf_store_part_as(a->rows_out, row + c, best[0], n, is_half);
    vi_store_part(a->argmax_out + row + c, step[0], n);
  }
}

typedef void write_function(const struct border_list *list, const struct look *look, int64_t row);

static void write_floats(const struct border_list *list, const struct look *look, int64_t row) {
  border_rows(list, look, row, 0, 0, 0);
}
static void write_halves(const struct border_list *list, const struct look *look, int64_t row) {
  border_rows(list, look, row, 0, 1, 0);
}
static void stream_floats(const struct border_list *list, const struct look *look, int64_t row) {
  border_rows(list, look, row, 0, 0, 1);
}
static void write_floats_alone(const struct border_list *list, const struct look *look,
                               int64_t row) {
  border_rows(list, look, row, 1, 0, 0);
}
static void write_halves_alone(const struct border_list *list, const struct look *look,
                               int64_t row) {
  border_rows(list, look, row, 1, 1, 0);
}

static write_function *write_function_for(const struct border_align_args *a) {
  if (a->plan.together == 1) return a->shape.is_half ? write_halves_alone : write_floats_alone;
  return a->shape.is_half ? write_halves : a->plan.stream ? stream_floats : write_floats;
}

/* How to look for the border that is number `i` of those sampled together. */
static struct look look_at(const struct border_list *list, const struct border_samples *samples,
                           int64_t i, struct lines *lines) {
  const struct border_range *range = &samples->range[i];
  const int64_t next = list->a->plan.pixel_floats;
  struct look look = {.group = samples->groups + range->first,
                      .lane = i,
                      .pixel = lines->slot[0],
                      .pixel_floats = next,
                      .range = *range};
  if (range->count == 0) return look;
  const int64_t line = range->line, high_line = line + 1 < list->lines ? line + 1 : line;
  look.pixel = line_at(list, line, lines);
  const int64_t across = line_at(list, high_line, lines) - look.pixel;
  look.away[0] = list->vertical ? across : next;
  look.away[1] = list->vertical ? next : across;
  look.away[2] = across + next;
  return look;
}

static struct border_samples samples_in(const struct border_align_args *a,
                                        struct border_sample_group *room) {
  const struct border_samples samples = {.groups = room};
  for (int32_t step = 0; a->plan.together > 1 && step <= a->shape.pool_size; step++) {
    for (int lane = 0; lane < LANES; lane++) samples.groups[step].step[lane] = step;
  }
  return samples;
}

/* The borders at [begin, end) of a list's order. */
static void do_borders(const struct border_list *list, int64_t begin, int64_t end,
                       const struct border_align_scratch *scratch) {
  const struct border_align_args *a = list->a;
  struct lines lines = {{scratch->lines, scratch->lines + a->plan.line_floats}, {-1, -1}};
  struct border_samples samples = samples_in(a, scratch->samples);
  write_function *write_rows = write_function_for(a);
  for (int64_t i = begin; i < end; i += a->plan.together) {
    const int64_t count = end - i < a->plan.together ? end - i : a->plan.together;
    if (a->plan.together > 1) {
      sample_together(&samples, list->order + i, count, list);
    } else {
      const struct border border = border_of(list, list->order[i]);
      sample_alone(&samples, &border, list);
    }
    for (int64_t k = i; k < i + count; k++) {
      if (a->plan.large && !a->plan.stream && k + 1 < end) {
        const int64_t next = border_row(list, list->order[k + 1]);
        prefetch_elements(a->rows_out, next, list->width, a->shape.is_half);
        prefetch_elements(a->argmax_out, next, list->width, 0);
      }
      const struct look look = look_at(list, &samples, k - i, &lines);
      write_rows(list, &look, border_row(list, list->order[k]));
    }
  }
}

/* The order of a list: found before, or now. */
static const int32_t *order_of(const struct border_list *list,
                               const struct border_align_order *own) {
  if (list->order != NULL) return list->order;
  order_list(list, own);
  return own->boxes;
}

/* Item: a place in the order of a list. */
void MLUOP_VARIANT(border_align_forward)(const void *vargs, int64_t begin, int64_t end,
                                         void *memory) {
  const struct border_align_args *a = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct border_align_scratch scratch = border_align_take(a, &arena);
  for (int64_t item = begin; item < end;) {
    const int64_t index = item / a->shape.K, start = index * a->shape.K;
    const int64_t stop = end < start + a->shape.K ? end : start + a->shape.K;
    struct border_list list = border_list_of(a, index, 0);
    const int32_t *order = order_of(&list, &scratch.order);
    for (int64_t block = 0; block < a->plan.blocks; block++) {
      list = border_list_of(a, index, block);
      list.order = order;
      do_borders(&list, item - start, stop - start, &scratch);
    }
    item = stop;
  }
  if (a->plan.stream) vf_stream_end();
}
