/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/border_align.h"

#include "kernels/bilinear.h"
#include "kernels/simd.h"

/* A border is walked from a corner of its box along one axis. */
struct border {
  float x, y, dx, dy;
};

static struct border border_of(const struct border_align_args *a, int64_t row, int b) {
  float box[4];
  for (int i = 0; i < 4; i++) box[i] = mluop_load_as(a->boxes, row * 4 + i, a->is_half);
  const float dx = (box[2] - box[0]) / (float)a->pool_size;
  const float dy = (box[3] - box[1]) / (float)a->pool_size;
  switch (b) {
    case 0:
      return (struct border){box[0], box[1], dx, 0.0f};
    case 1:
      return (struct border){box[0], box[1], 0.0f, dy};
    case 2:
      return (struct border){box[2], box[3], -dx, 0.0f};
    default:
      return (struct border){box[2], box[3], 0.0f, -dy};
  }
}

/* The pixels around a point, in rows of the map, and their weights. */
struct corners {
  int64_t pixel[4];
  float weight[4];
};

static int corners_at(float y, float x, int64_t H, int64_t W, struct corners *corners) {
  struct mluop_axis v, h;
  if (!mluop_axis_at(y, H, &v) || !mluop_axis_at(x, W, &h)) return 0;
  const float hy = 1.0f - v.frac, hx = 1.0f - h.frac;
  *corners = (struct corners){
      {v.low * W + h.low, v.low * W + h.high, v.high * W + h.low, v.high * W + h.high},
      {hy * hx, hy * h.frac, v.frac * hx, v.frac * h.frac}};
  return 1;
}

/* Item: a box. Scratch: C floats. */
void MLUOP_VARIANT(border_align_forward)(const void *vargs, int64_t begin, int64_t end,
                                         void *scratch) {
  const struct border_align_args *a = vargs;
  float *best = scratch;
  for (int64_t item = begin * 4; item < end * 4; item++) {
    const int64_t row = item / 4, n = row / a->K, first = item * a->C;
    const int b = (int)(item % 4);
    struct border at = border_of(a, row, b);
    for (int64_t i = 0; i <= a->pool_size; i++, at.x += at.dx, at.y += at.dy) {
      struct corners corners = {{0}, {0}};
      const int inside = corners_at(at.y, at.x, a->H, a->W, &corners);
      for (int64_t c = 0; c < a->C; c++) {
        float p[4];
        for (int q = 0; q < 4; q++) {
          const int64_t pixel = n * a->H * a->W + corners.pixel[q];
          p[q] = corners.weight[q] * mluop_load_as(a->map, (pixel * 4 + b) * a->C + c, a->is_half);
        }
        const float value = inside ? p[0] + p[1] + p[2] + p[3] : 0.0f;
        if (i == 0 || value > best[c]) {
          best[c] = value;
          a->argmax[first + c] = (int32_t)i;
        }
      }
    }
    for (int64_t c = 0; c < a->C; c++) mluop_store_as(a->output, first + c, best[c], a->is_half);
  }
}

/* Item: an image and border. Scratch: H * W * C floats. */
void MLUOP_VARIANT(border_align_backward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  const struct border_align_args *a = vargs;
  const int64_t pixels = a->H * a->W;
  float *sums = scratch;
  for (int64_t item = begin; item < end; item++) {
    const int64_t n = item / 4;
    const int b = (int)(item % 4);
    memset(sums, 0, (size_t)(pixels * a->C) * sizeof(*sums));
    for (int64_t row = n * a->K; row < (n + 1) * a->K; row++) {
      const struct border at = border_of(a, row, b);
      for (int64_t c = 0; c < a->C; c++) {
        const float i = (float)a->chosen[(row * 4 + b) * a->C + c];
        const float grad = mluop_load_as(a->grad, (row * 4 + b) * a->C + c, a->is_half);
        struct corners corners;
        if (!corners_at(at.y + at.dy * i, at.x + at.dx * i, a->H, a->W, &corners)) continue;
        for (int q = 0; q < 4; q++) {
          if (corners.weight[q] == 0.0f) continue;
          sums[corners.pixel[q] * a->C + c] += corners.weight[q] * grad;
        }
      }
    }
    for (int64_t i = 0; i < pixels * a->C; i++) {
      const int64_t pixel = n * pixels + i / a->C;
      mluop_store_as(a->grad_map, (pixel * 4 + b) * a->C + i % a->C, sums[i], a->is_half);
    }
  }
}
