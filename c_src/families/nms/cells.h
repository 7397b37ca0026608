/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_CELLS_H_
#define MLUOP_FAMILIES_NMS_CELLS_H_

#include "families/nms/select.h"

/* The selected boxes, found by their centres, so that a candidate is compared with few of them.

   Two boxes with extents w and w' along an axis and an IoU above t > 0 share more than
   t * max(w, w') there, and so their centres lie less than (w + w') / 2 - t * max(w, w') apart. For
   a given w that is greatest where w' = w (t >= 1/2), or where w' = w / t:

     |c - c'| < reach * w      reach = 1 - t, or (1/t - 1) / 2 for t < 1/2

   which depends on the candidate alone. The plane is cut into cells, in rows; each candidate has a
   slot of its own, sorted by the cell of its centre. A box that is kept is written to its slot.
   Slots of cells beside each other in a row lie beside each other in memory, so a candidate is
   compared with a few runs of slots, in vectors. A slot that is still empty matches nothing, and
   comparing more slots than needed changes nothing: every pair is decided by its IoU.

   There are some cells for each candidate, and they repeat: the number of a cell is taken modulo a
   power of two. */

/* A smaller threshold reaches so far that comparing with all boxes costs less. */
static const float nms_cells_threshold = 0.05f;

/* Rows and columns are numbers that float32 has exactly. */
static const float nms_cells_limit = 4194304.0f;

/* A candidate, or a box that was kept. */
struct nms_candidate_box {
  struct nms_box box;
  float area;
  int32_t label;
};

struct nms_cells {
  float rows_per_unit, columns_per_unit;
  uint32_t count;
  int column_bits; /* a row has 2^column_bits cells */
  float reach;     /* with a margin for rounding */
  float extra;
  int32_t *begin; /* of each cell, its first slot; of one more, the number of slots */
  int32_t *slot;  /* of each box; -1: it has no cell */
};

/* Cells for so many candidates, as powers of two: columns are narrower than rows are high, since a
   run costs little for each slot. At most 8 cells for each candidate, and 256. */
enum { NMS_COLUMNS_PER_ROW_BITS = 2 };

static inline int nms_row_bits(int64_t candidates) {
  int bits = 3;
  while (bits < 12 && (int64_t)1 << (2 * bits + 1) < candidates) bits++;
  return bits;
}

static inline int64_t nms_cell_count(int row_bits) {
  return (int64_t)1 << (2 * row_bits + NMS_COLUMNS_PER_ROW_BITS);
}

/* Added to the number of a cell, so that boxes of different labels at one place lie in different
   cells. */
MLUOP_INLINE uint32_t nms_cell_of_label(int32_t label) {
  return (uint32_t)label * 0x9e3779b1u >> 6;
}

MLUOP_INLINE int32_t nms_floor(float x) {
  const int32_t truncated = (int32_t)x;
  return truncated - (x < (float)truncated);
}

MLUOP_INLINE float nms_centre(float low, float high) { return (low + high) * 0.5f; }

/* Whether what is said above holds for the computed numbers: a tiny area has few digits, a product
   of huge extents overflows, and far away rows and columns have no exact numbers. */
static inline int nms_has_cell(const struct nms_cells *cells, const struct nms_candidate_box *c) {
  const float row = nms_centre(c->box.y1, c->box.y2) * cells->rows_per_unit;
  const float column = nms_centre(c->box.x1, c->box.x2) * cells->columns_per_unit;
  return c->area >= 1e-30f && c->area <= 1e36f && row > -nms_cells_limit && row < nms_cells_limit &&
         column > -nms_cells_limit && column < nms_cells_limit;
}

/* Cells are numbered along rows; a row is followed by the next, and the last cell by the first. */
MLUOP_INLINE uint32_t nms_cell_at(const struct nms_cells *cells, int32_t row, int32_t column,
                                  int32_t label) {
  const uint32_t at = ((uint32_t)row << cells->column_bits) + (uint32_t)column;
  return (at + nms_cell_of_label(label)) & (cells->count - 1);
}

MLUOP_INLINE uint32_t nms_cell(const struct nms_cells *cells, const struct nms_candidate_box *c) {
  const float y = nms_centre(c->box.y1, c->box.y2) * cells->rows_per_unit;
  const float x = nms_centre(c->box.x1, c->box.x2) * cells->columns_per_unit;
  return nms_cell_at(cells, nms_floor(y), nms_floor(x), c->label);
}

