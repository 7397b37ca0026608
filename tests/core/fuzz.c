/* SPDX-License-Identifier: Apache-2.0 */
/* A handle, and tensor descriptors: each of a few is set, copied, reset and read back, beside a
   model of what it should hold. What fails changes nothing. */
#include <limits.h>
#include <string.h>

#include "input.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

enum { DESCRIPTORS = 4, MOST_DIMS = 12, STEPS = 24, LAYOUTS = 11 };

struct model {
  int layout, dtype, onchip, mode, position, offset, rank;
  float scale;
  int64_t count, dims[MOST_DIMS], strides[MOST_DIMS];
};

static mluOpTensorDescriptor_t descs[DESCRIPTORS];
static struct model models[DESCRIPTORS];

static const struct model created = {
    .layout = MLUOP_LAYOUT_ARRAY, .dtype = MLUOP_DTYPE_FLOAT, .mode = 1, .scale = 1};

static mluOpHandle_t handle;
static struct {
  int atomics, rounding, threads;
  cnrtQueue_t queue;
} handle_model;

/* What a Set is asked for. */
struct wanted {
  int layout, dtype, rank;
  int64_t dims[MOST_DIMS], strides[MOST_DIMS];
  int narrow[MOST_DIMS], narrow_strides[MOST_DIMS];
  bool is_wide, without_dims;
};

static struct wanted read_wanted(struct fuzz_input *in) {
  struct wanted w = {.layout = fuzz_range(in, 0, 255) - 2, .dtype = fuzz_range(in, 0, 255) - 1};
  w.layout = w.layout > 40 ? w.layout % LAYOUTS : w.layout;
  w.dtype = w.dtype > 40 ? w.dtype % 18 : w.dtype;
  w.rank = fuzz_range(in, 0, 255);
  w.rank = w.rank > 250 ? 250 - w.rank : w.rank % (MOST_DIMS + 1);
  const uint32_t flags = fuzz_byte(in);
  w.is_wide = flags & 1;
  w.without_dims = flags > 240;
  for (int i = 0; i < w.rank; i++) {
    const int small = fuzz_extent(in, 300);
    const int64_t large =
        w.is_wide ? (int64_t)((uint64_t)fuzz_word(in) << (flags & 31)) : fuzz_int(in);
    w.dims[i] = (flags >> 5 & 3) == 3 && i % 3 == 1 ? large : small;
    w.narrow[i] = (int)w.dims[i];
    w.narrow_strides[i] = fuzz_range(in, -3, 2000);
    w.strides[i] = w.narrow_strides[i];
  }
  return w;
}

static bool is_dtype(int dtype) { return dtype >= 0 && dtype <= 17 && dtype != 10; }

/* What the descriptor holds afterwards; false if it must be refused. */
static bool accept(struct model *m, const struct wanted *w, bool strided, bool only_dims) {
  if (!only_dims && (w->layout < 0 || w->layout >= LAYOUTS || !is_dtype(w->dtype))) return false;
  if (w->rank < 0 || (w->rank == 0 && m->mode != MLUOP_POINTER_MODE_HOST)) return false;
  if (w->rank > 0 && w->without_dims) return false;
  int64_t size = 1, count = 1;
  for (int i = w->rank - 1; i >= 0; i--) {
    if (w->dims[i] < 0) return false;
    if (__builtin_mul_overflow(size, w->dims[i] > 0 ? w->dims[i] : 1, &size)) return false;
  }
  if (!only_dims) m->layout = w->layout, m->dtype = w->dtype;
  m->rank = w->rank;
  for (int i = w->rank - 1; i >= 0; i--) {
    m->dims[i] = w->dims[i];
    m->strides[i] = strided ? w->strides[i] : count;
    count *= w->dims[i];
  }
  m->count = count;
  return true;
}

static void set(struct fuzz_input *in, int at, uint32_t how) {
  const struct wanted w = read_wanted(in);
  const bool strided = how == 1, only_dims = how == 2;
  const int64_t *dims = w.without_dims ? NULL : w.dims;
  const int *narrow = w.without_dims ? NULL : w.narrow;
  const mluOpTensorLayout_t layout = (mluOpTensorLayout_t)w.layout;
  const mluOpDataType_t dtype = (mluOpDataType_t)w.dtype;
  mluOpTensorDescriptor_t desc = descs[at];
  mluOpStatus_t status;
  if (strided) {
    status = w.is_wide ? mluOpSetTensorDescriptorEx_v2(desc, layout, dtype, w.rank, dims, w.strides)
                       : mluOpSetTensorDescriptorEx(desc, layout, dtype, w.rank, narrow,
                                                    w.narrow_strides);
  } else if (only_dims) {
    status = w.is_wide ? mluOpSetTensorDescriptorDim_v2(desc, w.rank, dims)
                       : mluOpSetTensorDescriptorDim(desc, w.rank, narrow);
  } else {
    status = w.is_wide ? mluOpSetTensorDescriptor_v2(desc, layout, dtype, w.rank, dims)
                       : mluOpSetTensorDescriptor(desc, layout, dtype, w.rank, narrow);
  }
  const bool accepted = accept(&models[at], &w, strided, only_dims);
  FUZZ_CHECK(status == (accepted ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM));
}

