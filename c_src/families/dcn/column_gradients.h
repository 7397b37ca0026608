/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_COLUMN_GRADIENTS_H_
#define MLUOP_FAMILIES_DCN_COLUMN_GRADIENTS_H_

#include "families/dcn/slices.h"
#include "vector/simd.h"

/* Some taps of a slice: the columns of a product, tap by tap. */
struct dcn_some_taps {
  int64_t first, count;
};

static inline struct dcn_some_taps dcn_taps_from(const struct dcn_args *a, int64_t first) {
  return (struct dcn_some_taps){first, mluop_min(a->plan.taps, dcn_taps(&a->shape) - first)};
}

/* The gradients of the columns of `count` chosen pixels: a row for each. */
void MLUOP_VARIANT(dcn_column_gradients)(const struct dcn_args *a, const struct dcn_slice *slice,
                                         struct dcn_some_taps taps, const struct dcn_pixels *pixels,
                                         int64_t count, const struct dcn_data_memory *m);

#endif /* MLUOP_FAMILIES_DCN_COLUMN_GRADIENTS_H_ */
