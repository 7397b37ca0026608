/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of seven numbers (x, y, z, dx, dy, dz, heading), seen from above: rectangles dx by dy
   around (x, y), turned by heading. They come in the order of preference. */
#include <math.h>

#include "families/nms/select.h"

struct rectangle {
  double x, y, half_dx, half_dy, cosine, sine;
};

struct point {
  double x, y;
};

/* A rectangle cut by four lines has eight corners. Where corners lie within rounding of a line,
   there may be more: each cut of n corners leaves n plus n / 2 at most. */
enum { NMS_CORNERS = 20 };

struct polygon {
  struct point corner[NMS_CORNERS];
  int count;
};

static double number_of(const struct nms_set *set, int64_t box, int64_t k) {
  const struct nms_form *form = set->form;
  const int64_t at = form->planes ? k * form->n + box : box * 7 + k;
  return (double)mluop_load_as(set->boxes, at, form->boxes_half);
}

/* False for a box that meets no other. */
static int read_rectangle(const struct nms_set *set, int64_t box, struct rectangle *r) {
  double sum = 0.0;
  for (int64_t k = 0; k < 7; k++) sum += 0.0 * number_of(set, box, k); /* NaN or 0 */
  const double dx = number_of(set, box, 3), dy = number_of(set, box, 4);
  if (!(sum == 0.0) || !(dx > 0.0) || !(dy > 0.0)) return 0;
  const double heading = number_of(set, box, 6);
  *r = (struct rectangle){.x = number_of(set, box, 0),
                          .y = number_of(set, box, 1),
                          .half_dx = dx / 2.0,
                          .half_dy = dy / 2.0,
                          .cosine = cos(heading),
                          .sine = sin(heading)};
  return 1;
}

/* The part of a polygon where sign * (x or y) <= limit: corners inside stay, and where an edge
   crosses the line there is a new one. */
static void cut(struct polygon *p, int by_y, double sign, double limit) {
  struct polygon result = {.count = 0};
  for (int i = 0; i < p->count; i++) {
    const struct point a = p->corner[i], b = p->corner[(i + 1) % p->count];
    const double da = sign * (by_y ? a.y : a.x) - limit, db = sign * (by_y ? b.y : b.x) - limit;
    if (da <= 0.0) result.corner[result.count++] = a;
    if ((da < 0.0 && db > 0.0) || (da > 0.0 && db < 0.0)) {
      const double t = da / (da - db);
      result.corner[result.count++] = (struct point){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
    }
  }
  *p = result;
}

static double polygon_area(const struct polygon *p) {
  double twice = 0.0;
  for (int i = 0; i < p->count; i++) {
    const struct point a = p->corner[i], b = p->corner[(i + 1) % p->count];
    twice += a.x * b.y - b.x * a.y;
  }
  return fabs(twice) / 2.0;
}

/* `b` is seen from `a`, whose sides are then along the axes. */
static double shared_area(const struct rectangle *a, const struct rectangle *b) {
  const double dx = b->x - a->x, dy = b->y - a->y;
  const double x = dx * a->cosine + dy * a->sine, y = dy * a->cosine - dx * a->sine;
  const double cosine = b->cosine * a->cosine + b->sine * a->sine;
  const double sine = b->sine * a->cosine - b->cosine * a->sine;
  struct polygon p = {.count = 4};
  for (int i = 0; i < 4; i++) {
    const double u = i == 0 || i == 3 ? b->half_dx : -b->half_dx;
    const double v = i < 2 ? b->half_dy : -b->half_dy;
    p.corner[i] = (struct point){x + u * cosine - v * sine, y + u * sine + v * cosine};
  }
  cut(&p, 0, 1.0, a->half_dx);
  cut(&p, 0, -1.0, a->half_dx);
  cut(&p, 1, 1.0, a->half_dy);
  cut(&p, 1, -1.0, a->half_dy);
  return polygon_area(&p);
}

static double rotated_iou(const struct rectangle *a, const struct rectangle *b) {
  const double shared = shared_area(a, b);
  const double joined = 4.0 * a->half_dx * a->half_dy + 4.0 * b->half_dx * b->half_dy - shared;
  return shared / (joined > 1e-8 ? joined : 1e-8);
}

/* Kept rectangles; circles around them tell quickly which ones can meet another. */
struct kept_rectangles {
  struct rectangle *all;
  float *x, *y, *radius;
  int64_t count;
};

/* A circle that is a little larger than it must be, so that its rounding does not matter. */
static float radius_around(const struct rectangle *r) {
  const double reach = fabs(r->x) + fabs(r->y);
  return (float)((r->half_dx + r->half_dy + reach * 1e-6) * 1.00001);
}

static int block_is_near(const struct kept_rectangles *kept, int64_t first, int64_t end, float x,
                         float y, float radius) {
  int near = 0;
  for (int64_t i = first; i < end; i++) {
    const float limit = kept->radius[i] + radius;
    near |= !(fabsf(kept->x[i] - x) > limit) & !(fabsf(kept->y[i] - y) > limit);
  }
  return near;
}

static int is_suppressed(const struct kept_rectangles *kept, const struct rectangle *r,
                         double threshold) {
  const float x = (float)r->x, y = (float)r->y, radius = radius_around(r);
  for (int64_t first = 0; first < kept->count; first += NMS_BLOCK) {
    const int64_t end = first + NMS_BLOCK < kept->count ? first + NMS_BLOCK : kept->count;
    /* Below 0 every pair counts, also one that shares nothing. */
    if (threshold >= 0.0 && !block_is_near(kept, first, end, x, y, radius)) continue;
    for (int64_t i = first; i < end; i++) {
      if (rotated_iou(&kept->all[i], r) > threshold) return 1;
    }
  }
  return 0;
}

int64_t MLUOP_VARIANT(nms_select_rotated)(const struct nms_set *set, char *memory) {
  const int64_t n = set->form->n, bytes = n * (int64_t)sizeof(float);
  struct kept_rectangles kept = {.all = nms_take(&memory, n * (int64_t)sizeof(*kept.all)),
                                 .x = nms_take(&memory, bytes),
                                 .y = nms_take(&memory, bytes),
                                 .radius = nms_take(&memory, bytes)};
  int64_t count = 0;
  for (int64_t i = 0; i < n && !nms_ends(set, i); i++) {
    struct rectangle r;
    if (read_rectangle(set, i, &r)) {
      if (is_suppressed(&kept, &r, (double)set->rule->iou_threshold)) continue;
      kept.all[kept.count] = r;
      kept.x[kept.count] = (float)r.x;
      kept.y[kept.count] = (float)r.y;
      kept.radius[kept.count] = radius_around(&r);
      kept.count++;
    }
    set->scores_out[count] = 0.0f;
    set->kept[count++] = (int32_t)i;
  }
  return count;
}
