/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align_samples.h"

/* The two lines of the map that a border lies between, one channel block of them, as floats. Line i
   is in slot i % 2. Behind the last pixel stands a copy of it, so that the pixel after `low` can be
   read with any `low`. */
struct lines {
  float *slot[2];
  int64_t line[2]; /* what is in the slots; -1: nothing yet */
};

/* Channels [first, first + width) of the rows of one border. */
struct channels {
  int64_t first, width;
};

MLUOP_INLINE void copy_pixel(float *to, const void *map, int64_t from, int64_t width, int is_half) {
  int64_t c = 0;
  for (; c + VL <= width; c += VL) vf_store(to + c, vf_load_as(map, from + c, is_half));
  if (c < width)
    vf_store_part(to + c, vf_load_part_as(map, from + c, width - c, is_half), width - c);
}

MLUOP_INLINE void copy_line(const struct border_align_args *a, const struct border_list *list,
                            int64_t line, struct channels channels, float *to, int is_half) {
  const int64_t from = list->origin + line * list->line_step + channels.first;
  for (int64_t place = 0; place <= list->places; place++) {
    const int64_t source = place < list->places ? place : list->places - 1;
    if (place + AHEAD < list->places) {
      prefetch_elements(a->map, from + (place + AHEAD) * list->place_step, channels.width, is_half);
    }
    copy_pixel(to + place * a->pixel_floats, a->map, from + source * list->place_step,
               channels.width, is_half);
  }
}

static const float *line_at(const struct border_align_args *a, const struct border_list *list,
                            int64_t line, struct channels channels, struct lines *lines) {
  const int64_t slot = line % 2;
  if (lines->line[slot] != line) {
    lines->line[slot] = line;
    if (a->is_half) {
      copy_line(a, list, line, channels, lines->slot[slot], 1);
    } else {
      copy_line(a, list, line, channels, lines->slot[slot], 0);
    }
  }
  return lines->slot[slot];
}

/* The four pixels of a sample, for an offset of 0, in the order of the weights. */
struct pixels {
  const float *at[4];
};

MLUOP_INLINE vf value_at(const struct border_sample *sample, const struct pixels *pixels,
                         int64_t c) {
  const int64_t at = sample->offset + c;
  const vf p1 = vf_load(pixels->at[0] + at) * vf_set(sample->weight[0]);
  const vf p2 = vf_load(pixels->at[1] + at) * vf_set(sample->weight[1]);
  const vf p3 = vf_load(pixels->at[2] + at) * vf_set(sample->weight[2]);
  const vf p4 = vf_load(pixels->at[3] + at) * vf_set(sample->weight[3]);
  return p1 + p2 + p3 + p4;
}

/* The largest values of `vectors` vectors of channels from c on, and the steps that reach them. A
   later NaN compares as not greater; one at the first step is never replaced. */
