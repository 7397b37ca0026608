/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 6, MAX_WORKSPACE = 1 << 22 };

struct tensor {
  mluOpTensorDescriptor_t desc;
  void *data;
  size_t bytes;
  int output;
};

struct call {
  int index;
  enum call_size size;
  int count;
  struct tensor t[MAX_TENSORS];
  mluOpCarafeDescriptor_t carafe;
  void *workspace;
  int failed;
};

/* ------------------------------------------------------------------------------- tensors */

struct spec {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int dims[4];
  int rank;
};

#define NHWC(n, h, w, c) \
  { MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, h, w, c}, 4 }
#define NCHW(n, c, h, w) \
  { MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {n, c, h, w}, 4 }
#define ARRAY2(a, b) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b}, 2 }
#define ARRAY3(a, b, c) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b, c}, 3 }
#define ARRAY4(a, b, c, d) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b, c, d}, 4 }
#define INDICES(n) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {n}, 1 }

/* Adds a tensor of small values: floats in [-1, 1), or zeros for integers. */
static struct tensor *add(struct call *call, struct spec spec, int output) {
  struct tensor *tensor = &call->t[call->count++];
  tensor->output = output;
  if (mluOpCreateTensorDescriptor(&tensor->desc) != MLUOP_STATUS_SUCCESS ||
      mluOpSetTensorDescriptor(tensor->desc, spec.layout, spec.dtype, spec.rank, spec.dims) !=
          MLUOP_STATUS_SUCCESS) {
    call->failed = 1;
    return tensor;
  }
  const size_t elements = (size_t)mluOpGetTensorElementNum(tensor->desc);
  tensor->bytes = elements * 4;
  tensor->data = calloc(elements, 4);
  if (tensor->data == NULL) {
    call->failed = 1;
  } else if (spec.dtype == MLUOP_DTYPE_FLOAT) {
    uint32_t state = 12345u + (uint32_t)call->count;
    for (size_t i = 0; i < elements; i++) {
      state = state * 1664525u + 1013904223u;
      ((float *)tensor->data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  return tensor;
}

static struct tensor *input(struct call *call, struct spec spec) { return add(call, spec, 0); }
static struct tensor *output(struct call *call, struct spec spec) { return add(call, spec, 1); }

#define D(i) call->t[i].desc
#define P(i) call->t[i].data
#define DP(i) call->t[i].desc, call->t[i].data

static int wide(const struct call *call) { return call->size == CALL_WIDE; }

/* Rows of `width` numbers of which the last four are a box inside [0, extent). */
static void fill_boxes(struct tensor *boxes, int width, float extent) {
  float *row = boxes->data;
  if (row == NULL) return;
  for (size_t i = 0; i < boxes->bytes / 4 / (size_t)width; i++, row += width) {
    if (width == 5) row[0] = 0.0f;
    float *box = row + width - 4;
    for (int side = 0; side < 4; side++) {
      box[side] = (box[side] * 0.25f + (side < 2 ? 0.25f : 0.7f)) * extent;
    }
  }
}

/* ----------------------------------------------------------------------------- the calls */

static void make_carafe(struct call *call, int backward) {
  const int h = wide(call) ? 16 : 1, c = wide(call) ? 64 : 1, k = wide(call) ? 5 : 1;
  const int s = wide(call) ? 2 : 1;
  call->failed |= mluOpCreateCarafeDescriptor(&call->carafe) != MLUOP_STATUS_SUCCESS ||
                  mluOpSetCarafeDescriptor(call->carafe, 4, k, 1, s) != MLUOP_STATUS_SUCCESS;
  const struct spec small = NHWC(1, h, h, c), large = NHWC(1, s * h, s * h, c);
  const struct spec mask = NHWC(1, s * h, s * h, k * k);
  input(call, small);
  input(call, mask);
  add(call, large, !backward);
  if (backward) {
    output(call, small);
    output(call, mask);
  }
}

static void make_carafe_forward(struct call *call) { make_carafe(call, 0); }
static void make_carafe_backward(struct call *call) { make_carafe(call, 1); }

static mluOpStatus_t carafe_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeForward(handle, call->carafe, DP(0), DP(1), DP(2));
}

static mluOpStatus_t carafe_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpCarafeBackward(handle, call->carafe, DP(0), DP(1), DP(2), DP(3), DP(4));
}

enum { PSA_MASK = 11 };

static void make_psamask(struct call *call) {
  const int h = wide(call) ? 24 : 1, mask = wide(call) ? PSA_MASK * PSA_MASK : 1;
  const struct spec masks = NHWC(1, h, h, mask), spread = NHWC(1, h, h, h * h);
  const int backward = strstr(call_name(call->index), "Backward") != NULL;
  input(call, backward ? spread : masks);
  output(call, backward ? masks : spread);
}

static mluOpStatus_t psamask_forward(mluOpHandle_t handle, struct call *call) {
  const int mask = wide(call) ? PSA_MASK : 1;
  return mluOpPsamaskForward(handle, 1, DP(0), mask, mask, DP(1));
}

static mluOpStatus_t psamask_backward(mluOpHandle_t handle, struct call *call) {
  const int mask = wide(call) ? PSA_MASK : 1;
  return mluOpPsamaskBackward(handle, 0, DP(0), mask, mask, DP(1));
}

static void make_deform_roi_pool(struct call *call) {
  const int h = wide(call) ? 32 : 1, c = wide(call) ? 64 : 1, rois = wide(call) ? 40 : 1;
  const int pooled = wide(call) ? 7 : 1;
  const int backward = strstr(call_name(call->index), "Backward") != NULL;
  const struct spec map = NHWC(1, h, h, c), bins = NHWC(rois, pooled, pooled, c);
  const struct spec offset = ARRAY4(rois, 2, pooled, pooled), boxes = ARRAY2(rois, 5);
  if (backward) input(call, bins);
  input(call, map);
  fill_boxes(input(call, boxes), 5, (float)h);
  input(call, offset);
  output(call, backward ? map : bins);
  if (backward) output(call, offset);
}

static mluOpStatus_t deform_roi_pool_forward(mluOpHandle_t handle, struct call *call) {
  const int pooled = wide(call) ? 7 : 1;
  return mluOpDeformRoiPoolForward(handle, DP(0), DP(1), DP(2), pooled, pooled, 1.0f, 2, 0.1f,
                                   DP(3));
}

static mluOpStatus_t deform_roi_pool_backward(mluOpHandle_t handle, struct call *call) {
  const int pooled = wide(call) ? 7 : 1;
  return mluOpDeformRoiPoolBackward(handle, DP(0), DP(1), DP(2), DP(3), pooled, pooled, 1.0f, 2,
                                    0.1f, DP(4), DP(5));
}

enum { BORDER_POOL = 4 };

static void make_border_align(struct call *call) {
  const int h = wide(call) ? 24 : 1, c = wide(call) ? 32 : 1, k = h * h;
  const int backward = strstr(call_name(call->index), "Backward") != NULL;
  const struct spec map = NHWC(1, h, h, 4 * c), result = NHWC(1, k, 4, c);
  const struct spec argmax = {MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, {1, k, 4, c}, 4};
  const struct spec boxes = ARRAY3(1, k, 4);
  input(call, backward ? result : map);
  fill_boxes(input(call, boxes), 4, (float)h);
  if (backward) {
    const struct tensor *indices = input(call, argmax);
    for (size_t i = 0; indices->data != NULL && i < indices->bytes / 4; i++) {
      ((int32_t *)indices->data)[i] = (int32_t)(i % (BORDER_POOL + 1));
    }
    output(call, map);
  } else {
    output(call, result);
    output(call, argmax);
  }
}

static mluOpStatus_t border_align_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpBorderAlignForward(handle, DP(0), DP(1), BORDER_POOL, DP(2), DP(3));
}

