/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/runs.h"

/* In NCHW, channels are planes. Between the row of pixels h and the row of targets th, all values
   that move are in two small matrices, whose rows are the row h or th of a plane each:

     collect     y[th*W + tw][h][w]  <->  x[u*w_mask + tw - w + b][h][w]
     distribute  y[h*W + w][th][tw]  <->  x[u*w_mask + tw - w + b][h][w]     b = (w_mask - 1) / 2

   So a row of y is a row of x of which column w comes from w rows before, and distribute has y's
   matrix transposed. VL columns at a time go through registers, in groups of VL rows: log2(VL)
   steps delay those columns by 1, 2, 4 ... rows whose number has that bit. */
struct plane_rows {
  const float *from;
  float *to;
  int64_t from_rows, to_rows; /* not transposed */
  int64_t from_pitch, to_pitch;
  int64_t width, centre; /* W, b */
  int64_t ahead;         /* from here, in floats, to what the next ones are; 0: no prefetch */
};

enum { STEPS = VL == 16 ? 4 : VL == 8 ? 3 : 2 };

/* Columns that a step delays: those whose number from the first, or from the last, has a bit. */
MLUOP_INLINE void set_late(vm late[STEPS], int forward) {
#pragma GCC unroll 4
  for (int step = 0; step < STEPS; step++) {
    float bits[VL];
    for (int i = 0; i < VL; i++) {
      bits[i] = (float)((forward ? i : VL - 1 - i) >> step & 1);
    }
    late[step] = vf_nonzero(vf_load(bits));
  }
}

/* `kept` has the rows before these: of step 0 the last one, of step 1 the last two, and so on. */
MLUOP_INLINE void delay_columns(vf rows[VL], vf kept[VL], const vm late[STEPS]) {
#pragma GCC unroll 4
  for (int step = 0; step < STEPS; step++) {
    const int by = 1 << step;
#pragma GCC unroll 8
    for (int i = 0; i < by; i++) {
      const vf last = rows[VL - by + i];
#pragma GCC unroll 16
      for (int k = VL - by + i; k >= by; k -= by) {
        rows[k] = vf_select(late[step], rows[k - by], rows[k]);
      }
      rows[i] = vf_select(late[step], kept[by - 1 + i], rows[i]);
      kept[by - 1 + i] = last;
    }
  }
}

MLUOP_INLINE void prefetch_vector(const float *from, int64_t ahead) {
  const uintptr_t next = (uintptr_t)from + (uintptr_t)ahead * sizeof(float);
  mluop_prefetch((const void *)next);
  mluop_prefetch((const void *)(next + VL * sizeof(float) - 1));
}

/* Rows `row` to row + VL - 1 of the columns from w on; those that are not there are zero. */
MLUOP_INLINE void load_rows(const struct plane_rows *s, int64_t row, int64_t w, int64_t columns,
                            vf rows[VL], int transposed) {
  const int64_t pitch = s->from_pitch;
  const int64_t begin = mluop_max(0, -row), end = mluop_min(VL, s->from_rows - row);
  const int whole = begin == 0 && end == VL && columns == VL;
  const float *from = s->from + (transposed ? w * pitch + row : row * pitch + w);
  for (int k = 0; k < VL; k++) {
    const int present = begin < end && (transposed ? k < columns : begin <= k && k < end);
    if (whole) {
      rows[k] = vf_load(from + k * pitch);
    } else if (!present) {
      rows[k] = vf_set(0.0f);
    } else if (transposed) {
      rows[k] = vf_load_span(from + k * pitch, begin, end);
    } else {
      rows[k] = vf_load_part(from + k * pitch, columns);
    }
    if (s->ahead != 0 && present) prefetch_vector(from + k * pitch, s->ahead);
  }
  if (transposed) vf_transpose(rows);
}

