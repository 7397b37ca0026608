/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_CHECKS_H_
#define MLUOP_FAMILIES_NMS_CHECKS_H_

#include "core/contract.h"

/* The tensors of a call; the last two are those of mluOpCpuNmsByLabel. */
enum { BOXES, CONFIDENCE, OUTPUT, OUTPUT_SIZE, LABELS, SCORES };

/* They bind the extents of a call as the letters N (boxes of an image), B (images), C (classes), L
   (room for results) and V (numbers of a box, 4 or 7). */
mluop_rule_function nms_boxes_hold, nms_confidence_is_there, nms_confidence_holds;
mluop_rule_function nms_confidence_dtype_holds, nms_output_dtype_holds, nms_mode_holds;
mluop_rule_function nms_output_holds;

/* Indices of boxes [n, 4] or [4, n]: one image, one class. */
mluop_rule_function nms_one_set_holds;

/* Boxes of seven numbers give indices, whatever the parameters say. */
mluOpNmsOutputMode_t nms_mode(const struct mluop_call *call);

/* The room for results that a call needs; more than any tensor has if that overflows. */
int64_t nms_all_results(const struct mluop_call *call);

#endif /* MLUOP_FAMILIES_NMS_CHECKS_H_ */
