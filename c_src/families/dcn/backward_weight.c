/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/kernels.h"
#include "families/dcn/sample.h"

/* Item: a channel of a tap, that is a column. */
void MLUOP_VARIANT(dcn_backward_weight)(const void *vargs, int64_t begin, int64_t end,
                                        void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t taps = s->kh * s->kw, Cg = s->C / s->groups, P = s->co / s->groups;
  const int64_t Cd = s->C / s->deformable_groups, pixels = s->N * s->ho * s->wo;
  double *sum = scratch;
  for (int64_t item = begin; item < end; item++) {
    const int64_t c = item % s->C, t = item / s->C;
    for (int64_t o = 0; o < P; o++) sum[o] = 0;
    for (int64_t m = 0; m < pixels; m++) {
      const struct dcn_sample r =
          dcn_sample_at(a, m / (s->ho * s->wo), m / s->wo % s->ho, m % s->wo, t, c / Cd);
      const double column = (double)(r.inside ? dcn_value(a, &r, c) * r.mask : 0.0f);
      for (int64_t o = 0; o < P; o++) {
        sum[o] += column * (double)mluop_load_as(a->data.grad_output, m * s->co + c / Cg * P + o,
                                                 s->is_half);
      }
    }
    for (int64_t o = 0; o < P; o++) {
      mluop_store_as(a->data.grad_filter, ((c / Cg * P + o) * taps + t) * Cg + c % Cg,
                     (float)sum[o], s->is_half);
    }
  }
  if (a->data.grad_bias == NULL || begin != 0) return;
  for (int64_t o = 0; o < s->co; o++) {
    double all = 0;
    for (int64_t m = 0; m < pixels; m++) {
      all += (double)mluop_load_as(a->data.grad_output, m * s->co + o, s->is_half);
    }
    mluop_store_as(a->data.grad_bias, o, (float)all, s->is_half);
  }
}