MLUOP_INLINE void store_rows(const struct plane_rows *s, int64_t row, int64_t w, int64_t columns,
                             vf rows[VL], int transposed) {
  const int64_t pitch = s->to_pitch, left = mluop_min(VL, s->to_rows - row);
  float *to = s->to + (transposed ? w * pitch + row : row * pitch + w);
  const int64_t height = transposed ? columns : left, length = transposed ? left : columns;
  if (transposed) vf_transpose(rows);
  if (height == VL && length == VL) {
    for (int k = 0; k < VL; k++) vf_store(to + k * pitch, rows[k]);
    return;
  }
  for (int k = 0; k < VL; k++) {
    if (k < height) vf_store_part(to + k * pitch, rows[k], length);
  }
}

/* The columns from w on. What comes from before the first row of `to` goes through the registers
   first. */
MLUOP_INLINE void move_columns(const struct plane_rows *s, int64_t w, int64_t columns, int forward,
                               int distribute) {
  const int64_t first = forward ? s->centre - w : w - s->centre + VL - 1;
  vm late[STEPS];
  vf kept[VL];
  set_late(late, forward);
  for (int k = 0; k < VL; k++) kept[k] = vf_set(0.0f);
  for (int64_t row = -VL; row < s->to_rows; row += VL) {
    vf rows[VL];
    load_rows(s, first + row, w, columns, rows, distribute && !forward);
    delay_columns(rows, kept, late);
    if (row >= 0) store_rows(s, row, w, columns, rows, distribute && forward);
  }
}

/* The last columns may overlap those before. */
MLUOP_INLINE void move_plane_rows(const struct plane_rows *s, int forward, int distribute) {
  const int64_t columns = mluop_min(VL, s->width);
  for (int64_t w = 0; w < s->width; w += VL) {
    move_columns(s, mluop_min(w, s->width - columns), columns, forward, distribute);
  }
}

/* Planes of the target that follow each other: those of a mask row, or of a row of targets or
   pixels. For forward, there is a slab for each row of the map; for backward, for each row of the
   mask. */
struct plane_slab {
  const struct psamask_args *a;
  const float *source; /* of the image */
  float *target;       /* of the slab */
  int64_t number, planes;
  struct window rows; /* of the planes: what is not zero */
};

static struct plane_slab slab_at(const struct psamask_args *a, int64_t slab, int forward,
                                 int distribute) {
  const int64_t map = a->H * a->W, slabs = forward ? a->H : a->h_mask;
  const int64_t image = slab / slabs, number = slab % slabs, centre = (a->h_mask - 1) / 2;
  struct plane_slab s = {.a = a, .number = number, .planes = forward ? a->W : a->w_mask};
  s.source = a->source + image * map * (forward ? a->h_mask * a->w_mask : map);
  s.target = a->target + slab * s.planes * map;
  if (forward && distribute) {
    s.rows = window_of(number, a->H, a->h_mask);
  } else {
    const int64_t last = number + centre; /* collect: the last row whose mask reaches this one */
    s.rows.begin = mluop_max(0, forward ? last - a->h_mask + 1 : centre - number);
    s.rows.end = mluop_min(a->H, forward ? last + 1 : centre - number + a->H);
  }
  return s;
}

/* What fills row `row` of the planes of a slab. */
static struct plane_rows plane_rows_at(const struct plane_slab *s, int64_t row, int forward,
                                       int distribute) {
  const struct psamask_args *a = s->a;
  const int64_t map = a->H * a->W, centre = (a->h_mask - 1) / 2;
  struct plane_rows rows = {.from_pitch = map,
                            .from_rows = forward ? a->w_mask : a->W,
                            .to_rows = s->planes,
                            .width = a->W,
                            .centre = (a->w_mask - 1) / 2};
  int64_t ahead;
  if (forward) {
    const int64_t pixel = distribute ? s->number : row, target = distribute ? row : s->number;
    const int64_t mask_row = a->w_mask * map;
    rows.from = s->source + (target - pixel + centre) * mask_row + pixel * a->W;
    ahead = distribute ? mask_row : a->W - mask_row;
  } else {
    const int64_t pixel = row, target = s->number + row - centre;
    const int64_t plane = distribute ? pixel : target, line = distribute ? target : pixel;
    rows.from = s->source + plane * a->W * map + line * a->W;
    ahead = a->W * map + a->W;
  }
  if (a->prefetch && row + 1 < s->rows.end) rows.ahead = ahead;
  return rows;
}

