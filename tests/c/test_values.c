/* SPDX-License-Identifier: Apache-2.0 */
/* The results of every operator, on every instruction set that runs here, beside the plain loops:
   so that also those sets are tested for which there is no Python here. The plain loops round as
   the kernels do, hence the limits of the contract, not the tighter ones of the tests in Python. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mlu_op_cpu.h"
#include "twins.h"

enum { ROUNDS = 60, THREADS = 3 };

static const mluOpDataType_t types[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};

static int near(const struct twin *twin) {
  return twin_near(twin, twin->dtype == MLUOP_DTYPE_HALF ? 3e-3 : 1e-5);
}

/* A number of channels, often one at the edge of a vector or a block of them. */
static int random_channels(void) {
  static const int edges[] = {1, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 300};
  return edges[random_int(0, (int)(sizeof(edges) / sizeof(edges[0])) - 1)];
}

static struct twin nhwc(mluOpDataType_t dtype, int n, int h, int w, int c) {
  const int dims[] = {n, h, w, c};
  return twin_new(MLUOP_LAYOUT_NHWC, dtype, dims);
}

static struct twin nhwc_output(mluOpDataType_t dtype, int n, int h, int w, int c) {
  const int dims[] = {n, h, w, c};
  return twin_output(MLUOP_LAYOUT_NHWC, dtype, dims);
}

static struct twin array(mluOpDataType_t dtype, int a, int b, int c, int d) {
  const int dims[] = {a, b, c, d};
  return twin_new(MLUOP_LAYOUT_ARRAY, dtype, dims);
}

static void free_all(struct twin *const *twins, int count) {
  for (int i = 0; i < count; i++) twin_free(twins[i]);
}

#define FREE(...)                               \
  free_all((struct twin *const[]){__VA_ARGS__}, \
           (int)(sizeof((struct twin *const[]){__VA_ARGS__}) / sizeof(struct twin *)))

/* ----------------------------------------------------------------------------- operators */

static void carafe(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int kind = random_int(0, 4), many_groups = kind == 0, few_channels = kind == 1;
  const int n = random_int(1, 2), h = random_int(1, 7);
  const int w = few_channels ? random_int(16, 20) : random_int(1, 9);
  const int groups = many_groups ? random_int(8, 20) : random_int(1, 3);
  const int c = groups * (kind < 2 ? random_int(1, 17) : random_channels());
  const int k = 2 * random_int(0, 3) + 1, s = random_int(1, 3);
  struct twin input = nhwc(dtype, n, h, w, c), mask = nhwc(dtype, n, s * h, s * w, groups * k * k);
  struct twin output = nhwc_output(dtype, n, s * h, s * w, c);
  struct twin grad = nhwc(dtype, n, s * h, s * w, c), grad_input = nhwc_output(dtype, n, h, w, c);
  struct twin grad_mask = nhwc_output(dtype, n, s * h, s * w, groups * k * k);
  mluOpCarafeDescriptor_t desc, plain_desc;
  OK(mluOpCreateCarafeDescriptor(&desc));
  OK(mluOpSetCarafeDescriptor(desc, 4, k, groups, s));
  OK(plainCreateCarafeDescriptor(&plain_desc));
  OK(plainSetCarafeDescriptor(plain_desc, 4, k, groups, s));
  OK(mluOpCarafeForward(handle, desc, OURS(input), OURS(mask), OURS(output)));
  OK(plainCarafeForward(handle, plain_desc, THEIRS(input), THEIRS(mask), THEIRS(output)));
  CHECK(near(&output));
  OK(mluOpCarafeBackward(handle, desc, OURS(input), OURS(mask), OURS(grad), OURS(grad_input),
                         OURS(grad_mask)));
  OK(plainCarafeBackward(handle, plain_desc, THEIRS(input), THEIRS(mask), THEIRS(grad),
                         THEIRS(grad_input), THEIRS(grad_mask)));
  CHECK(near(&grad_input));
  CHECK(near(&grad_mask));
  OK(mluOpDestroyCarafeDescriptor(desc));
  OK(plainDestroyCarafeDescriptor(plain_desc));
  FREE(&input, &mask, &output, &grad, &grad_input, &grad_mask);
}

