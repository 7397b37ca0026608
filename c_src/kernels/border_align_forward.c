/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align_samples.h"

/* The two lines of the map that a border lies between, one channel block of them, as floats. Line i
   is in slot i % 2. Behind the last pixel stands a copy of it, so that the pixel after `low` can be
   read with any `low`. */
struct lines {
  float *slot[2];
  int64_t line[2]; /* what is in the slots; -1: nothing yet */
};

MLUOP_INLINE void copy_pixel(float *to, const void *map, int64_t from, int64_t width, int is_half) {
  int64_t c = 0;
  for (; c + VL <= width; c += VL) vf_store(to + c, vf_load_as(map, from + c, is_half));
  const int64_t rest = width - c;
  if (rest > 0) vf_store_part(to + c, vf_load_part_as(map, from + c, rest, is_half), rest);
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
    copy_pixel(to + place * a->pixel_floats, a->map, from + source * list->place_step, list->width,
               is_half);
  }
}

static const float *line_at(const struct border_list *list, int64_t line, struct lines *lines) {
  const int64_t slot = line % 2;
  if (lines->line[slot] != line) {
    lines->line[slot] = line;
    if (list->a->is_half) {
      copy_line(list, line, lines->slot[slot], 1);
    } else {
      copy_line(list, line, lines->slot[slot], 0);
    }
  }
  return lines->slot[slot];
}

MLUOP_INLINE vf value_at(const struct border_samples *samples, int64_t i, int64_t c) {
  const struct border_sample *sample = &samples->inside[i];
  const int64_t at = sample->offset + c;
  const vf p1 = vf_load(samples->pixel[0] + at) * vf_set(sample->weight[0]);
  const vf p2 = vf_load(samples->pixel[1] + at) * vf_set(sample->weight[1]);
  const vf p3 = vf_load(samples->pixel[2] + at) * vf_set(sample->weight[2]);
  const vf p4 = vf_load(samples->pixel[3] + at) * vf_set(sample->weight[3]);
  return p1 + p2 + p3 + p4;
}

/* The largest values of `vectors` vectors of channels from c on, and the steps that reach them. A
   later NaN compares as not greater; one at the first step is never replaced. */
MLUOP_INLINE void find_best(const struct border_samples *samples, int64_t c, int vectors, vf *best,
                            vi *step) {
  int64_t i = 0;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    best[v] = vf_set(0.0f);
    step[v] = vi_set(0);
  }
  if (!samples->zero_first) {
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) best[v] = value_at(samples, 0, c + v * VL);
    i = 1;
  }
  for (; i < samples->count; i++) {
    const vi this_step = vi_pin(vi_set(samples->inside[i].step));
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vf value = value_at(samples, i, c + v * VL);
      const vm greater = vf_greater(value, best[v]);
      best[v] = vf_select(greater, value, best[v]);
      step[v] = vi_select(greater, this_step, step[v]);
    }
  }
  if (samples->zero_last == 0) return;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    const vm greater = vf_greater(vf_set(0.0f), best[v]);
    best[v] = vf_select(greater, vf_set(0.0f), best[v]);
    step[v] = vi_select(greater, vi_set(samples->zero_last), step[v]);
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

MLUOP_INLINE void border_rows(const struct border_list *list, const struct border_samples *samples,
                              int64_t row, int is_half, int stream) {
  const struct border_align_args *a = list->a;
  vf best[MANY];
  vi step[MANY];
  int64_t c = 0;
  for (; c + MANY * VL <= list->width; c += MANY * VL) {
    find_best(samples, c, MANY, best, step);
    MLUOP_UNROLL
    for (int v = 0; v < MANY; v++) {
      store_best(a, row + c + v * VL, best[v], step[v], is_half, stream);
    }
  }
  for (; c + SOME * VL <= list->width; c += SOME * VL) {
    find_best(samples, c, SOME, best, step);
    MLUOP_UNROLL
    for (int v = 0; v < SOME; v++) {
      store_best(a, row + c + v * VL, best[v], step[v], is_half, stream);
    }
  }
  for (; c < list->width; c += VL) {
    const int64_t n = list->width - c < VL ? list->width - c : VL;
    find_best(samples, c, 1, best, step);
    vf_store_part_as(a->rows_out, row + c, best[0], n, is_half);
    vi_store_part(a->argmax_out + row + c, step[0], n);
  }
}

static void write_rows(const struct border_list *list, const struct border_samples *samples,
                       int64_t row) {
  if (list->a->is_half) {
    border_rows(list, samples, row, 1, 0);
  } else if (list->a->stream) {
    border_rows(list, samples, row, 0, 1);
  } else {
    border_rows(list, samples, row, 0, 0);
  }
}

/* Where and with which weights to look for a border. */
static void find_samples(const struct border_list *list, const struct border *border,
                         struct lines *lines, struct border_samples *samples) {
  struct mluop_axis across;
  samples->count = 0;
  samples->zero_last = 0;
  samples->zero_first = !mluop_axis_at(border->across, list->lines, &across);
  if (samples->zero_first) return;
  const float *low = line_at(list, across.low, lines), *high = line_at(list, across.high, lines);
  const int64_t next = list->a->pixel_floats;
  samples->pixel[0] = low;
  samples->pixel[1] = list->vertical ? high : low + next;
  samples->pixel[2] = list->vertical ? low + next : high;
  samples->pixel[3] = high + next;
  if (list->a->pool_size <= BORDER_ALIGN_POOL_LIMIT) {
    sample_all(samples, border, list, across.frac);
  } else {
    sample_ends(samples, border, list, across.frac);
  }
}

/* The borders at [begin, end) of a list's order. */
static void do_borders(const struct border_list *list, int64_t begin, int64_t end, float *scratch) {
  const struct border_align_args *a = list->a;
  struct lines lines = {{scratch, scratch + a->line_floats}, {-1, -1}};
  struct border_samples samples = {.inside = (void *)(scratch + 2 * a->line_floats)};
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = list->order[i];
    if (a->large && !a->stream && i + 1 < end) {
      const int64_t next = border_row(list, list->order[i + 1]);
      prefetch_elements(a->rows_out, next, list->width, a->is_half);
      prefetch_elements(a->argmax_out, next, list->width, 0);
    }
    const struct border border = border_of(list, k);
    find_samples(list, &border, &lines, &samples);
    write_rows(list, &samples, border_row(list, k));
  }
}

/* Item: a place in the order of a list. */
void MLUOP_VARIANT(border_align_forward)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  const struct border_align_args *a = vargs;
  for (int64_t item = begin; item < end;) {
    const int64_t index = item / a->K, start = index * a->K;
    const int64_t stop = end < start + a->K ? end : start + a->K;
    for (int64_t block = 0; block < a->blocks; block++) {
      const struct border_list list = border_list_of(a, index, block);
      do_borders(&list, item - start, stop - start, scratch);
    }
    item = stop;
  }
  if (a->stream) vf_stream_end();
}