static void zero_rows(const struct plane_slab *s, int64_t begin, int64_t end) {
  const int64_t width = s->a->W, map = s->a->H * width;
  if (begin >= end) return;
  for (int64_t plane = 0; plane < s->planes; plane++) {
    zero_long_run(s->target + plane * map + begin * width, (end - begin) * width, s->a->stream);
  }
}

/* Rows begin to end - 1 of the planes of a slab, which are not zero. They are put together in a
   buffer, of each plane as many as there is room for, since a plane has few bytes of a row. (An odd
   number of lines is between planes there: they must not share a set of the cache.) */
MLUOP_INLINE void move_rows(const struct plane_slab *s, int64_t begin, int64_t end, float *buffer,
                            int forward, int distribute) {
  const int64_t width = s->a->W, map = s->a->H * width;
  const int64_t room = PSAMASK_NCHW_SCRATCH / (int64_t)sizeof(float) / s->planes;
  int64_t most = buffer != NULL ? (room - PSAMASK_NCHW_SPARE) / width : end - begin;
  if (most > LINE_FLOATS) most -= most % LINE_FLOATS; /* rows of whole lines */
  const int64_t pitch = ((most * width + LINE_FLOATS) / LINE_FLOATS | 1) * LINE_FLOATS;
  for (int64_t first = begin, count; first < end; first += count) {
    float *target = s->target + first * width;
    count = mluop_min(most, end - first);
    for (int64_t i = 0; i < count; i++) {
      struct plane_rows rows = plane_rows_at(s, first + i, forward, distribute);
      rows.to = (buffer != NULL ? buffer : target) + i * width;
      rows.to_pitch = buffer != NULL ? pitch : map;
      move_plane_rows(&rows, forward, distribute);
    }
    for (int64_t plane = 0; buffer != NULL && plane < s->planes; plane++, target += map) {
      if (s->a->stream) {
        stream_bytes(target, buffer + plane * pitch, count * width * (int64_t)sizeof(float));
      } else {
        move_run(target, buffer + plane * pitch, count * width);
      }
    }
  }
}

/* Items are rows of slabs. */
MLUOP_INLINE void put_items(const struct psamask_args *a, int64_t begin, int64_t end, float *buffer,
                            int forward, int distribute) {
  while (begin < end) {
    const struct plane_slab slab = slab_at(a, begin / a->H, forward, distribute);
    const int64_t row = begin % a->H, row_end = mluop_min(a->H, row + end - begin);
    const int64_t first = mluop_min(mluop_max(row, slab.rows.begin), row_end);
    const int64_t last = mluop_max(mluop_min(row_end, slab.rows.end), first);
    zero_rows(&slab, row, first);
    move_rows(&slab, first, last, buffer, forward, distribute);
    zero_rows(&slab, last, row_end);
    begin += row_end - row;
  }
  if (a->stream) vf_stream_end();
}

void MLUOP_VARIANT(psamask_nchw)(const void *args, int64_t begin, int64_t end, void *scratch) {
  const struct psamask_args *a = args;
  if (a->forward && a->distributes) {
    put_items(a, begin, end, scratch, 1, 1);
  } else if (a->forward) {
    put_items(a, begin, end, scratch, 1, 0);
  } else if (a->distributes) {
    put_items(a, begin, end, scratch, 0, 1);
  } else {
    put_items(a, begin, end, scratch, 0, 0);
  }
}