static void psamask(mluOpHandle_t handle, mluOpDataType_t dtype) {
  if (dtype != MLUOP_DTYPE_FLOAT) return;
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 40);
  const int rows = random_int(1, 2 * h), columns = random_int(1, 2 * w), type = random_int(0, 1);
  struct twin x = nhwc(dtype, n, h, w, rows * columns), y = nhwc_output(dtype, n, h, w, h * w);
  struct twin dy = nhwc(dtype, n, h, w, h * w), dx = nhwc_output(dtype, n, h, w, rows * columns);
  OK(mluOpPsamaskForward(handle, type, OURS(x), rows, columns, OURS(y)));
  OK(plainPsamaskForward(handle, type, THEIRS(x), rows, columns, THEIRS(y)));
  CHECK(twin_same(&y));
  OK(mluOpPsamaskBackward(handle, type, OURS(dy), rows, columns, OURS(dx)));
  OK(plainPsamaskBackward(handle, type, THEIRS(dy), rows, columns, THEIRS(dx)));
  CHECK(twin_same(&dx));
  FREE(&x, &y, &dy, &dx);
}

/* Corners anywhere on and around the map, also inverted; a number in front where rows have five. */
static void set_boxes(struct twin *boxes, int row, int images, int h, int w) {
  for (int64_t i = 0; i < boxes->count; i++) {
    const int64_t column = i % row - (row - 4);
    const int extent = column % 2 == 0 ? w : h;
    const double at = random_real(-0.3 * extent, 1.3 * extent);
    twin_set(boxes, i, column < 0 ? random_int(0, images - 1) : at);
  }
}

static void deform_roi_pool(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int n = random_int(1, 2), h = random_int(1, 20), w = random_int(1, 20);
  const int c = random_channels(), r = random_int(1, 9), ph = random_int(1, 4);
  const int pw = random_int(1, 4), ratio = random_int(0, 3);
  const float scale = random_int(0, 1) ? 1.0f : 0.5f, gamma = 0.3f;
  struct twin input = nhwc(dtype, n, h, w, c), rois = array(dtype, r, 5, 0, 0);
  struct twin offset = array(dtype, r, 2, ph, pw), output = nhwc_output(dtype, r, ph, pw, c);
  struct twin grad = nhwc(dtype, r, ph, pw, c), grad_input = nhwc_output(dtype, n, h, w, c);
  const int offsets[] = {r, 2, ph, pw};
  struct twin grad_offset = twin_output(MLUOP_LAYOUT_ARRAY, dtype, offsets);
  set_boxes(&rois, 5, n, h, w);
  OK(mluOpDeformRoiPoolForward(handle, OURS(input), OURS(rois), OURS(offset), ph, pw, scale, ratio,
                               gamma, OURS(output)));
  OK(plainDeformRoiPoolForward(handle, THEIRS(input), THEIRS(rois), THEIRS(offset), ph, pw, scale,
                               ratio, gamma, THEIRS(output)));
  CHECK(near(&output));
  OK(mluOpDeformRoiPoolBackward(handle, OURS(grad), OURS(input), OURS(rois), OURS(offset), ph, pw,
                                scale, ratio, gamma, OURS(grad_input), OURS(grad_offset)));
  OK(plainDeformRoiPoolBackward(handle, THEIRS(grad), THEIRS(input), THEIRS(rois), THEIRS(offset),
                                ph, pw, scale, ratio, gamma, THEIRS(grad_input),
                                THEIRS(grad_offset)));
  CHECK(near(&grad_input));
  CHECK(near(&grad_offset));
  FREE(&input, &rois, &offset, &output, &grad, &grad_input, &grad_offset);
}

static void border_align(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int n = random_int(1, 2), h = random_int(1, 9), w = random_int(1, 9), k = h * w;
  const int c = random_channels(), pool = random_int(1, 12);
  struct twin input = nhwc(dtype, n, h, w, 4 * c), boxes = array(dtype, n, k, 4, 0);
  struct twin output = nhwc_output(dtype, n, k, 4, c);
  struct twin argmax = nhwc_output(MLUOP_DTYPE_INT32, n, k, 4, c);
  struct twin grad = nhwc(dtype, n, k, 4, c), grad_input = nhwc_output(dtype, n, h, w, 4 * c);
  set_boxes(&boxes, 4, 1, h, w);
  OK(mluOpBorderAlignForward(handle, OURS(input), OURS(boxes), pool, OURS(output), OURS(argmax)));
  OK(plainBorderAlignForward(handle, THEIRS(input), THEIRS(boxes), pool, THEIRS(output),
                             THEIRS(argmax)));
  CHECK(twin_same(&output));
  CHECK(twin_same(&argmax));
  OK(mluOpBorderAlignBackward(handle, OURS(grad), OURS(boxes), OURS(argmax), pool,
                              OURS(grad_input)));
  OK(plainBorderAlignBackward(handle, THEIRS(grad), THEIRS(boxes), THEIRS(argmax), pool,
                              THEIRS(grad_input)));
  CHECK(near(&grad_input));
  FREE(&input, &boxes, &output, &argmax, &grad, &grad_input);
}

