/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_COLUMNS_H_
#define MLUOP_FAMILIES_DCN_COLUMNS_H_

#include "families/dcn/job.h"
#include "vector/simd.h"

/* Some columns of some pixels; all columns of groups that are merged. */
struct dcn_block {
  struct dcn_pixels pixels;
  int64_t group;        /* of the convolution, the first one */
  int64_t begin, depth; /* columns of each */
};

/* Samples a block into the rows of a matrix, with zeros behind the last row and the last column
   where a product reads on. */
void MLUOP_VARIANT(dcn_sample)(const struct dcn_args *a, const struct dcn_block *block,
                               struct dcn_samples *samples, float *matrix);

/* `count` elements from `at` on, as floats, and back. */
MLUOP_INLINE void dcn_widen(float *to, const void *from, int64_t at, int64_t count, int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store(to + i, vf_load_as(from, at + i, is_half));
  if (i == count) return;
  vf_store_part(to + i, vf_load_part_as(from, at + i, count - i, is_half), count - i);
}

MLUOP_INLINE void dcn_narrow(void *to, int64_t at, const float *from, int64_t count, int is_half) {
  int64_t i = 0;
  for (; i + VL <= count; i += VL) vf_store_as(to, at + i, vf_load(from + i), is_half);
  if (i == count) return;
  vf_store_part_as(to, at + i, vf_load_part(from + i, count - i), count - i, is_half);
}

#endif /* MLUOP_FAMILIES_DCN_COLUMNS_H_ */
