/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_GRID_H_
#define MLUOP_FAMILIES_NMS_GRID_H_

#include "families/nms/boxes.h"

/* The selected boxes, found by place and size, so that a candidate is compared with few of them.

   If two boxes have an IoU above a threshold t > 0, then along each axis their common part is
   longer than t times either extent. Two things follow, which hold for the computed IoU as well,
   since the margins below are far wider than its rounding:
   - The larger extents of the two differ by less than the factor 1/t. Boxes are kept in levels:
   level L has those with a larger extent between 2^(L-1) and 2^L, in square cells of 2^(L-1). A box
   lies in up to nine cells of its level, and a candidate looks into the levels around its own.
   - Of points that divide an extent of the candidate into parts not longer than t, the other box
     covers one: the middle for t = 1/2 and above. A candidate looks into the cells of its points.
   A cell is found by a hash: boxes of another cell in the same list cost time and change nothing,
   since every pair is decided by its IoU. */

enum {
  NMS_CELLS_PER_BOX = 9,
  NMS_LEVELS = 256, /* by the exponent of a float */
  NMS_MOST_POINTS = 3
};

/* A smaller threshold needs more points and levels than comparing with all boxes is worth. */
static const float nms_grid_threshold = 0.25f;

/* A candidate, or a box that was kept. */
struct nms_candidate_box {
  struct nms_box box;
  float area;
  int32_t label;
};

/* A kept box in the list of a cell. */
struct nms_entry {
  int32_t box;
  int32_t next; /* entry of the same list, or -1 */
};

struct nms_grid {
  int32_t *heads; /* of 2^bits lists */
  int bits;
  struct nms_entry *entries;
  int32_t entry_count;
  struct nms_candidate_box *boxes;
  int32_t count;
  int points;  /* of a candidate along each axis */
  float ratio; /* of the larger extents of boxes that meet, at most; with a margin */
  unsigned char used[NMS_LEVELS]; /* levels with boxes */
};

/* Lists for up to `boxes` boxes: enough of them to be short. */
static inline int nms_grid_bits(int64_t boxes) {
  int bits = 6;
  while (bits < 24 && ((int64_t)1 << bits) < 4 * boxes) bits++;
  return bits;
}

static inline void nms_grid_start(struct nms_grid *grid, float threshold) {
  memset(grid->heads, 0xff, sizeof(*grid->heads) << grid->bits);
  memset(grid->used, 0, sizeof(grid->used));
  grid->count = grid->entry_count = 0;
  const float parts = 1.0f / threshold - 1e-4f;
  grid->points = parts > 3.0f ? 3 : parts > 2.0f ? 2 : 1;
  grid->ratio = 1.01f / threshold;
}

/* 2^L is larger than the size, and not more than twice as large; L is counted from 0. */
MLUOP_INLINE int nms_level(float size) { return (int)(mluop_bits_of_float(size) >> 23); }