static void set_attributes(struct fuzz_input *in, int at) {
  struct model *m = &models[at];
  const int number = fuzz_int(in), mode = fuzz_range(in, -1, 2), onchip = fuzz_range(in, -1, 20);
  const float scale = fuzz_float(in);
  if (mluOpSetTensorDescriptorPointerMode(descs[at], (mluOpPointerMode_t)mode) ==
      MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(mode == 0 || mode == 1);
    m->mode = mode;
  }
  if (mluOpSetTensorDescriptorOnchipDataType(descs[at], (mluOpDataType_t)onchip) ==
      MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(is_dtype(onchip));
    m->onchip = onchip;
  }
  if (mluOpSetTensorDescriptorPositionScaleAndOffset(descs[at], number, scale, ~number) ==
      MLUOP_STATUS_SUCCESS) {
    m->position = number;
    m->scale = scale;
    m->offset = ~number;
  }
}

static void set_handle(struct fuzz_input *in) {
  const int atomics = fuzz_range(in, -1, 4), rounding = fuzz_range(in, -1, 4);
  const int threads = fuzz_int(in);
  if (mluOpSetAtomicsMode(handle, (mluOpAtomicsMode_t)atomics) == MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(atomics == 1 || atomics == 2);
    handle_model.atomics = atomics;
  }
  if (mluOpSetQuantizeRoundMode(handle, (mluOpQuantizeRoundMode_t)rounding) ==
      MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(rounding >= 0 && rounding <= 2);
    handle_model.rounding = rounding;
  }
  if (mluOpCpuSetNumThreads(handle, threads) == MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(threads >= 0);
    handle_model.threads = threads;
  }
  handle_model.queue = (cnrtQueue_t)(uintptr_t)(fuzz_byte(in) << 4); /* never read through */
  FUZZ_CHECK(mluOpSetQueue(handle, handle_model.queue) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpUpdateContextInformation(handle) == MLUOP_STATUS_SUCCESS);
}

