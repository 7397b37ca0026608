/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of nms that are no rows of a table: its tensors have several forms. */
#include "families/nms/checks.h"

#include <inttypes.h>

/* The extents of a call are bound as the letters N (boxes of an image), B, C and L (room for
   results); the numbers of a box, 4 or 7, as V. */
static void bind(struct mluop_call *call, char letter, int64_t extent) {
  call->letters[letter - 'A'] = extent;
  call->letters_bound |= 1u << (letter - 'A');
}

static bool refuse(mluOpStatus_t *status, mluOpStatus_t value) {
  *status = value;
  return false;
}

/* boxes is [n,4], [n,7] or [B,n,4]; the last two dims are exchanged in layout 1. */
bool nms_boxes_hold(struct mluop_call *call, const struct mluop_rule *rule, mluOpStatus_t *status) {
  const struct mluOpTensorStruct *boxes = call->tensors[BOXES].desc;
  if (boxes->dim_nb != 2 && boxes->dim_nb != 3) {
    return refuse(status, mluop_fail(rule->status, call->api, "boxes has %d %s, expected 2 or 3",
                                     boxes->dim_nb, mluop_dims(boxes->dim_nb)));
  }
  const int planes = mluop_integer_of(call, "input_layout") == 1;
  const int last = boxes->dim_nb - 1;
  const int of_numbers = planes ? last - 1 : last;
  const int64_t numbers = boxes->dims[of_numbers];
  if (numbers != 4 && (numbers != 7 || boxes->dim_nb != 2)) {
    return refuse(status,
                  mluop_fail(rule->status, call->api,
                             "boxes: dim %d is %" PRId64 ", expected %s (input_layout is %d)",
                             of_numbers, numbers, boxes->dim_nb == 2 ? "4 or 7" : "4", planes));
  }
  bind(call, 'V', numbers);
  bind(call, 'N', boxes->dims[planes ? last : last - 1]);
  bind(call, 'B', boxes->dim_nb == 3 ? boxes->dims[0] : 1);
  bind(call, 'C', 1);
  return true;
}

bool nms_confidence_is_there(struct mluop_call *call, const struct mluop_rule *rule,
                             mluOpStatus_t *status) {
  const struct mluop_tensor *confidence = &call->tensors[CONFIDENCE];
  const bool is_query = call->tensors[OUTPUT].name == NULL;
  const bool wanted = mluop_extent(call, 'V') == 4;
  if ((confidence->desc != NULL) != wanted) {
    return refuse(status, mluop_fail(rule->status, call->api,
                                     "confidence_desc is %s, expected %s for boxes of %d numbers",
                                     wanted ? "NULL" : "given", wanted ? "a descriptor" : "NULL",
                                     wanted ? 4 : 7));
  }
  if (is_query || (confidence->data != NULL) == wanted) return true;
  return refuse(
      status,
      mluop_fail(rule->status, call->api, "confidence is %s, expected %s for boxes of %d numbers",
                 wanted ? "NULL" : "given", wanted ? "data" : "NULL", wanted ? 4 : 7));
}

/* confidence is [n], or [B,C,n] for boxes of three dims. */
bool nms_confidence_holds(struct mluop_call *call, const struct mluop_rule *rule,
                          mluOpStatus_t *status) {
  const struct mluOpTensorStruct *confidence = call->tensors[CONFIDENCE].desc;
  if (confidence == NULL) return true;
  const int dims = call->tensors[BOXES].desc->dim_nb == 2 ? 1 : 3;
  if (confidence->dim_nb != dims) {
    return refuse(status, mluop_fail(rule->status, call->api, "confidence has %d %s, expected %d",
                                     confidence->dim_nb, mluop_dims(confidence->dim_nb), dims));
  }
  if (dims == 3) bind(call, 'C', confidence->dims[1]);
  const int64_t expected[2] = {mluop_extent(call, 'B'), mluop_extent(call, 'N')};
  const int at[2] = {0, dims - 1};
  for (int i = dims == 3 ? 0 : 1; i < 2; i++) {
    if (confidence->dims[at[i]] == expected[i]) continue;
    return refuse(status, mluop_fail(rule->status, call->api,
                                     "confidence: dim %d is %" PRId64 ", expected %" PRId64 " (%s)",
                                     at[i], confidence->dims[at[i]], expected[i],
                                     i == 0 ? "the images of boxes" : "the number of boxes"));
  }
  return true;
}

/* Scores have the type of the boxes; half scores may come with float boxes [n,4]. */
bool nms_confidence_dtype_holds(struct mluop_call *call, const struct mluop_rule *rule,
                                mluOpStatus_t *status) {
  const struct mluOpTensorStruct *boxes = call->tensors[BOXES].desc;
  const struct mluOpTensorStruct *confidence = call->tensors[CONFIDENCE].desc;
  if (confidence == NULL || confidence->dtype == boxes->dtype) return true;
  const bool mixed = boxes->dim_nb == 2 && boxes->dtype == MLUOP_DTYPE_FLOAT;
  if (mixed && confidence->dtype == MLUOP_DTYPE_HALF) return true;
  return refuse(status,
                mluop_fail(rule->status, call->api,
                           "confidence: dtype is %s, expected %s, the dtype of boxes",
                           mluop_dtype_name(confidence->dtype), mluop_dtype_name(boxes->dtype)));
}

