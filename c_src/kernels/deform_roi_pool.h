/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_DEFORM_ROI_POOL_H_
#define MLUOP_KERNELS_DEFORM_ROI_POOL_H_

#include <stdint.h>

/* What a bin takes from one pixel row or column of the map: the means over the samples of the bin,
   those outside the map counting as nothing, of three factors. With the sample between `low` and
   `high` of its axis, at `at`:
     weight  1 - frac at low, frac at high: the bilinear weights
     slope   high - at at low, at - low at high: the same, but not clamped to the map
     step    -1 at low, +1 at high
   The sum over a bin's samples of a product of one factor per axis is the sum, over its rows and
   columns, of the products of these. */
struct deform_roi_pool_tap {
  int32_t at;
  float weight, slope, step;
};

struct deform_roi_pool_args {
  const void *input;       /* [N, H, W, C] */
  const void *rois;        /* [R, 5]: image, x1, y1, x2, y2 */
  const void *offset;      /* [R, 2, pooled_h, pooled_w] or NULL: x, then y */
  const void *grad_output; /* [R, pooled_h, pooled_w, C] */
  void *output;            /* like grad_output */
  void *grad_input;        /* like input */
  void *grad_offset;       /* like offset */
  int64_t N, H, W, C, R, pooled_h, pooled_w;
  int64_t sampling_ratio;
  float spatial_scale, gamma;
  int is_half;
  int64_t max_taps_h, max_taps_w; /* of one bin */
  int64_t tile_h, tile_w, tile_c; /* what one item of grad_input covers: pixels and channels */
};

#endif /* MLUOP_KERNELS_DEFORM_ROI_POOL_H_ */
