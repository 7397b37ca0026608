/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align_geometry.h"

/* A line of grad_input is the sum of what borders above it and borders on it send. Who owns the
   line adds these up in scratch memory, in this order and within each in the order of the plan, so
   that the sum does not depend on who owns the neighbours; then the line is written once. */

/* What one border adds to: the sums of its two lines, NULL where there is nothing to add. */
struct targets {
  float *low, *high;
};

/* Pixels along the border that points of it lie next to, and for each the weights of the steps. */
enum { TABLE = 16, MAX_COLUMNS = 2 * TABLE };

struct columns {
  int64_t count;
  int64_t place[MAX_COLUMNS];
  float weight[MAX_COLUMNS][TABLE];
};

static float *column_of(struct columns *columns, int64_t place) {
  int64_t i = columns->count - 1;
  if (i >= 0 && columns->place[i] == place) return columns->weight[i];
  if (i >= 1 && columns->place[i - 1] == place) return columns->weight[i - 1];
  i = columns->count++;
  columns->place[i] = place;
  for (int step = 0; step < TABLE; step++) columns->weight[i][step] = 0.0f;
  return columns->weight[i];
}

/* Steps are taken from low coordinates to high ones: a point then shares its pixels only with the
   two columns that were added last. */
static void find_columns(struct columns *columns, const struct border *border, int64_t pool_size,
                         int64_t places) {
  columns->count = 0;
  for (int64_t i = 0; i <= pool_size; i++) {
    const int64_t step = border->stride < 0.0f ? pool_size - i : i;
    struct mluop_axis along;
    if (!mluop_axis_at(border->start + border->stride * (float)step, places, &along)) continue;
    column_of(columns, along.low)[step] = 1.0f - along.frac;
    if (along.frac != 0.0f) column_of(columns, along.high)[step] = along.frac;
  }
}

MLUOP_INLINE void add_part(float *sum, vm chosen, vf weight, vf grad) {
  vf_store(sum, vf_pin(vf_fma_where(chosen, weight, grad, vf_load(sum))));
}

MLUOP_INLINE void spread_vector(const struct border_align_args *a, const struct columns *columns,
                                const struct targets *to, int64_t c, vi step, vf low, vf high) {
  for (int64_t i = 0; i < columns->count; i++) {
    const int64_t at = columns->place[i] * a->pixel_floats + c;
    const vf weight = vf_lookup16(columns->weight[i], step);
    const vm chosen = vf_nonzero(weight);
    if (to->low != NULL) add_part(to->low + at, chosen, weight, low);
    if (to->high != NULL) add_part(to->high + at, chosen, weight, high);
  }
}

/* Vectors of channels: the weights of a pixel along the border are looked up by the steps. */
MLUOP_INLINE void spread_by_columns(const struct border_align_args *a,
                                    const struct columns *columns, const struct targets *to,
                                    float far, int64_t row, int64_t width, int is_half) {
  const vf low = vf_set(1.0f - far), high = vf_set(far);
  int64_t c = 0;
  for (; c + VL <= width; c += VL) {
    const vf grad = vf_load_as(a->rows, row + c, is_half);
    spread_vector(a, columns, to, c, vi_load(a->argmax + row + c), low * grad, high * grad);
  }
  if (c < width) {
    const vf grad = vf_load_part_as(a->rows, row + c, width - c, is_half);
    const vi step = vi_load_part(a->argmax + row + c, width - c);
    spread_vector(a, columns, to, c, step, low * grad, high * grad);
  }
}

/* Channel by channel, each at its own point: for any pool size. */
MLUOP_INLINE void spread_by_channel(const struct border_align_args *a,
                                    const struct border_list *list, const struct border *border,
                                    const struct targets *to, float far, int64_t row, int64_t width,
                                    int is_half) {
  for (int64_t c = 0; c < width; c++) {
    struct mluop_axis along;
    const float at = border->start + border->stride * (float)a->argmax[row + c];
    if (!mluop_axis_at(at, list->places, &along)) continue;
    const float grad = mluop_load_as(a->rows, row + c, is_half);
    const float low = (1.0f - far) * grad, high = far * grad;
    const int64_t first = along.low * a->pixel_floats + c;
    const int64_t second = along.high * a->pixel_floats + c;
    if (to->low != NULL) to->low[first] += (1.0f - along.frac) * low;
    if (to->high != NULL) to->high[first] += (1.0f - along.frac) * high;
    if (along.frac == 0.0f) continue;
    if (to->low != NULL) to->low[second] += along.frac * low;
    if (to->high != NULL) to->high[second] += along.frac * high;
  }
}

/* Channels [first, first + width) of the rows of one border. */
struct channels {
  int64_t first, width;
};

