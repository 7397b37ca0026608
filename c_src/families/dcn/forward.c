/* SPDX-License-Identifier: Apache-2.0 */
#include "families/dcn/kernels.h"
#include "families/dcn/sample.h"

/* Item: an output pixel. */
void MLUOP_VARIANT(dcn_forward)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_shape *s = &a->shape;
  const int64_t taps = s->kh * s->kw, Cg = s->C / s->groups, P = s->co / s->groups;
  const int64_t Cd = s->C / s->deformable_groups;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    const int64_t n = item / (s->ho * s->wo), p = item / s->wo % s->ho, q = item % s->wo;
    for (int64_t o = 0; o < s->co; o++) {
      double sum = 0;
      for (int64_t t = 0; t < taps; t++) {
        struct dcn_sample r = {.inside = 0};
        int64_t group = -1;
        for (int64_t i = 0; i < Cg; i++) {
          const int64_t c = o / P * Cg + i;
          if (c / Cd != group) r = dcn_sample_at(a, n, p, q, t, group = c / Cd);
          const float column = r.inside ? dcn_value(a, &r, c) * r.mask : 0.0f;
          const float weight = mluop_load_as(a->data.filter, (o * taps + t) * Cg + i, s->is_half);
          sum += (double)weight * (double)column;
        }
      }
      if (a->data.bias != NULL) sum += (double)mluop_load_as(a->data.bias, o, s->is_half);
      mluop_store_as(a->data.output, item * s->co + o, (float)sum, s->is_half);
    }
  }
}