MLUOP_INLINE void find_best(const struct border_samples *samples, const struct pixels *pixels,
                            int64_t c, int vectors, vf *best, vi *step) {
  int64_t i = 0;
  MLUOP_UNROLL
  for (int v = 0; v < vectors; v++) {
    best[v] = vf_set(0.0f);
    step[v] = vi_set(0);
  }
  if (!samples->zero_first) {
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) best[v] = value_at(&samples->inside[0], pixels, c + v * VL);
    i = 1;
  }
  for (; i < samples->count; i++) {
    const struct border_sample *sample = &samples->inside[i];
    const vi this_step = vi_pin(vi_set(sample->step));
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) {
      const vf value = value_at(sample, pixels, c + v * VL);
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

enum { UNROLL = VL == 16 ? 8 : 4 };

MLUOP_INLINE void border_rows(const struct border_align_args *a,
                              const struct border_samples *samples, const struct pixels *pixels,
                              int64_t row, int64_t width, int is_half, int stream) {
  vf best[UNROLL];
  vi step[UNROLL];
  int64_t c = 0;
  for (; c + UNROLL * VL <= width; c += UNROLL * VL) {
    find_best(samples, pixels, c, UNROLL, best, step);
    MLUOP_UNROLL
    for (int v = 0; v < UNROLL; v++) {
      const int64_t at = row + c + v * VL;
      if (stream && !is_half) {
        vf_stream((float *)a->rows_out + at, best[v]);
      } else {
        vf_store_as(a->rows_out, at, best[v], is_half);
      }
      if (stream) {
        vi_stream(a->argmax_out + at, step[v]);
      } else {
        vi_store(a->argmax_out + at, step[v]);
      }
    }
  }
  for (; c < width; c += VL) {
    const int64_t n = width - c < VL ? width - c : VL;
    find_best(samples, pixels, c, 1, best, step);
    vf_store_part_as(a->rows_out, row + c, best[0], n, is_half);
    vi_store_part(a->argmax_out + row + c, step[0], n);
  }
}

static void do_border(const struct border_align_args *a, const struct border_samples *samples,
                      const struct pixels *pixels, int64_t row, int64_t width) {
  if (a->is_half) {
    border_rows(a, samples, pixels, row, width, 1, 0);
  } else if (a->stream) {
    border_rows(a, samples, pixels, row, width, 0, 1);
  } else {
    border_rows(a, samples, pixels, row, width, 0, 0);
  }
}

/* The borders at [begin, end) of a list's order, for one block of channels. */
static void do_borders(const struct border_align_args *a, const struct border_list *list,
                       int64_t begin, int64_t end, struct channels channels, void *scratch) {
  float *const line_memory = scratch;
  struct lines lines = {{line_memory, line_memory + a->line_floats}, {-1, -1}};
  struct border_samples samples = {.inside = (void *)(line_memory + 2 * a->line_floats)};
  for (int64_t i = begin; i < end; i++) {
    const int64_t k = list->order[i];
    if (a->large && !a->stream && i + 1 < end) {
      const int64_t next = row_of(a, list, list->order[i + 1]) + channels.first;
      prefetch_elements(a->rows_out, next, channels.width, a->is_half);
      prefetch_elements(a->argmax_out, next, channels.width, 0);
    }
    const struct border border = border_of(a, list, k);
    struct pixels pixels = {{NULL}};
    struct mluop_axis across;
    samples.count = 0;
    samples.zero_first = 1;
    samples.zero_last = 0;
    if (mluop_axis_at(border.across, list->lines, &across)) {
      const float *low = line_at(a, list, across.low, channels, &lines);
      const float *high = line_at(a, list, across.high, channels, &lines);
      pixels = (struct pixels){{low, low + a->pixel_floats, high, high + a->pixel_floats}};
      if (list->vertical) {
        pixels.at[1] = high;
        pixels.at[2] = low + a->pixel_floats;
      }
      samples.zero_first = 0;
      if (a->pool_size <= BORDER_ALIGN_POOL_LIMIT) {
        sample_all(&samples, &border, a->pool_size, list, across.frac, a->pixel_floats);
      } else {
        sample_ends(&samples, &border, a->pool_size, list, across.frac, a->pixel_floats);
      }
    }
    const int64_t row = row_of(a, list, k) + channels.first;
    do_border(a, &samples, &pixels, row, channels.width);
  }
}

/* Item: a place in the order of a list. */
void MLUOP_VARIANT(border_align_forward)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  const struct border_align_args *a = vargs;
  for (int64_t item = begin; item < end;) {
    const int64_t index = item / a->K, start = index * a->K;
    const int64_t stop = end < start + a->K ? end : start + a->K;
    const struct border_list list = border_list_of(a, index);
    for (int64_t block = 0; block < a->blocks; block++) {
      const int64_t first = block * a->block, rest = a->C - first;
      const struct channels channels = {first, rest < a->block ? rest : a->block};
      do_borders(a, &list, item - start, stop - start, channels, scratch);
    }
    item = stop;
  }
  if (a->stream) vf_stream_end();
}
