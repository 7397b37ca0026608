/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

PLAIN(PsamaskForward);
PLAIN(PsamaskBackward);

enum { TYPE, H_MASK, W_MASK };

static void make(struct fuzz *f, mluOpTensorLayout_t layout, bool backward) {
  struct fuzz_input *in = &f->in;
  const int64_t room = fuzz_room(f);
  int64_t plane = 1, images = room;
  while ((plane + 1) * (plane + 1) <= room) plane++;
  const int type = fuzz_range(in, 0, 1), h = fuzz_take(in, 33, &plane);
  const int w = fuzz_take(in, 65, &plane), pixels = h * w;
  if (pixels > 0) images /= (int64_t)pixels * pixels;
  const int n = fuzz_take(in, 3, &images);
  int64_t taps = n * pixels > 0 ? room / (n * pixels) : 100;
  const int rows = fuzz_take(in, 65, &taps), columns = fuzz_take(in, 65, &taps);
  const bool nchw = layout == MLUOP_LAYOUT_NCHW;
  const int64_t *masks =
      nchw ? FUZZ_DIMS(n, rows * columns, h, w) : FUZZ_DIMS(n, h, w, rows * columns);
  const int64_t *spread = nchw ? FUZZ_DIMS(n, h * w, h, w) : FUZZ_DIMS(n, h, w, h * w);
  fuzz_add(f, FUZZ_VALUES, layout, MLUOP_DTYPE_FLOAT, backward ? spread : masks);
  fuzz_add(f, FUZZ_OUTPUT, layout, MLUOP_DTYPE_FLOAT, backward ? masks : spread);
  fuzz_add_int(f, type);
  fuzz_add_int(f, rows);
  fuzz_add_int(f, columns);
}

static void make_forward(struct fuzz *f) { make(f, MLUOP_LAYOUT_NHWC, false); }
static void make_backward(struct fuzz *f) { make(f, MLUOP_LAYOUT_NHWC, true); }
static void make_nchw_forward(struct fuzz *f) { make(f, MLUOP_LAYOUT_NCHW, false); }
static void make_nchw_backward(struct fuzz *f) { make(f, MLUOP_LAYOUT_NCHW, true); }

#define ARGUMENTS(both) f->p[TYPE], both(0), f->p[H_MASK], f->p[W_MASK], both(1)

static mluOpStatus_t forward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpPsamaskForward(handle, ARGUMENTS(FUZZ_BOTH));
}

static mluOpStatus_t backward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpPsamaskBackward(handle, ARGUMENTS(FUZZ_BOTH));
}

static mluOpStatus_t nchw_forward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpCpuPsamaskNchwForward(handle, ARGUMENTS(FUZZ_BOTH));
}

static mluOpStatus_t nchw_backward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpCpuPsamaskNchwBackward(handle, ARGUMENTS(FUZZ_BOTH));
}

static void plain_forward(struct fuzz *f) { plainPsamaskForward(NULL, ARGUMENTS(FUZZ_PLAIN)); }
static void plain_backward(struct fuzz *f) { plainPsamaskBackward(NULL, ARGUMENTS(FUZZ_PLAIN)); }

/* The same images the other way round: what are channels in NHWC are planes in NCHW. */
static void turn(const struct fuzz_tensor *t, const float *from, float *to, bool to_planes) {
  const int64_t channels = t->dims[1], pixels = t->dims[2] * t->dims[3];
  for (int64_t i = 0; i < t->count; i++) {
    const int64_t pixel = i % pixels, image = i / pixels / channels * pixels * channels;
    const int64_t other = image + pixel * channels + i / pixels % channels;
    to[to_planes ? i : other] = from[to_planes ? other : i];
  }
}

static mluOpTensorDescriptor_t turned(const struct fuzz_tensor *t) {
  const int64_t dims[] = {t->dims[0], t->dims[2], t->dims[3], t->dims[1]};
  mluOpTensorDescriptor_t desc;
  FUZZ_CHECK(mluOpCreateTensorDescriptor(&desc) == MLUOP_STATUS_SUCCESS);
  mluOpSetTensorDescriptor_v2(desc, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims);
  return desc;
}

static void plain_nchw(struct fuzz *f, __typeof__(mluOpPsamaskForward) *plain) {
  static float source[FUZZ_MOST_ELEMENTS], target[FUZZ_MOST_ELEMENTS];
  mluOpTensorDescriptor_t from = turned(&f->t[0]), to = turned(&f->t[1]);
  turn(&f->t[0], f->t[0].plain, source, false);
  plain(NULL, f->p[TYPE], from, source, f->p[H_MASK], f->p[W_MASK], to, target);
  turn(&f->t[1], target, f->t[1].plain, true);
  mluOpDestroyTensorDescriptor(from);
  mluOpDestroyTensorDescriptor(to);
}

static void plain_nchw_forward(struct fuzz *f) { plain_nchw(f, plainPsamaskForward); }
static void plain_nchw_backward(struct fuzz *f) { plain_nchw(f, plainPsamaskBackward); }

const struct fuzz_operator fuzz_psamask[] = {
    {"mluOpPsamaskForward", make_forward, NULL, forward, plain_forward, NULL, FUZZ_BITS},
    {"mluOpPsamaskBackward", make_backward, NULL, backward, plain_backward, NULL, FUZZ_BITS},
    {"mluOpCpuPsamaskNchwForward", make_nchw_forward, NULL, nchw_forward, plain_nchw_forward, NULL,
     FUZZ_BITS},
    {"mluOpCpuPsamaskNchwBackward", make_nchw_backward, NULL, nchw_backward, plain_nchw_backward,
     NULL, FUZZ_BITS},
    {0}};
