/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <math.h>

PLAIN(CreateRoiAlignForwardDescriptor);
PLAIN(SetRoiAlignForwardDescriptor_v2);
PLAIN(DestroyRoiAlignForwardDescriptor);
PLAIN(RoiAlignForward_v2);
PLAIN(RoiAlignBackward);
PLAIN(RoiAlignBackward_v2);

enum { MAXIMUM, MEAN };
enum { READ, BOXES, WRITTEN, ARGMAX_X, ARGMAX_Y }; /* tensors */
enum { POOLED_H, POOLED_W, RATIO, MODE, ALIGNED }; /* integers */
enum { SCALE };                                    /* floats */
enum { N = FUZZ_MOST_NUMBERS - 3, H, W };          /* not bent */
enum { PLAIN_SAMPLES = 1 << 20 };                  /* that plain loops take */

static void make(struct fuzz *f, bool backward, int mode, bool with_argmax) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int pooled_h = fuzz_range(in, 1, 7), pooled_w = fuzz_range(in, 1, 7);
  int64_t room = fuzz_room(f), bin_room;
  const int c = fuzz_take(in, 129, &room);
  bin_room = room / (pooled_h * pooled_w);
  const int n = fuzz_take(in, 3, &room), h = fuzz_take(in, 33, &room);
  const int w = fuzz_take(in, 48, &room), r = fuzz_take(in, 17, &bin_room);
  const int64_t *map = FUZZ_DIMS(n, h, w, c), *bins = FUZZ_DIMS(r, pooled_h, pooled_w, c);
  const enum fuzz_role argmax = backward ? FUZZ_OWN : FUZZ_OUTPUT;
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, backward ? bins : map);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(r, 5, -1));
  fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, backward ? map : bins);
  if (with_argmax) fuzz_add(f, argmax, MLUOP_LAYOUT_NHWC, dtype, bins);
  if (with_argmax) fuzz_add(f, argmax, MLUOP_LAYOUT_NHWC, dtype, bins);
  fuzz_add_int(f, pooled_h);
  fuzz_add_int(f, pooled_w);
  fuzz_add_int(f, fuzz_range(in, -1, 4));
  fuzz_add_int(f, mode);
  fuzz_add_int(f, fuzz_range(in, 0, 1));
  fuzz_add_float(f, fuzz_float(in));
  f->p[N] = n;
  f->p[H] = h;
  f->p[W] = w;
}

static void make_mean(struct fuzz *f) { make(f, false, MEAN, false); }
static void make_maximum(struct fuzz *f) { make(f, false, MAXIMUM, true); }
static void make_backward(struct fuzz *f) { make(f, true, MEAN, false); }
static void make_backward_v2(struct fuzz *f) { make(f, true, fuzz_range(&f->in, 0, 1), true); }

/* Plain loops visit every sample of a region, wherever it is. */
static void judge_plain(struct fuzz *f) {
  const double scale = (double)f->r[SCALE], size = 1.6 * 1.6 * scale * scale;
  const double adaptive = size * f->p[H] * f->p[W];
  const double regular = (double)f->p[RATIO] * f->p[RATIO] * f->p[POOLED_H] * f->p[POOLED_W];
  const double samples = f->p[RATIO] > 0 ? regular : adaptive + f->p[POOLED_H] * f->p[POOLED_W];
  const double work = samples * (double)f->t[BOXES].dims[0] * (double)f->t[READ].dims[3];
  if (!(work < PLAIN_SAMPLES) || !(scale > 0 && scale <= 16) || f->p[RATIO] > 64)
    f->no_plain = true;
}

static void fill(struct fuzz *f) {
  fuzz_fill_boxes(f, &f->t[BOXES], 5, f->p[N], f->p[H], f->p[W]);
  judge_plain(f);
}

/* A pixel may get a term of each bin, and they may cancel: about 2 ulp of the sum of their sizes,
   where the properties allow 4. */
static void fill_backward(struct fuzz *f) {
  fill(f);
  const int64_t *bins = f->t[READ].dims;
  f->scale = fmax(1, (double)bins[0] * (double)bins[1] * (double)bins[2] / 8);
}

static void ignore_argmax(struct fuzz *f) {
  f->t[ARGMAX_X].held = f->t[ARGMAX_Y].held = 0;
  f->t[ARGMAX_X].ignored = f->t[ARGMAX_Y].ignored = true;
}

