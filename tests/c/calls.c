/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "family_list.h"

#define DECLARE(family) extern const struct family_calls family_##family;
#define ENTRY(family) {#family, &family_##family},

MLUOP_FAMILIES(DECLARE)

const struct named_family families[] = {MLUOP_FAMILIES(ENTRY){NULL, NULL}};

/* ------------------------------------------------------------------------------- tensors */

struct tensor *call_add(struct call *call, struct spec spec, int output) {
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

struct tensor *call_input(struct call *call, struct spec spec) {
  return call_add(call, spec, 0);
}
struct tensor *call_output(struct call *call, struct spec spec) {
  return call_add(call, spec, 1);
}

void call_fill_boxes(struct tensor *boxes, int width, float extent) {
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

/* --------------------------------------------------------------------------------- calls */

/* Finds call `index` of all families; returns the number of calls before the end. */
static int find(int index, const struct family_calls **family, const struct call_kind **kind) {
  int count = 0;
  for (const struct named_family *at = families; at->name != NULL; at++) {
    for (const struct call_kind *each = at->calls->calls; each->name != NULL; each++, count++) {
      if (count != index) continue;
      *family = at->calls;
      *kind = each;
      return count;
    }
  }
  return count;
}

int call_count(void) { return find(-1, NULL, NULL); }

const char *call_name(int index) {
  const struct family_calls *family;
  const struct call_kind *kind = NULL;
  find(index, &family, &kind);
  return kind->name;
}

struct call *call_prepare(int index, enum call_size size) {
  struct call *call = calloc(1, sizeof(*call));
  if (call == NULL) return NULL;
  find(index, &call->family, &call->kind);
  call->wide = size == CALL_WIDE;
  call->workspace = malloc(CALL_MAX_WORKSPACE);
  call->kind->make(call);
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
  if (call->object != NULL) call->family->destroy(call->object);
  free(call->workspace);
  free(call);
}

mluOpStatus_t call_run(mluOpHandle_t handle, struct call *call) {
  return call->kind->run(handle, call);
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
