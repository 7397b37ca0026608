// SPDX-License-Identifier: Apache-2.0
/* Boxes of four numbers as two corners, hard selection, indices: what detectors ask for most. */
#include "plain.h"

#include <stdlib.h>

struct mluOpNmsStruct {
  float iou_threshold, confidence_threshold, extra;
  int64_t limit;
};

mluOpStatus_t MLUOP_WIN_API mluOpCreateNmsDescriptor(mluOpNmsDescriptor_t *desc) {
  *desc = calloc(1, sizeof **desc);
  return *desc == NULL ? MLUOP_STATUS_ALLOC_FAILED : MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpDestroyNmsDescriptor(mluOpNmsDescriptor_t desc) {
  free(desc);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpSetNmsDescriptor(
    mluOpNmsDescriptor_t nms_desc, const mluOpNmsBoxPointMode_t box_mode,
    const mluOpNmsOutputMode_t output_mode, const mluOpNmsAlgo_t algo,
    const mluOpNmsMethodMode_t method_mode, const float iou_threshold, const float soft_nms_sigma,
    const int max_output_size, const float confidence_threshold, const float offset,
    const int input_layout, const bool pad_to_max_output_size) {
  (void)box_mode, (void)output_mode, (void)method_mode, (void)soft_nms_sigma;
  (void)input_layout, (void)pad_to_max_output_size;
  nms_desc->iou_threshold = iou_threshold;
  nms_desc->confidence_threshold = confidence_threshold;
  nms_desc->extra = algo == MLUOP_NMS_ALGO_INCLUDE_BOUNDARY ? offset : 0;
  nms_desc->limit = max_output_size;
  return MLUOP_STATUS_SUCCESS;
}

static float smaller(float a, float b) { return a < b ? a : b; }
static float larger(float a, float b) { return a > b ? a : b; }

/** The ends of a box along one axis, in order. */
static void ends_of(const float *box, int axis, float *low, float *high) {
  *low = smaller(box[axis], box[axis + 2]);
  *high = larger(box[axis], box[axis + 2]);
}

static float iou_of(const float *a, const float *b, float extra) {
  float shared = 1, area_a = 1, area_b = 1;
  for (int axis = 0; axis < 2; axis++) {
    float low_a, high_a, low_b, high_b;
    ends_of(a, axis, &low_a, &high_a);
    ends_of(b, axis, &low_b, &high_b);
    shared *= larger(smaller(high_a, high_b) - larger(low_a, low_b) + extra, 0);
    area_a *= high_a - low_a + extra;
    area_b *= high_b - low_b + extra;
  }
  return shared / (area_a + area_b - shared);
}

/** The candidate with the highest score, and of equal ones the first; -1 if there is none. */
static int64_t best_of(const float *scores, const char *left, int64_t n) {
  int64_t best = -1;
  for (int64_t i = 0; i < n; i++) {
    if (left[i] && (best < 0 || scores[i] > scores[best])) best = i;
  }
  return best;
}

mluOpStatus_t MLUOP_WIN_API mluOpNms(mluOpHandle_t handle, const mluOpNmsDescriptor_t nms_desc,
                                     const mluOpTensorDescriptor_t boxes_desc, const void *boxes,
                                     const mluOpTensorDescriptor_t confidence_desc,
                                     const void *confidence, void *workspace, size_t workspace_size,
                                     const mluOpTensorDescriptor_t output_desc, void *output,
                                     void *output_size) {
  (void)handle, (void)confidence_desc, (void)workspace, (void)workspace_size, (void)output_desc;
  const int64_t n = shape_of(boxes_desc).n;
  const float *box = boxes, *scores = confidence;
  char *left = malloc((size_t)n + 1);
  if (left == NULL) return MLUOP_STATUS_ALLOC_FAILED;
  for (int64_t i = 0; i < n; i++) left[i] = scores[i] > nms_desc->confidence_threshold;
  int32_t *kept = output, count = 0;
  while (count < nms_desc->limit) {
    const int64_t best = best_of(scores, left, n);
    if (best < 0) break;
    kept[count++] = (int32_t)best;
    left[best] = 0;
    for (int64_t i = 0; i < n; i++) {
      const float iou = iou_of(box + best * 4, box + i * 4, nms_desc->extra);
      if (iou > nms_desc->iou_threshold) left[i] = 0;
    }
  }
  free(left);
  *(int32_t *)output_size = count;
  return MLUOP_STATUS_SUCCESS;
}