/* A plain loop keeps a NaN that comes first. */
static void fill_maximum(struct fuzz *f) {
  fill(f);
  if (f->p[MODE] != MAXIMUM) { /* a defect: means leave these alone, and are sums */
    f->t[ARGMAX_X].role = f->t[ARGMAX_Y].role = FUZZ_OWN;
    ignore_argmax(f);
    f->no_plain = f->wild = true;
  }
  if (!fuzz_finite(&f->t[READ])) f->no_plain = true;
}

static void fill_backward_v2(struct fuzz *f) {
  fill_backward(f);
  const uint32_t strange = fuzz_byte(&f->in);
  for (int64_t i = 0; i < f->t[ARGMAX_X].held && i < f->t[ARGMAX_Y].held; i++) {
    float x = fuzz_random_float(&f->in, -2, (float)f->p[W] + 1);
    float y = fuzz_random_float(&f->in, -2, (float)f->p[H] + 1);
    if (strange > 128 && fuzz_random(&f->in) % 16 == 0) x = (float)f->p[W], y = -1;
    if (strange > 192 && fuzz_random(&f->in) % 16 == 0) y = strange % 2 ? 1e30f : -0.0f / 0.0f;
    fuzz_set(&f->t[ARGMAX_X], i, x);
    fuzz_set(&f->t[ARGMAX_Y], i, y);
  }
  if (f->p[MODE] == MEAN) ignore_argmax(f);
}

#define FORWARD(desc, both) desc, both(READ), both(BOXES), both(WRITTEN)
#define PARAMETERS \
  f->p[POOLED_H], f->p[POOLED_W], f->p[RATIO], f->r[SCALE], f->p[MODE], f->p[ALIGNED] != 0

static mluOpStatus_t forward(mluOpHandle_t handle, struct fuzz *f) {
  mluOpRoiAlignForwardDescriptor_t desc;
  FUZZ_CHECK(mluOpCreateRoiAlignForwardDescriptor(&desc) == MLUOP_STATUS_SUCCESS);
  mluOpSetRoiAlignForwardDescriptor_v2(desc, PARAMETERS);
  const mluOpStatus_t status =
      mluOpRoiAlignForward_v2(handle, FORWARD(f->no_object ? NULL : desc, FUZZ_BOTH),
                              FUZZ_BOTH(ARGMAX_X), FUZZ_BOTH(ARGMAX_Y));
  mluOpDestroyRoiAlignForwardDescriptor(desc);
  return status;
}

static void plain_forward(struct fuzz *f) {
  mluOpRoiAlignForwardDescriptor_t desc;
  plainCreateRoiAlignForwardDescriptor(&desc);
  plainSetRoiAlignForwardDescriptor_v2(desc, PARAMETERS);
  plainRoiAlignForward_v2(NULL, FORWARD(desc, FUZZ_PLAIN), FUZZ_PLAIN(ARGMAX_X),
                          FUZZ_PLAIN(ARGMAX_Y));
  plainDestroyRoiAlignForwardDescriptor(desc);
}

#define BACKWARD(both) \
  f->r[SCALE], f->p[RATIO], f->p[ALIGNED] != 0, both(READ), both(BOXES), both(WRITTEN)
#define BACKWARD_V2(both)                                                            \
  both(READ), both(BOXES), both(ARGMAX_X), both(ARGMAX_Y), f->r[SCALE], f->p[RATIO], \
      f->p[ALIGNED] != 0, f->p[MODE], both(WRITTEN)

static mluOpStatus_t backward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpRoiAlignBackward(handle, BACKWARD(FUZZ_BOTH));
}

static mluOpStatus_t backward_v2(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpRoiAlignBackward_v2(handle, BACKWARD_V2(FUZZ_BOTH));
}

static void plain_backward(struct fuzz *f) { plainRoiAlignBackward(NULL, BACKWARD(FUZZ_PLAIN)); }

static void plain_backward_v2(struct fuzz *f) {
  plainRoiAlignBackward_v2(NULL, BACKWARD_V2(FUZZ_PLAIN));
}

const struct fuzz_operator fuzz_roi_align[] = {
    {"mluOpRoiAlignForward_v2 of means", make_mean, fill, forward, plain_forward, NULL, FUZZ_NEAR},
    {"mluOpRoiAlignForward_v2 of maxima", make_maximum, fill_maximum, forward, plain_forward, NULL,
     FUZZ_NUMBERS},
    {"mluOpRoiAlignBackward", make_backward, fill_backward, backward, plain_backward, NULL,
     FUZZ_NEAR},
    {"mluOpRoiAlignBackward_v2", make_backward_v2, fill_backward_v2, backward_v2, plain_backward_v2,
     NULL, FUZZ_NEAR},
    {0}};