static void check_handle(void) {
  mluOpAtomicsMode_t atomics;
  mluOpQuantizeRoundMode_t rounding;
  cnrtQueue_t queue;
  int threads;
  FUZZ_CHECK(mluOpGetAtomicsMode(handle, &atomics) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpGetQuantizeRoundMode(handle, &rounding) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpGetQueue(handle, &queue) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpCpuGetNumThreads(handle, &threads) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK((int)atomics == handle_model.atomics && (int)rounding == handle_model.rounding);
  FUZZ_CHECK(queue == handle_model.queue);
  FUZZ_CHECK(threads >= 1 && (handle_model.threads == 0 || threads <= handle_model.threads));
}

/* All in one call: all of them change, or none. */
static void set_group(struct fuzz_input *in, int count) {
  mluOpTensorDescriptor_t *group[DESCRIPTORS];
  mluOpTensorLayout_t layouts[DESCRIPTORS];
  mluOpDataType_t dtypes[DESCRIPTORS];
  int ranks[DESCRIPTORS], dims[DESCRIPTORS * MOST_DIMS], used = 0;
  struct model next[DESCRIPTORS];
  bool accepted = count > 0;
  memcpy(next, models, sizeof(next));
  for (int i = 0; i < DESCRIPTORS; i++) {
    struct wanted w = read_wanted(in);
    w.without_dims = false;
    group[i] = &descs[i];
    layouts[i] = (mluOpTensorLayout_t)w.layout;
    dtypes[i] = (mluOpDataType_t)w.dtype;
    ranks[i] = w.rank;
    for (int d = 0; d < w.rank; d++) {
      w.dims[d] = w.narrow[d];
      dims[used++] = w.narrow[d];
    }
    if (i < count) accepted &= accept(&next[i], &w, false, false);
  }
  const mluOpStatus_t status =
      mluOpSetGroupTensorDescriptors(group, layouts, dtypes, ranks, dims, count);
  FUZZ_CHECK(status == (accepted ? MLUOP_STATUS_SUCCESS : MLUOP_STATUS_BAD_PARAM));
  if (accepted) memcpy(models, next, sizeof(models));
}

static void check_numbers(int at) {
  const struct model *m = &models[at];
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int rank = -1, narrow[MOST_DIMS], narrow_strides[MOST_DIMS];
  int64_t dims[MOST_DIMS], strides[MOST_DIMS];
  bool dims_fit = true, strides_fit = true;
  for (int i = 0; i < m->rank; i++) {
    dims_fit &= m->dims[i] <= INT_MAX;
    strides_fit &= m->strides[i] <= INT_MAX && m->strides[i] >= INT_MIN;
  }
  FUZZ_CHECK(mluOpGetTensorDescriptorEx_v2(descs[at], &layout, &dtype, &rank, dims, strides) ==
             MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK((int)layout == m->layout && (int)dtype == m->dtype && rank == m->rank);
  FUZZ_CHECK(mluOpGetTensorElementNum(descs[at]) == (size_t)m->count);
  const size_t bytes = (size_t)rank * sizeof(*dims);
  FUZZ_CHECK(memcmp(dims, m->dims, bytes) == 0 && memcmp(strides, m->strides, bytes) == 0);
  const mluOpStatus_t status =
      mluOpGetTensorDescriptorEx(descs[at], &layout, &dtype, &rank, narrow, narrow_strides);
  FUZZ_CHECK((status == MLUOP_STATUS_SUCCESS) == (dims_fit && strides_fit));
  for (int i = 0; status == MLUOP_STATUS_SUCCESS && i < rank; i++)
    FUZZ_CHECK(narrow[i] == m->dims[i] && narrow_strides[i] == m->strides[i]);
  FUZZ_CHECK((mluOpGetTensorDescriptor(descs[at], NULL, NULL, &rank, narrow) ==
              MLUOP_STATUS_SUCCESS) == dims_fit);
}

static void check_attributes(int at) {
  const struct model *m = &models[at];
  mluOpDataType_t onchip;
  mluOpPointerMode_t mode;
  int position = 0, offset = 0;
  float scale = 0;
  FUZZ_CHECK(mluOpGetTensorDescriptorOnchipDataType(descs[at], &onchip) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpGetTensorDescriptorPointerMode(descs[at], &mode) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK(mluOpGetTensorDescriptorPositionScaleAndOffset(descs[at], &position, &scale,
                                                            &offset) == MLUOP_STATUS_SUCCESS);
  FUZZ_CHECK((int)onchip == m->onchip && (int)mode == m->mode);
  FUZZ_CHECK(position == m->position && offset == m->offset);
  FUZZ_CHECK(memcmp(&scale, &m->scale, sizeof(scale)) == 0);
}

static void renew(bool grouped) {
  mluOpTensorDescriptor_t *group[DESCRIPTORS];
  for (int i = 0; i < DESCRIPTORS; i++) group[i] = &descs[i];
  if (grouped) {
    FUZZ_CHECK(mluOpCreateGroupTensorDescriptors(group, DESCRIPTORS) == MLUOP_STATUS_SUCCESS);
  }
  for (int i = 0; i < DESCRIPTORS; i++) {
    if (!grouped) FUZZ_CHECK(mluOpCreateTensorDescriptor(&descs[i]) == MLUOP_STATUS_SUCCESS);
    models[i] = created;
  }
}

static void destroy(bool grouped, int same) {
  mluOpTensorDescriptor_t *group[DESCRIPTORS];
  for (int i = 0; i < DESCRIPTORS; i++) group[i] = &descs[i];
  if (same > 0) {
    group[same] = &descs[0]; /* twice: none is destroyed */
    FUZZ_CHECK(mluOpDestroyGroupTensorDescriptors(group, DESCRIPTORS) == MLUOP_STATUS_BAD_PARAM);
    group[same] = &descs[same];
  }
  if (grouped) {
    FUZZ_CHECK(mluOpDestroyGroupTensorDescriptors(group, DESCRIPTORS) == MLUOP_STATUS_SUCCESS);
  }
  for (int i = 0; !grouped && i < DESCRIPTORS; i++)
    FUZZ_CHECK(mluOpDestroyTensorDescriptor(descs[i]) == MLUOP_STATUS_SUCCESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = fuzz_input_of(data, size);
  const uint32_t life = fuzz_byte(&in);
  mluOpCpuSetLogLevel(MLUOP_CPU_LOG_OFF);
  renew(life & 1);
  FUZZ_CHECK(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS);
  memset(&handle_model, 0, sizeof(handle_model));
  handle_model.atomics = MLUOP_ATOMICS_NOT_ALLOWED;
  for (int step = 0; step < STEPS && in.left > 0; step++) {
    const int at = fuzz_range(&in, 0, DESCRIPTORS - 1);
    const uint32_t what = fuzz_byte(&in) % 8;
    if (what < 3) set(&in, at, what);
    if (what == 3 || what == 4) set_attributes(&in, at);
    if (what == 5) set_group(&in, fuzz_range(&in, 0, DESCRIPTORS));
    if (what == 6) {
      FUZZ_CHECK(mluOpResetTensorDescriptor(descs[at]) == MLUOP_STATUS_SUCCESS);
      models[at] = created;
    }
    if (what == 7) set_handle(&in);
    check_handle();
    for (int i = 0; i < DESCRIPTORS; i++) {
      check_numbers(i);
      check_attributes(i);
    }
  }
  FUZZ_CHECK(mluOpDestroy(handle) == MLUOP_STATUS_SUCCESS);
  destroy(life & 2, (int)(life >> 2) % DESCRIPTORS);
  return 0;
}
