/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "layout/kernels.h"

/* An image is copied, and converted from there to where it was: lines that have just been read are
   in a cache when they are written. */
void MLUOP_VARIANT(layout_convert_in_place)(const void *vargs, int64_t begin, int64_t end,
                                            void *scratch) {
  const struct layout_args *a = vargs;
  struct layout_args one = *a;
  one.input = scratch;
  for (int64_t image = begin; image < end; image++) {
    one.output = a->output + image * a->to.image;
    memcpy(scratch, one.output, (size_t)a->to.image);
    MLUOP_VARIANT(layout_convert)(&one, 0, a->rows.blocks * a->columns.blocks, NULL);
  }
}
