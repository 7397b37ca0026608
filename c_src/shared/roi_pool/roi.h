/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_ROI_POOL_ROI_H_
#define MLUOP_SHARED_ROI_POOL_ROI_H_

/* What the plan asks of a row of rois, and the kernels ask again: another thread may have changed
   it in between. One rounding per operation. */

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

/* The image is a number in the data: truncated toward zero, it must exist. */
static inline bool roi_pool_has_image(float image, int64_t images) {
  return image > -1.0f && image < 2147483648.0f && (int64_t)image < images;
}

/* Where an edge of a RoI lies on the map. Pixels have their centres at whole numbers; aligned RoIs
   count from their edges. */
static inline float roi_pool_on_map(float edge, float spatial_scale, int is_aligned) {
  return edge * spatial_scale - (is_aligned ? 0.5f : 0.0f);
}

/* From one edge to the other. A RoI that is not aligned has one pixel at least, also if it is NaN.
 */
static inline float roi_pool_size(float low, float high, int is_aligned) {
  const float size = high - low;
  return is_aligned || size > 1.0f ? size : 1.0f;
}

static inline bool roi_pool_is_finite(float size) { return size >= -FLT_MAX && size <= FLT_MAX; }

/* Whether a size is at most `most`, in either direction. A NaN is not. */
static inline bool roi_pool_within(float size, float most) { return size >= -most && size <= most; }

#endif /* MLUOP_SHARED_ROI_POOL_ROI_H_ */