static mluOpStatus_t border_align_backward(mluOpHandle_t handle, struct call *call) {
  return mluOpBorderAlignBackward(handle, DP(0), DP(1), DP(2), BORDER_POOL, DP(3));
}

/* Each position of the map once, in an order that is not sorted. */
static void fill_positions(struct call *call, int first, int h, int w, int count) {
  int32_t *rows = P(first), *columns = P(first + 1);
  if (rows == NULL || columns == NULL) return;
  for (int m = 0; m < count; m++) {
    const int at = (int)((int64_t)m * 7 % (h * w));
    rows[m] = at / w;
    columns[m] = at % w;
  }
}

static void make_masked_im2col(struct call *call) {
  const int h = wide(call) ? 48 : 1, c = wide(call) ? 32 : 1, k = wide(call) ? 3 : 1;
  const int count = wide(call) ? 1000 : 1;
  const struct spec map = NCHW(1, c, h, h), columns = ARRAY2(c * k * k, count);
  const struct spec indices = INDICES(count);
  input(call, map);
  input(call, indices);
  input(call, indices);
  output(call, columns);
  fill_positions(call, 1, h, h, count);
}

static mluOpStatus_t masked_im2col_forward(mluOpHandle_t handle, struct call *call) {
  const int k = wide(call) ? 3 : 1;
  size_t bytes;
  const mluOpStatus_t status =
      mluOpGetMaskedIm2colForwardWorkspaceSize(handle, D(0), D(1), D(2), k, k, D(3), &bytes);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (bytes > MAX_WORKSPACE) return MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpMaskedIm2colForward(handle, DP(0), DP(1), DP(2), k, k, k / 2, k / 2, call->workspace,
                                  bytes, DP(3));
}

