/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>

#include "core/internal.h"

enum { INPUT, OUTPUT };

/* Strides with gaps behind any dim but the last. */
static void add_gaps(struct fuzz *f, struct fuzz_tensor *t) {
  const uint32_t gaps = fuzz_byte(&f->in);
  if (gaps < 128) return;
  int64_t reach = 1;
  for (int i = 3; i >= 0; i--) {
    t->strides[i] = reach;
    reach *= t->dims[i] > 1 ? t->dims[i] : 1;
    if (i > 0 && gaps >> i & 1) reach += 1 + (gaps >> 4 & 3) * 5;
  }
  t->strided = reach <= FUZZ_MOST_ELEMENTS;
}

static void make(struct fuzz *f) {
  static const mluOpDataType_t dtypes[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF, MLUOP_DTYPE_INT32};
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = dtypes[fuzz_range(in, 0, 2)];
  int64_t room = fuzz_room(f);
  const bool to_nhwc = fuzz_range(in, 0, 1) == 0;
  const int c = fuzz_take(in, 513, &room), h = fuzz_take(in, 129, &room);
  const int w = fuzz_take(in, 513, &room), n = fuzz_take(in, 3, &room);
  const int64_t *nchw = FUZZ_DIMS(n, c, h, w), *nhwc = FUZZ_DIMS(n, h, w, c);
  const enum fuzz_role role = dtype == MLUOP_DTYPE_INT32 ? FUZZ_OWN : FUZZ_VALUES;
  const mluOpTensorLayout_t from = to_nhwc ? MLUOP_LAYOUT_NCHW : MLUOP_LAYOUT_NHWC;
  const mluOpTensorLayout_t to = to_nhwc ? MLUOP_LAYOUT_NHWC : MLUOP_LAYOUT_NCHW;
  add_gaps(f, fuzz_add(f, role, from, dtype, to_nhwc ? nchw : nhwc));
  add_gaps(f, fuzz_add(f, FUZZ_OUTPUT, to, dtype, to_nhwc ? nhwc : nchw));
}

static void fill(struct fuzz *f) {
  struct fuzz_tensor *t = &f->t[INPUT];
  for (int64_t i = 0; t->role == FUZZ_OWN && i < t->held; i++) {
    fuzz_set(t, i, (int32_t)fuzz_random(&f->in));
  }
  f->no_plain = true; /* `settle` looks at every element instead */
}

/* Images without gaps are then converted where they are: to what they were, and again. */
static mluOpStatus_t run(mluOpHandle_t handle, struct fuzz *f) {
  const struct fuzz_tensor *from = &f->t[INPUT], *to = &f->t[OUTPUT];
  mluOpStatus_t status = mluOpCpuConvertLayout(handle, FUZZ_BOTH(INPUT), FUZZ_BOTH(OUTPUT));
  if (status != MLUOP_STATUS_SUCCESS || from->strided || to->strided || to->count == 0) {
    return status;
  }
  status = mluOpCpuConvertLayoutInPlace(handle, to->desc, from->desc, to->data);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  FUZZ_CHECK(memcmp(from->data, to->data, (size_t)to->bytes) == 0);
  return mluOpCpuConvertLayoutInPlace(handle, from->desc, to->desc, to->data);
}

static int64_t offset(const struct fuzz_tensor *t, const int64_t at[4]) {
  int64_t packed = 0, strided = 0;
  for (int i = 0; i < 4; i++) {
    packed = packed * t->dims[i] + at[i];
    strided += at[i] * t->strides[i];
  }
  return t->strided ? strided : packed;
}

/* Every element is where it belongs; gaps are as they were, and become 0. */
static void settle(struct fuzz *f) {
  static char was[FUZZ_ARENA_BYTES];
  struct fuzz_tensor *from = &f->t[INPUT], *to = &f->t[OUTPUT];
  if (to->count == 0) return;
  const int64_t size = (int64_t)mluop_dtype_size(to->dtype);
  const bool to_nhwc = to->layout == MLUOP_LAYOUT_NHWC;
  memset(was, 0, (size_t)(to->bytes / size));
  for (int64_t i = 0; i < to->count; i++) {
    const int64_t *d = to->dims;
    const int64_t at[4] = {i / d[3] / d[2] / d[1], i / d[3] / d[2] % d[1], i / d[3] % d[2],
                           i % d[3]};
    const int64_t nhwc[4] = {at[0], at[2], at[3], at[1]}, nchw[4] = {at[0], at[3], at[1], at[2]};
    const int64_t source = offset(from, to_nhwc ? nchw : nhwc), target = offset(to, at);
    FUZZ_CHECK(memcmp((const char *)from->data + source * size,
                      (const char *)to->data + target * size, (size_t)size) == 0);
    was[target] = 1;
  }
  for (int64_t i = 0; i < to->bytes / size; i++) {
    if (was[i] == 0) fuzz_settle(to, i * size, (i + 1) * size);
  }
}

const struct fuzz_operator fuzz_layout[] = {
    {"mluOpCpuConvertLayout", make, fill, run, NULL, settle, FUZZ_BITS}, {0}};
