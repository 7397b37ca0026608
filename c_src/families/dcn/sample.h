/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_SAMPLE_H_
#define MLUOP_FAMILIES_DCN_SAMPLE_H_

#include "families/dcn/job.h"
#include "vector/simd.h"

/* Where a tap samples the map: between the rows y0 and y0 + 1, columns x0 and x0 + 1. */
struct dcn_sample {
  int inside;
  int64_t at[4];   /* the corners' pixels of the whole tensor, -1 outside of the map */
  float weight[4]; /* in the order (y0, x0), (y0, x0+1), (y0+1, x0), (y0+1, x0+1) */
  float ly, lx;
  float mask;
};

MLUOP_INLINE int64_t dcn_floor(float v) {
  const int64_t truncated = (int64_t)v;
  return truncated - (v < (float)truncated);
}

/* Of output pixel (n, p, q), tap t, group d. One rounding for each operation. */
static inline struct dcn_sample dcn_sample_at(const struct dcn_args *a, int64_t n, int64_t p,
                                              int64_t q, int64_t t, int64_t d) {
  const struct dcn_shape *s = &a->shape;
  const int64_t i = t / s->kw, j = t % s->kw, taps = s->kh * s->kw;
  const int64_t at = (((n * s->ho + p) * s->wo + q) * s->deformable_groups + d) * taps + t;
  const float offset_y = mluop_load_as(a->data.offset, at * 2, s->is_half);
  const float offset_x = mluop_load_as(a->data.offset, at * 2 + 1, s->is_half);
  const float y = (float)(p * s->stride_h - s->pad_top + i * s->dilation_h) + offset_y;
  const float x = (float)(q * s->stride_w - s->pad_left + j * s->dilation_w) + offset_x;
  struct dcn_sample r = {.inside = 0};
  if (!(y > -1.0f && y < (float)s->H && x > -1.0f && x < (float)s->W)) return r;
  r.inside = 1;
  r.mask = a->data.mask != NULL ? mluop_load_as(a->data.mask, at, s->is_half) : 1.0f;
  const int64_t y0 = dcn_floor(y), x0 = dcn_floor(x);
  r.ly = y - (float)y0;
  r.lx = x - (float)x0;
  const float hy = 1.0f - r.ly, hx = 1.0f - r.lx;
  r.weight[0] = hy * hx;
  r.weight[1] = hy * r.lx;
  r.weight[2] = r.ly * hx;
  r.weight[3] = r.ly * r.lx;
  for (int k = 0; k < 4; k++) {
    const int64_t row = y0 + k / 2, column = x0 + k % 2;
    const int in_map = row >= 0 && row < s->H && column >= 0 && column < s->W;
    r.at[k] = in_map ? (n * s->H + row) * s->W + column : -1;
  }
  return r;
}

/* Corner k of channel c, 0 outside of the map. */
static inline float dcn_corner(const struct dcn_args *a, const struct dcn_sample *r, int k,
                               int64_t c) {
  if (r->at[k] < 0) return 0.0f;
  return mluop_load_as(a->data.input, r->at[k] * a->shape.C + c, a->shape.is_half);
}

static inline float dcn_value(const struct dcn_args *a, const struct dcn_sample *r, int64_t c) {
  float v = 0.0f;
  for (int k = 0; k < 4; k++) {
    if (r->at[k] >= 0) v += r->weight[k] * dcn_corner(a, r, k, c);
  }
  return v;
}

#endif /* MLUOP_FAMILIES_DCN_SAMPLE_H_ */
