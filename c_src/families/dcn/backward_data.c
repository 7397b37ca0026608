/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/dcn/kernels.h"
#include "families/dcn/sample.h"

static void backward_sample(const struct dcn_args *a, int64_t n, int64_t p, int64_t q, int64_t t,
                            int64_t d) {
  const struct dcn_shape *s = &a->shape;
  const int64_t taps = s->kh * s->kw, Cg = s->C / s->groups, P = s->co / s->groups;
  const int64_t Cd = s->C / s->deformable_groups, pixel = (n * s->ho + p) * s->wo + q;
  const struct dcn_sample r = dcn_sample_at(a, n, p, q, t, d);
  double mask = 0, dy = 0, dx = 0;
  for (int64_t c = d * Cd; r.inside && c < (d + 1) * Cd; c++) {
    double dcol = 0;
    for (int64_t o = c / Cg * P; o < (c / Cg + 1) * P; o++) {
      dcol += (double)mluop_load_as(a->data.filter, (o * taps + t) * Cg + c % Cg, s->is_half) *
              (double)mluop_load_as(a->data.grad_output, pixel * s->co + o, s->is_half);
    }
    float v[4];
    for (int k = 0; k < 4; k++) {
      v[k] = dcn_corner(a, &r, k, c);
      if (r.at[k] >= 0 && r.weight[k] != 0.0f) {
        a->sums[r.at[k] * s->C + c] += r.weight[k] * r.mask * (float)dcol;
      }
    }
    mask += dcol * (double)dcn_value(a, &r, c);
    dy += dcol * (double)((1.0f - r.lx) * (v[2] - v[0]) + r.lx * (v[3] - v[1]));
    dx += dcol * (double)((1.0f - r.ly) * (v[1] - v[0]) + r.ly * (v[3] - v[2]));
  }
  const int64_t at = (pixel * s->deformable_groups + d) * taps + t;
  const float gy = r.inside ? (float)((double)r.mask * dy) : 0.0f;
  const float gx = r.inside ? (float)((double)r.mask * dx) : 0.0f;
  mluop_store_as(a->data.grad_offset, at * 2, gy, s->is_half);
  mluop_store_as(a->data.grad_offset, at * 2 + 1, gx, s->is_half);
  if (a->data.grad_mask != NULL) {
    mluop_store_as(a->data.grad_mask, at, r.inside ? (float)mask : 0.0f, s->is_half);
  }
}

/* Item: an image. */
void MLUOP_VARIANT(dcn_backward_data)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t count = s->H * s->W * s->C;
  (void)scratch;
  for (int64_t n = begin; n < end; n++) {
    memset(a->sums + n * count, 0, (size_t)count * sizeof(float));
    for (int64_t p = 0; p < s->ho; p++) {
      for (int64_t q = 0; q < s->wo; q++) {
        for (int64_t d = 0; d < s->deformable_groups; d++) {
          for (int64_t t = 0; t < s->kh * s->kw; t++) backward_sample(a, n, p, q, t, d);
        }
      }
    }
    for (int64_t i = n * count; i < (n + 1) * count; i++) {
      mluop_store_as(a->data.grad_input, i, a->sums[i], s->is_half);
    }
  }
}
