/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/masked_im2col.h"

#include <string.h>

#include "kernels/variant.h"

/* Item: a row of data_col. */
void MLUOP_VARIANT(masked_im2col_forward)(const void *vargs, int64_t begin, int64_t end,
                                          void *scratch) {
  (void)scratch;
  const struct masked_im2col_args *a = vargs;
  const int64_t taps = a->kernel_h * a->kernel_w, size = a->element_size;
  for (int64_t row = begin; row < end; row++) {
    const char *plane = (const char *)a->feature + row / taps * a->H * a->W * size;
    const int64_t i = row % taps / a->kernel_w, j = row % taps % a->kernel_w;
    char *out = (char *)a->data_col + row * a->M * size;
    for (int64_t m = 0; m < a->M; m++) {
      const int64_t h = a->mask_h_idx[m] - a->pad_h + i, w = a->mask_w_idx[m] - a->pad_w + j;
      if (h >= 0 && h < a->H && w >= 0 && w < a->W) {
        memcpy(out + m * size, plane + (h * a->W + w) * size, (size_t)size);
      } else {
        memset(out + m * size, 0, (size_t)size);
      }
    }
  }
}