/* Boxes of seven numbers give indices, whatever the descriptor says. */
mluOpNmsOutputMode_t nms_mode(const struct mluop_call *call) {
  if (mluop_extent(call, 'V') == 7) return MLUOP_NMS_OUTPUT_TARGET_INDICES;
  return (mluOpNmsOutputMode_t)mluop_integer_of(call, "output_mode");
}

static bool gives_numbers(mluOpNmsOutputMode_t mode) {
  return mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 ||
         mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2;
}

bool nms_output_dtype_holds(struct mluop_call *call, const struct mluop_rule *rule,
                            mluOpStatus_t *status) {
  const mluOpDataType_t dtype = call->tensors[OUTPUT].desc->dtype;
  if (gives_numbers(nms_mode(call))) {
    const mluOpDataType_t expected = call->tensors[BOXES].desc->dtype;
    if (dtype == expected) return true;
    return refuse(status, mluop_fail(rule->status, call->api,
                                     "output: dtype is %s, expected %s, the dtype of boxes",
                                     mluop_dtype_name(dtype), mluop_dtype_name(expected)));
  }
  if (dtype == MLUOP_DTYPE_INT32 || dtype == MLUOP_DTYPE_UINT32) return true;
  return refuse(status,
                mluop_fail(rule->status, call->api, "output: dtype is %s, expected %s or %s",
                           mluop_dtype_name(dtype), mluop_dtype_name(MLUOP_DTYPE_INT32),
                           mluop_dtype_name(MLUOP_DTYPE_UINT32)));
}

/* Rows without image and class are for one image and one class. */
bool nms_mode_holds(struct mluop_call *call, const struct mluop_rule *rule, mluOpStatus_t *status) {
  const int64_t images = mluop_extent(call, 'B'), classes = mluop_extent(call, 'C');
  if (nms_mode(call) == MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS || (images == 1 && classes == 1)) {
    return true;
  }
  return refuse(status, mluop_fail(rule->status, call->api,
                                   "output_mode is %d with %" PRId64 " images and %" PRId64
                                   " classes, expected 3 (BATCH_AND_CLASS), or 1 image and 1 class",
                                   (int)nms_mode(call), images, classes));
}

/* M: the most results of an image and class. */
static int64_t most_results(const struct mluop_call *call) {
  const int64_t n = mluop_extent(call, 'N'), most = mluop_integer_of(call, "max_output_size");
  if (mluop_extent(call, 'V') == 7) return n;
  return mluop_integer_of(call, "pad_to_max_output_size") ? most : mluop_min(most, n);
}

/* M*B*C; more than any tensor has if it overflows. */
int64_t nms_all_results(const struct mluop_call *call) {
  int64_t all;
  if (__builtin_mul_overflow(mluop_extent(call, 'B'), mluop_extent(call, 'C'), &all) ||
      __builtin_mul_overflow(all, most_results(call), &all)) {
    return INT64_MAX;
  }
  return all;
}

bool nms_output_holds(struct mluop_call *call, const struct mluop_rule *rule,
                      mluOpStatus_t *status) {
  static const int columns[] = {1, 5, 5, 3};
  const struct mluOpTensorStruct *output = call->tensors[OUTPUT].desc;
  const mluOpNmsOutputMode_t mode = nms_mode(call);
  const int dims = mode == MLUOP_NMS_OUTPUT_TARGET_INDICES ? 1 : 2;
  if (output->dim_nb != dims) {
    return refuse(status, mluop_fail(rule->status, call->api, "output has %d %s, expected %d",
                                     output->dim_nb, mluop_dims(output->dim_nb), dims));
  }
  const int of_rows = mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2 ? 1 : 0;
  if (dims == 2 && output->dims[1 - of_rows] != columns[mode]) {
    return refuse(status,
                  mluop_fail(rule->status, call->api, "output: dim %d is %" PRId64 ", expected %d",
                             1 - of_rows, output->dims[1 - of_rows], columns[mode]));
  }
  const int64_t needed = nms_all_results(call);
  if (output->dims[of_rows] < needed) {
    return refuse(status, mluop_fail(rule->status, call->api,
                                     "output: dim %d is %" PRId64 ", expected at least %" PRId64
                                     " (the results of all images and classes)",
                                     of_rows, output->dims[of_rows], needed));
  }
  bind(call, 'L', output->dims[of_rows]);
  return true;
}

bool nms_one_set_holds(struct mluop_call *call, const struct mluop_rule *rule,
                       mluOpStatus_t *status) {
  const int dims = call->tensors[BOXES].desc->dim_nb, mode = (int)nms_mode(call);
  if (mode != MLUOP_NMS_OUTPUT_TARGET_INDICES) {
    return refuse(status, mluop_fail(rule->status, call->api,
                                     "output_mode is %d, expected 0 (INDICES)", mode));
  }
  if (dims == 2 && mluop_extent(call, 'V') == 4) return true;
  return refuse(status, mluop_fail(rule->status, call->api,
                                   "boxes has %d dims and %d numbers for each box, expected 2 dims "
                                   "and 4 numbers",
                                   dims, (int)mluop_extent(call, 'V')));
}