static void make_masked_col2im(struct call *call) {
  const int h = wide(call) ? 48 : 1, c = wide(call) ? 200 : 1, count = wide(call) ? 1000 : 1;
  const struct spec map = NCHW(1, c, h, h), columns = ARRAY2(c, count);
  const struct spec indices = INDICES(count);
  input(call, columns);
  input(call, indices);
  input(call, indices);
  output(call, map);
  fill_positions(call, 1, h, h, count);
}

static mluOpStatus_t masked_col2im_forward(mluOpHandle_t handle, struct call *call) {
  size_t bytes;
  const mluOpStatus_t status =
      mluOpGetMaskedCol2imForwardWorkspaceSize(handle, D(0), D(1), D(2), D(3), &bytes);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  if (bytes > MAX_WORKSPACE) return MLUOP_STATUS_INTERNAL_ERROR;
  return mluOpMaskedCol2imForward(handle, DP(0), DP(1), DP(2), bytes, call->workspace, DP(3));
}

/* ------------------------------------------------------------------------------ the table */

static const struct {
  const char *name;
  void (*make)(struct call *call);
  mluOpStatus_t (*run)(mluOpHandle_t handle, struct call *call);
} calls[] = {
    {"mluOpCarafeForward", make_carafe_forward, carafe_forward},
    {"mluOpCarafeBackward", make_carafe_backward, carafe_backward},
    {"mluOpPsamaskForward", make_psamask, psamask_forward},
    {"mluOpPsamaskBackward", make_psamask, psamask_backward},
    {"mluOpDeformRoiPoolForward", make_deform_roi_pool, deform_roi_pool_forward},
    {"mluOpDeformRoiPoolBackward", make_deform_roi_pool, deform_roi_pool_backward},
    {"mluOpBorderAlignForward", make_border_align, border_align_forward},
    {"mluOpBorderAlignBackward", make_border_align, border_align_backward},
    {"mluOpMaskedIm2colForward", make_masked_im2col, masked_im2col_forward},
    {"mluOpMaskedCol2imForward", make_masked_col2im, masked_col2im_forward},
};

int call_count(void) { return (int)(sizeof(calls) / sizeof(calls[0])); }

const char *call_name(int index) { return calls[index].name; }

struct call *call_prepare(int index, enum call_size size) {
  struct call *call = calloc(1, sizeof(*call));
  if (call == NULL) return NULL;
  call->index = index;
  call->size = size;
  call->workspace = malloc(MAX_WORKSPACE);
  calls[index].make(call);
  if (call->failed || call->workspace == NULL) {
    call_release(call);
    return NULL;
  }
  return call;
}

void call_release(struct call *call) {
  for (int i = 0; i < call->count; i++) {
    if (call->t[i].desc != NULL) mluOpDestroyTensorDescriptor(call->t[i].desc);
    free(call->t[i].data);
  }
  if (call->carafe != NULL) mluOpDestroyCarafeDescriptor(call->carafe);
  free(call->workspace);
  free(call);
}

mluOpStatus_t call_run(mluOpHandle_t handle, struct call *call) {
  return calls[call->index].run(handle, call);
}

void call_spoil_outputs(struct call *call) {
  for (int i = 0; i < call->count; i++) {
    if (call->t[i].output) memset(call->t[i].data, 0xa5, call->t[i].bytes);
  }
}

uint64_t call_digest(const struct call *call) {
  uint64_t digest = 14695981039346656037u; /* FNV-1a */
  for (int i = 0; i < call->count; i++) {
    const unsigned char *bytes = call->t[i].data;
    for (size_t b = 0; call->t[i].output && b < call->t[i].bytes; b++) {
      digest = (digest ^ bytes[b]) * 1099511628211u;
    }
  }
  return digest;
}