static void masked_im2col(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int c = random_int(1, 9), h = random_int(1, 20), w = random_int(1, 40);
  const int m = random_int(1, 200), kh = random_int(1, 3), kw = random_int(1, 4);
  const int feature_dims[] = {1, c, h, w}, column_dims[] = {c * kh * kw, m, 0, 0};
  struct twin feature = twin_new(MLUOP_LAYOUT_NCHW, dtype, feature_dims);
  struct twin ys = array(MLUOP_DTYPE_INT32, m, 0, 0, 0), xs = array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin columns = twin_output(MLUOP_LAYOUT_ARRAY, dtype, column_dims);
  const int runs = random_int(0, 1);
  for (int i = 0, at = 0; i < m; i++, at += runs ? random_int(1, 2) : random_int(0, 50)) {
    twin_set(&ys, i, at / w - 1);
    twin_set(&xs, i, at % w - 1);
  }
  OK(mluOpMaskedIm2colForward(handle, OURS(feature), OURS(ys), OURS(xs), kh, kw, 1, 0, NULL, 0,
                              OURS(columns)));
  OK(plainMaskedIm2colForward(handle, THEIRS(feature), THEIRS(ys), THEIRS(xs), kh, kw, 1, 0, NULL,
                              0, THEIRS(columns)));
  CHECK(twin_same(&columns));
  FREE(&feature, &ys, &xs, &columns);
}

static void masked_col2im(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const int c = random_int(1, 9), h = random_int(1, 20), w = random_int(1, 40);
  const int m = random_int(1, 200);
  const int image_dims[] = {1, c, h, w};
  struct twin columns = array(dtype, c, m, 0, 0);
  struct twin ys = array(MLUOP_DTYPE_INT32, m, 0, 0, 0), xs = array(MLUOP_DTYPE_INT32, m, 0, 0, 0);
  struct twin image = twin_output(MLUOP_LAYOUT_NCHW, dtype, image_dims);
  const int sorted = random_int(0, 1);
  for (int i = 0, at = 0; i < m; i++, at = (at + (sorted ? 1 : random_int(0, 99))) % (h * w)) {
    twin_set(&ys, i, at / w);
    twin_set(&xs, i, at % w);
  }
  OK(mluOpMaskedCol2imForward(handle, OURS(columns), OURS(ys), OURS(xs), 0, NULL, OURS(image)));
  OK(plainMaskedCol2imForward(handle, THEIRS(columns), THEIRS(ys), THEIRS(xs), 0, NULL,
                              THEIRS(image)));
  CHECK(twin_same(&image));
  FREE(&columns, &ys, &xs, &image);
}

/* ------------------------------------------------------------------------------- the runs */

typedef void compare_t(mluOpHandle_t handle, mluOpDataType_t dtype);

static void on_isa(const char *isa, compare_t *compare) {
  setenv("MLUOP_CPU_ISA", isa, 1);
  mluOpHandle_t handle = NULL;
  OK(mluOpCreate(&handle));
  unsetenv("MLUOP_CPU_ISA");
  CHECK_TEXT(isa, mluOpCpuGetIsaName(handle));
  for (int round = 0; round < ROUNDS; round++) {
    OK(mluOpCpuSetNumThreads(handle, 1 + round % THREADS));
    for (int type = 0; type < 2; type++) {
      const int before = failed_checks();
      compare(handle, types[type]);
      if (failed_checks() != before) printf("  (%s, round %d, type %d)\n", isa, round, type);
    }
  }
  OK(mluOpDestroy(handle));
}

static void on_every_isa(compare_t *compare) {
  char names[128];
  snprintf(names, sizeof(names), "%s", mluOpCpuGetSupportedIsas());
  char *rest = NULL;
  for (char *isa = strtok_r(names, " ", &rest); isa; isa = strtok_r(NULL, " ", &rest))
    on_isa(isa, compare);
}

static void carafe_values(void) { on_every_isa(carafe); }
static void psamask_values(void) { on_every_isa(psamask); }
static void deform_roi_pool_values(void) { on_every_isa(deform_roi_pool); }
static void border_align_values(void) { on_every_isa(border_align); }
static void masked_im2col_values(void) { on_every_isa(masked_im2col); }
static void masked_col2im_values(void) { on_every_isa(masked_col2im); }

static const struct test tests[] = {TEST(carafe_values),          TEST(psamask_values),
                                    TEST(deform_roi_pool_values), TEST(border_align_values),
                                    TEST(masked_im2col_values),   TEST(masked_col2im_values)};

RUN_TESTS(tests)
