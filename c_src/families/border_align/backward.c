/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/geometry.h"
#include "families/border_align/kernels.h"

/* A line of grad_input is the sum of what borders above it and borders on it send. Who owns the
   line adds these up in scratch memory, in this order and within each in the order of the plan, so
   that the sum does not depend on who owns the neighbours; then the line is written once. */

/* What one border adds to: the sums of its two lines, NULL where there is nothing to add. It lies
   `far` of the way from the first to the second. */
struct targets {
  float *low, *high;
  float far;
};

/* Pixels along the border that points of it lie next to, and for each the weights of the steps. */
enum { TABLE = 16, MAX_COLUMNS = 2 * TABLE, WORTH_A_TABLE = 28 /* channels */ };

struct pixel_columns {
  int64_t count;
  int64_t place[MAX_COLUMNS];
  float weight[MAX_COLUMNS][TABLE];
};

static float *column_of(struct pixel_columns *columns, int64_t place) {
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
static void find_columns(struct pixel_columns *columns, const struct border *border,
                         const struct border_list *list) {
  const int64_t pool_size = list->a->shape.pool_size;
  columns->count = 0;
  for (int64_t i = 0; i <= pool_size; i++) {
    const int64_t step = border->stride < 0.0f ? pool_size - i : i;
    struct mluop_axis along;
    const float at = border->start + border->stride * (float)step;
    if (!mluop_axis_at(at, list->places, &along)) continue;
    column_of(columns, along.low)[step] = 1.0f - along.frac;
    if (along.frac != 0.0f) column_of(columns, along.high)[step] = along.frac;
  }
}

/* Stored as a whole: a later load would wait for a store with a mask. */
MLUOP_INLINE void add_where(float *sum, vm chosen, vf weight, vf grad) {
  vf_store(sum, vf_opaque(vf_fma_where(chosen, weight, grad, vf_load(sum))));
}

/* The weights of a pixel are looked up by the steps of a vector of channels. */
MLUOP_INLINE void spread_vector(const struct pixel_columns *columns, const struct targets *to,
                                int64_t pixel_floats, int64_t c, vi step, vf grad) {
  const vf low = vf_set(1.0f - to->far) * grad, high = vf_set(to->far) * grad;
  for (int64_t i = 0; i < columns->count; i++) {
    const int64_t at = columns->place[i] * pixel_floats + c;
    const vf weight = vf_table16(columns->weight[i], step);
    const vm chosen = vf_nonzero(weight);
    if (to->low != NULL) add_where(to->low + at, chosen, weight, low);
    if (to->high != NULL) add_where(to->high + at, chosen, weight, high);
  }
}

MLUOP_INLINE void spread_by_columns(const struct border_list *list,
                                    const struct pixel_columns *columns, const struct targets *to,
                                    int64_t row, int is_half) {
  const struct border_align_args *a = list->a;
  int64_t c = 0;
  for (; c + VL <= list->width; c += VL) {
    const vf grad = vf_load_as(a->rows, row + c, is_half);
    spread_vector(columns, to, a->plan.pixel_floats, c, vi_load(a->argmax + row + c), grad);
  }
  const int64_t n = list->width - c;
  if (n > 0) {
    const vf grad = vf_load_part_as(a->rows, row + c, n, is_half);
    spread_vector(columns, to, a->plan.pixel_floats, c, vi_load_part(a->argmax + row + c, n), grad);
  }
}

/* A step of a border: its two pixels along it, from the begin of a line on, and their weights. */
struct border_point {
  int64_t first, second;
  float near, far;
  int inside;
};

static struct border_point point_at(const struct border *border, const struct border_list *list,
                                    int64_t step) {
  struct mluop_axis along;
  const float at = border->start + border->stride * (float)step;
  if (!mluop_axis_at(at, list->places, &along)) return (struct border_point){.inside = 0};
  const int64_t next = list->a->plan.pixel_floats;
  return (struct border_point){along.low * next, along.high * next, 1.0f - along.frac, along.frac,
                               1};
}

/* Channel by channel, each at its own point: for any pool size. Points that are fewer than the
   channels are found beforehand. */
MLUOP_INLINE void spread_by_channel(const struct border_list *list, const struct border *border,
                                    const struct targets *to, int64_t row, int is_half) {
  enum { POINTS = 64 };
  const struct border_align_args *a = list->a;
  struct border_point points[POINTS];
  const int known = a->shape.pool_size < POINTS && a->shape.pool_size < list->width;
  for (int64_t step = 0; known && step <= a->shape.pool_size; step++) {
    points[step] = point_at(border, list, step);
  }
  /* Steps have been judged; another thread may have changed them since. */
  const volatile int32_t *const steps = a->argmax + row;
  const uint32_t last = (uint32_t)a->shape.pool_size;
  for (int64_t c = 0; c < list->width; c++) {
    const uint32_t given = (uint32_t)steps[c];
    const int64_t step = given < last ? given : last;
    const struct border_point point = known ? points[step] : point_at(border, list, step);
    if (!point.inside) continue;
    const float grad = mluop_load_as(a->rows, row + c, is_half);
    const float low = (1.0f - to->far) * grad, high = to->far * grad;
    if (to->low != NULL) to->low[point.first + c] += point.near * low;
    if (to->high != NULL) to->high[point.first + c] += point.near * high;
    if (point.far == 0.0f) continue;
    if (to->low != NULL) to->low[point.second + c] += point.far * low;
    if (to->high != NULL) to->high[point.second + c] += point.far * high;
  }
}

static void spread_border(const struct border_list *list, int64_t k, struct targets to) {
  const struct border_align_args *a = list->a;
  const struct border border = border_of(list, k);
  const int64_t row = border_row(list, k);
  struct mluop_axis across;
  if (!mluop_axis_at(border.across, list->lines, &across)) return;
  to.far = across.frac;
  if (to.far == 0.0f) to.high = NULL;
  if (to.low == NULL && to.high == NULL) return;
  if (VL >= 8 && list->width >= WORTH_A_TABLE && a->shape.pool_size < TABLE) {
    struct pixel_columns columns;
    find_columns(&columns, &border, list);
    if (a->shape.is_half) {
      spread_by_columns(list, &columns, &to, row, 1);
    } else {
      spread_by_columns(list, &columns, &to, row, 0);
    }
  } else if (a->shape.is_half) {
    spread_by_channel(list, &border, &to, row, 1);
  } else {
    spread_by_channel(list, &border, &to, row, 0);
  }
}

static void spread_borders(const struct border_list *list, int64_t begin, int64_t end,
                           struct targets to) {
  const struct border_align_args *a = list->a;
  for (int64_t i = begin; i < end; i++) {
    if (a->plan.large && i + 1 < end) {
      const int64_t next = border_row(list, list->order.boxes[i + 1]);
      prefetch_elements(a->rows, next, list->width, a->shape.is_half);
      prefetch_elements(a->argmax, next, list->width, 0);
    }
    spread_border(list, list->order.boxes[i], to);
  }
}

/* The vectors of the last pixel may reach past its channels. */
static int64_t line_size(const struct border_list *list) {
  return list->places * list->a->plan.pixel_floats + VL;
}

static void clear(const struct border_list *list, float *sums) {
  memset(sums, 0, (size_t)line_size(list) * sizeof(*sums));
}

static void add_line(const struct border_list *list, float *sums, const float *part) {
  for (int64_t i = 0; i < line_size(list); i++) sums[i] += part[i];
}

/* All borders that lie between `line` and the next one. Where very many meet, float sums would lose
   digits: they are added up in parts of so many borders, each from 0, in the lines at `spare`. */
static void spread_line(const struct border_list *list, int64_t line, struct targets to,
                        float *spare) {
  const int64_t begin = list->order.first[line], end = list->order.first[line + 1];
  const int64_t part = list->places > 256 ? 2 * list->places : 512;
  if (end - begin <= part) {
    spread_borders(list, begin, end, to);
    return;
  }
  const struct targets parts = {.low = to.low != NULL ? spare : NULL,
                                .high = to.high != NULL ? spare + list->a->plan.line_floats : NULL};
  for (int64_t i = begin; i < end; i += part) {
    if (parts.low != NULL) clear(list, parts.low);
    if (parts.high != NULL) clear(list, parts.high);
    spread_borders(list, i, i + part < end ? i + part : end, parts);
    if (parts.low != NULL) add_line(list, to.low, parts.low);
    if (parts.high != NULL) add_line(list, to.high, parts.high);
  }
}

static void write_line(const struct border_list *list, int64_t line, const float *sums) {
  const struct border_align_args *a = list->a;
  const int is_half = a->shape.is_half;
  for (int64_t place = 0; place < list->places; place++) {
    const float *from = sums + place * a->plan.pixel_floats;
    const int64_t at = list->origin + line * list->line_step + place * list->place_step;
    int64_t c = 0;
    for (; c + VL <= list->width; c += VL) {
      vf_store_as(a->map_out, at + c, vf_load(from + c), is_half);
    }
    const int64_t n = list->width - c;
    if (n > 0) vf_store_part_as(a->map_out, at + c, vf_load_part(from + c, n), n, is_half);
  }
}

/* Lines [begin, end) of a list. */
static void do_lines(const struct border_list *list, int64_t begin, int64_t end, float *lines) {
  const int64_t line_floats = list->a->plan.line_floats;
  float *low = lines, *high = lines + line_floats, *spare = lines + 2 * line_floats;
  clear(list, low);
  if (begin > 0) spread_line(list, begin - 1, (struct targets){.high = low}, spare);
  for (int64_t line = begin; line < end; line++) {
    const int own_next = line + 1 < end;
    if (own_next) clear(list, high);
    const struct targets to = {.low = low, .high = own_next ? high : NULL};
    spread_line(list, line, to, spare);
    write_line(list, line, low);
    float *const next = high;
    high = low;
    low = next;
  }
}

/* Item: a line of one channel block of one kind of border; per image and block, the H rows of the
   top borders come first, then the W columns of the left ones, and so on. */
void MLUOP_VARIANT(border_align_backward)(const void *vargs, int64_t begin, int64_t end,
                                          void *memory) {
  const struct border_align_args *a = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct border_align_scratch scratch = border_align_take(&a->plan, &arena);
  const int64_t of_block = 2 * (a->shape.H + a->shape.W);
  for (int64_t item = begin; item < end;) {
    const int64_t n = item / of_block / a->plan.blocks, block = item / of_block % a->plan.blocks;
    int64_t line = item % of_block, b = 0;
    for (int64_t lines = a->shape.H; line >= lines; lines = b % 2 != 0 ? a->shape.W : a->shape.H) {
      line -= lines;
      b++;
    }
    const struct border_list list = border_list_of(a, n * 4 + b, block);
    const int64_t count = end - item < list.lines - line ? end - item : list.lines - line;
    do_lines(&list, line, line + count, scratch.lines);
    item += count;
  }
}
