/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_BOXES_H_
#define MLUOP_FAMILIES_NMS_BOXES_H_

#include "families/nms/job.h"
#include "vector/simd.h"

/* Boxes and how much they overlap. Every operation is rounded once, in the order of the contract,
   and nothing is contracted: every instruction set selects the same boxes. */

struct nms_box {
  float x1, y1, x2, y2;
};

MLUOP_INLINE float nms_smaller(float a, float b) { return a < b ? a : b; }
MLUOP_INLINE float nms_larger(float a, float b) { return a > b ? a : b; }

/* The corners of box `i`, each axis in order: an upside-down box is the box that it means. */
static inline struct nms_box nms_read_box(const struct nms_form *form, const void *boxes,
                                          int64_t i) {
  float v[4];
  for (int64_t k = 0; k < 4; k++) {
    v[k] = mluop_load_as(boxes, form->planes ? k * form->n + i : i * 4 + k, form->boxes_half);
  }
  if (form->centres) {
    const float x1 = v[0] - 0.5f * v[2], y1 = v[1] - 0.5f * v[3];
    v[2] = x1 + v[2];
    v[3] = y1 + v[3];
    v[0] = x1;
    v[1] = y1;
  }
  const int flip_x = v[0] > v[2], flip_y = v[1] > v[3];
  return (struct nms_box){flip_x ? v[2] : v[0], flip_y ? v[3] : v[1], flip_x ? v[0] : v[2],
                          flip_y ? v[1] : v[3]};
}

MLUOP_INLINE float nms_area(struct nms_box box, float extra) {
  return ((box.x2 - box.x1) + extra) * ((box.y2 - box.y1) + extra);
}

MLUOP_INLINE float nms_intersection(struct nms_box a, struct nms_box b, float extra) {
  const float w = (nms_smaller(a.x2, b.x2) - nms_larger(a.x1, b.x1)) + extra;
  const float h = (nms_smaller(a.y2, b.y2) - nms_larger(a.y1, b.y1)) + extra;
  return nms_larger(w, 0.0f) * nms_larger(h, 0.0f);
}

/* Of the box that was selected, of `area`, and another one. */
MLUOP_INLINE float nms_iou(struct nms_box box, float area, struct nms_box other, float other_area,
                           float extra) {
  const float shared = nms_intersection(box, other, extra);
  return shared / ((area + other_area) - shared);
}

/* Boxes as arrays, so that many are compared at once. Arrays end with a whole block of NMS_BLOCK:
   the box that is not there has its ends the wrong way round, so far apart that it shares nothing
   with any other, and an area, so that nothing comes to NaN. */
enum { NMS_BLOCK = 64 };

static const struct nms_box nms_nothing = {1e30f, 1e30f, -1e30f, -1e30f};

struct nms_list {
  float *x1, *y1, *x2, *y2, *area;
  int64_t count;
};

MLUOP_INLINE int64_t nms_whole_blocks(int64_t count) {
  return (count + NMS_BLOCK - 1) / NMS_BLOCK * NMS_BLOCK;
}

MLUOP_INLINE void nms_put(const struct nms_list *list, int64_t at, struct nms_box box, float area) {
  list->x1[at] = box.x1;
  list->y1[at] = box.y1;
  list->x2[at] = box.x2;
  list->y2[at] = box.y2;
  list->area[at] = area;
}

static inline void nms_append(struct nms_list *list, struct nms_box box, float area) {
  const int64_t at = list->count++;
  if (at % NMS_BLOCK == 0) {
    for (int64_t i = at; i < at + NMS_BLOCK; i++) nms_put(list, i, nms_nothing, 1.0f);
  }
  nms_put(list, at, box, area);
}

#endif /* MLUOP_FAMILIES_NMS_BOXES_H_ */
