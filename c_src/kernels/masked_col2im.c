/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/masked_col2im.h"

#include <string.h>

#include "kernels/variant.h"

/* Item: a channel. */
void MLUOP_VARIANT(masked_col2im_forward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  const struct masked_col2im_args *a = vargs;
  const int64_t size = a->element_size, plane_bytes = a->H * a->W * size;
  for (int64_t c = begin; c < end; c++) {
    const char *in = (const char *)a->col + c * a->M * size;
    char *plane = (char *)a->im + c * plane_bytes;
    memset(plane, 0, (size_t)plane_bytes);
    for (int64_t m = 0; m < a->M; m++) {
      const int64_t at = a->mask_h_idx[m] * a->W + a->mask_w_idx[m];
      memcpy(plane + at * size, in + m * size, (size_t)size);
    }
  }
}