/* 2 / 2^L, exact. */
MLUOP_INLINE double nms_cells_per_unit(int level) {
  const uint64_t bits = (uint64_t)(1023 + 127 - level) << 52;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

MLUOP_INLINE int64_t nms_floor(double x) {
  const int64_t truncated = (int64_t)x;
  return truncated - (x < (double)truncated);
}

MLUOP_INLINE int32_t *nms_cell(const struct nms_grid *grid, int level, int64_t x, int64_t y,
                               int32_t label) {
  uint64_t hash = (uint64_t)x * 0x9e3779b97f4a7c15u + (uint64_t)y;
  hash = (hash ^ (uint64_t)level << 32 ^ (uint32_t)label) * 0xd6e8feb86659fd93u;
  return &grid->heads[hash >> (64 - grid->bits)];
}

/* The larger extent of a box. */
MLUOP_INLINE float nms_size(struct nms_box box, float extra) {
  return nms_larger((box.x2 - box.x1) + extra, (box.y2 - box.y1) + extra);
}

/* Whether the margins are wide enough for a box: a tiny area has few digits, products of a huge one
   overflow, and a box far from 0 for its size would need large numbers of cells. */
static inline int nms_fits_grid(struct nms_box box, float area, float extra) {
  const float size = nms_size(box, extra);
  const float reach = nms_larger(nms_larger(-box.x1, box.x2), nms_larger(-box.y1, box.y2));
  return area >= 1e-30f && area <= 1e36f && size <= 1e30f && reach <= 1e5f * size;
}

/* Where a box lies along one axis, with its margin, in cells. */
struct nms_cells {
  int64_t first, last;
};

MLUOP_INLINE struct nms_cells nms_cells(float low, float high, float extra, double scale) {
  const double margin = (double)((high - low) + extra) / 512.0 + 0.5 * (double)extra;
  return (struct nms_cells){nms_floor(((double)low - margin) * scale),
                            nms_floor(((double)high + margin) * scale)};
}

static inline void nms_grid_add(struct nms_grid *grid, const struct nms_candidate_box *c,
                                float extra) {
  const int level = nms_level(nms_size(c->box, extra) * 1.01f);
  const double scale = nms_cells_per_unit(level);
  const struct nms_cells x = nms_cells(c->box.x1, c->box.x2, extra, scale);
  const struct nms_cells y = nms_cells(c->box.y1, c->box.y2, extra, scale);
  grid->used[level] = 1;
  grid->boxes[grid->count] = *c;
  for (int64_t cy = y.first; cy <= y.last; cy++) {
    for (int64_t cx = x.first; cx <= x.last; cx++) {
      int32_t *head = nms_cell(grid, level, cx, cy, c->label);
      grid->entries[grid->entry_count] = (struct nms_entry){grid->count, *head};
      *head = grid->entry_count++;
    }
  }
  grid->count++;
}

/* IoU > threshold, by a division only where a product does not tell. Areas in the grid are far from
   the limits of floats, and nms_grid_threshold is far above the rounding. */
MLUOP_INLINE int nms_exceeds(const struct nms_candidate_box *kept,
                             const struct nms_candidate_box *c, float extra, float threshold) {
  const float shared = nms_intersection(kept->box, c->box, extra);
  const float joined = (kept->area + c->area) - shared;
  const float limit = threshold * joined;
  if (shared < 0.999f * limit) return 0;
  if (shared > 1.001f * limit) return 1;
  return shared / joined > threshold;
}

/* A point of a candidate, with more room around it than the margins of the boxes in the grid are.
 */
struct nms_point {
  float x_low, x_high, y_low, y_high;
};

MLUOP_INLINE int nms_covers(const struct nms_box *box, struct nms_point point) {
  return (box->x1 <= point.x_high) & (box->x2 >= point.x_low) & (box->y1 <= point.y_high) &
         (box->y2 >= point.y_low);
}

/* Only boxes that cover the point are compared: another one has a point of its own. */
MLUOP_INLINE int nms_cell_suppresses(const struct nms_grid *grid, int32_t at,
                                     const struct nms_candidate_box *c, struct nms_point point,
                                     const struct nms_rule *rule) {
  for (; at >= 0; at = grid->entries[at].next) {
    const struct nms_candidate_box *kept = &grid->boxes[grid->entries[at].box];
    if (!nms_covers(&kept->box, point) || kept->label != c->label) continue;
    if (nms_exceeds(kept, c, rule->extra, rule->iou_threshold)) return 1;
  }
  return 0;
}

/* The levels that a candidate looks into, and its cells in the first of them: those of the next one
   are twice as large. */
struct nms_levels {
  int first, last;
};

MLUOP_INLINE int nms_point_suppresses(const struct nms_grid *grid, struct nms_levels levels,
                                      const struct nms_candidate_box *c, double x, double y,
                                      float room, const struct nms_rule *rule) {
  const struct nms_point point = {(float)x - room, (float)x + room, (float)y - room,
                                  (float)y + room};
  const double scale = nms_cells_per_unit(levels.first);
  int64_t cx = nms_floor(x * scale), cy = nms_floor(y * scale);
  for (int level = levels.first; level <= levels.last; level++, cx >>= 1, cy >>= 1) {
    if (!grid->used[level]) continue;
    const int32_t at = *nms_cell(grid, level, cx, cy, c->label);
    if (nms_cell_suppresses(grid, at, c, point, rule)) return 1;
  }
  return 0;
}

/* Whether a box in the grid suppresses the candidate. */
static inline int nms_grid_suppresses(const struct nms_grid *grid,
                                      const struct nms_candidate_box *c,
                                      const struct nms_rule *rule) {
  const float size = nms_size(c->box, rule->extra);
  const struct nms_levels levels = {nms_level(size / grid->ratio),
                                    nms_level(size * 1.02f * grid->ratio)};
  const float room = size / 32.0f + 0.5f * rule->extra;
  const double step = 1.0 / (grid->points + 1);
  const double x1 = (double)c->box.x1 - 0.5 * (double)rule->extra;
  const double y1 = (double)c->box.y1 - 0.5 * (double)rule->extra;
  const double step_x = ((double)c->box.x2 - (double)c->box.x1 + (double)rule->extra) * step;
  const double step_y = ((double)c->box.y2 - (double)c->box.y1 + (double)rule->extra) * step;
  for (int j = 1; j <= grid->points; j++) {
    for (int i = 1; i <= grid->points; i++) {
      if (nms_point_suppresses(grid, levels, c, x1 + i * step_x, y1 + j * step_y, room, rule)) {
        return 1;
      }
    }
  }
  return 0;
}

#endif /* MLUOP_FAMILIES_NMS_GRID_H_ */