static void spread_border(const struct border_align_args *a, const struct border_list *list,
                          int64_t k, struct channels channels, struct targets to) {
  const struct border border = border_of(a, list, k);
  const int64_t row = row_of(a, list, k) + channels.first;
  struct mluop_axis across;
  if (!mluop_axis_at(border.across, list->lines, &across)) return;
  if (across.frac == 0.0f) to.high = NULL;
  if (to.low == NULL && to.high == NULL) return;
  const float far = across.frac;
  if (VL >= 8 && a->pool_size < TABLE) {
    struct columns columns;
    find_columns(&columns, &border, a->pool_size, list->places);
    if (a->is_half) {
      spread_by_columns(a, &columns, &to, far, row, channels.width, 1);
    } else {
      spread_by_columns(a, &columns, &to, far, row, channels.width, 0);
    }
  } else if (a->is_half) {
    spread_by_channel(a, list, &border, &to, far, row, channels.width, 1);
  } else {
    spread_by_channel(a, list, &border, &to, far, row, channels.width, 0);
  }
}

/* All borders that lie between `line` and the next one. */
static void spread_line(const struct border_align_args *a, const struct border_list *list,
                        int64_t line, struct channels channels, struct targets to) {
  const int64_t end = list->first[(line + 1) * list->places];
  for (int64_t i = list->first[line * list->places]; i < end; i++) {
    if (a->large && i + 1 < end) {
      const int64_t next = row_of(a, list, list->order[i + 1]) + channels.first;
      prefetch_elements(a->rows, next, channels.width, a->is_half);
      prefetch_elements(a->argmax, next, channels.width, 0);
    }
    spread_border(a, list, list->order[i], channels, to);
  }
}

MLUOP_INLINE void write_line(const struct border_align_args *a, const struct border_list *list,
                             int64_t line, struct channels channels, const float *sums, int is_half,
                             int stream) {
  const int64_t to = list->origin + line * list->line_step + channels.first;
  for (int64_t place = 0; place < list->places; place++) {
    const float *from = sums + place * a->pixel_floats;
    const int64_t at = to + place * list->place_step;
    if (a->large && !stream && place + AHEAD < list->places) {
      prefetch_elements(a->map_out, at + AHEAD * list->place_step, channels.width, is_half);
    }
    int64_t c = 0;
    for (; c + VL <= channels.width; c += VL) {
      if (stream) {
        vf_stream((float *)a->map_out + at + c, vf_load(from + c));
      } else {
        vf_store_as(a->map_out, at + c, vf_load(from + c), is_half);
      }
    }
    const int64_t n = channels.width - c;
    if (n > 0) vf_store_part_as(a->map_out, at + c, vf_load_part(from + c, n), n, is_half);
  }
}

static void finish_line(const struct border_align_args *a, const struct border_list *list,
                        int64_t line, struct channels channels, const float *sums) {
  if (a->is_half) {
    write_line(a, list, line, channels, sums, 1, 0);
  } else if (a->stream) {
    write_line(a, list, line, channels, sums, 0, 1);
  } else {
    write_line(a, list, line, channels, sums, 0, 0);
  }
}

static void clear(const struct border_align_args *a, const struct border_list *list, float *sums) {
  memset(sums, 0, (size_t)(list->places * a->pixel_floats + VL) * sizeof(*sums));
}

/* Lines [begin, end) of a list, for one block of channels. */
static void do_lines(const struct border_align_args *a, const struct border_list *list,
                     int64_t begin, int64_t end, struct channels channels, float *scratch) {
  float *low = scratch, *high = scratch + a->line_floats;
  clear(a, list, low);
  if (begin > 0) spread_line(a, list, begin - 1, channels, (struct targets){NULL, low});
  for (int64_t line = begin; line < end; line++) {
    const int own_next = line + 1 < end;
    if (own_next) clear(a, list, high);
    spread_line(a, list, line, channels, (struct targets){low, own_next ? high : NULL});
    finish_line(a, list, line, channels, low);
    float *const next = high;
    high = low;
    low = next;
  }
}

/* Item: a line of one channel block of one kind of border; per image and block, the H rows of the
   top borders come first, then the W columns of the left ones, and so on. */
void MLUOP_VARIANT(border_align_backward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  const struct border_align_args *a = vargs;
  const int64_t of_image = 2 * (a->H + a->W) * a->blocks;
  for (int64_t item = begin; item < end;) {
    const int64_t n = item / of_image, in_image = item % of_image;
    const int64_t block = in_image / (2 * (a->H + a->W));
    int64_t line = in_image % (2 * (a->H + a->W));
    int64_t b = 0;
    for (int64_t lines = a->H; line >= lines; lines = b % 2 != 0 ? a->W : a->H) {
      line -= lines;
      b++;
    }
    const struct border_list list = border_list_of(a, n * 4 + b);
    const int64_t first = block * a->block, rest = a->C - first;
    const struct channels channels = {first, rest < a->block ? rest : a->block};
    const int64_t count = end - item < list.lines - line ? end - item : list.lines - line;
    do_lines(a, &list, line, line + count, channels, scratch);
    item += count;
  }
  if (a->stream) vf_stream_end();
}