/* The cells that a candidate looks into: `columns` of them from `first` on, and below it in the
   other rows. */
struct nms_range {
  uint32_t first;
  int32_t rows, columns;
};

MLUOP_INLINE uint32_t nms_cell_below(const struct nms_cells *cells, const struct nms_range *range,
                                     int32_t row) {
  return (range->first + ((uint32_t)row << cells->column_bits)) & (cells->count - 1);
}

/* Rows or columns around a centre; false if they are too many, or no numbers. */
MLUOP_INLINE int nms_cells_around(float centre, float reach, float per_unit, int bits,
                                  int32_t *first, int32_t *count) {
  const float low = (centre - reach) * per_unit, high = (centre + reach) * per_unit;
  if (!(high - low < (float)((1 << bits) - 2)) || !(low > -2.0f * nms_cells_limit) ||
      !(high < 2.0f * nms_cells_limit)) {
    return 0;
  }
  *first = nms_floor(low);
  *count = nms_floor(high) - *first + 1;
  return 1;
}

/* False if a candidate reaches around all cells along an axis. */
static inline int nms_find_range(const struct nms_cells *cells, const struct nms_candidate_box *c,
                                 struct nms_range *range) {
  const struct nms_box *b = &c->box;
  const float room_x = 1e-6f * nms_larger(-b->x1, b->x2);
  const float room_y = 1e-6f * nms_larger(-b->y1, b->y2);
  const float reach_x = ((b->x2 - b->x1) + cells->extra) * cells->reach + room_x;
  const float reach_y = ((b->y2 - b->y1) + cells->extra) * cells->reach + room_y;
  int32_t row, column;
  if (!nms_cells_around(nms_centre(b->x1, b->x2), reach_x, cells->columns_per_unit,
                        cells->column_bits, &column, &range->columns) ||
      !nms_cells_around(nms_centre(b->y1, b->y2), reach_y, cells->rows_per_unit,
                        cells->column_bits - NMS_COLUMNS_PER_ROW_BITS, &row, &range->rows)) {
    return 0;
  }
  range->first = nms_cell_at(cells, row, column, c->label);
  return 1;
}

MLUOP_INLINE struct nms_candidate_box nms_candidate_box(const struct nms_set *set, int32_t number) {
  const struct nms_box box = nms_read_box(set->form, set->boxes, number);
  return (struct nms_candidate_box){box, nms_area(box, set->rule->extra), nms_label(set, number)};
}

/* The height that boxes have on average: of the logarithms, nearly, so that a few huge ones do not
   count for more than others. */
static inline float nms_typical_height(const struct nms_list *list, float extra) {
  uint64_t sum = 0, boxes = 0;
  for (int64_t i = 0; i < list->count; i++) {
    if (!(list->area[i] >= 1e-30f && list->area[i] <= 1e36f)) continue;
    sum += mluop_bits_of_float((list->y2[i] - list->y1[i]) + extra);
    boxes++;
  }
  return boxes == 0 ? 1.0f : mluop_float_of_bits((uint32_t)(sum / boxes));
}

/* Sorts the candidates that have a cell by it: counts first, then gives out slots. */
static inline void nms_give_slots(struct nms_cells *cells, const struct nms_set *set,
                                  const struct nms_candidate *all, int64_t count) {
  memset(cells->begin, 0, ((size_t)cells->count + 1) * sizeof(*cells->begin));
  for (int64_t i = 0; i < count; i++) {
    const struct nms_candidate_box c = nms_candidate_box(set, all[i].box);
    const int32_t cell = nms_has_cell(cells, &c) ? (int32_t)nms_cell(cells, &c) : -1;
    cells->slot[all[i].box] = cell;
    cells->begin[cell + 1] += cell >= 0;
  }
  int32_t before = 0;
  for (uint32_t k = 1; k <= cells->count; k++) {
    const int32_t here = cells->begin[k];
    cells->begin[k] = before;
    before += here;
  }
  for (int64_t i = 0; i < count; i++) {
    int32_t *const slot = &cells->slot[all[i].box];
    if (*slot >= 0) *slot = cells->begin[*slot + 1]++;
  }
}

#endif /* MLUOP_FAMILIES_NMS_CELLS_H_ */
