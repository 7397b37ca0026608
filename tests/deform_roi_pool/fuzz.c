/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

PLAIN(DeformRoiPoolForward);
PLAIN(DeformRoiPoolBackward);

enum { INPUT, ROIS, OFFSET, OUTPUT, GRAD_INPUT, GRAD_OFFSET }; /* OUTPUT: or its gradient */
enum { POOLED_H, POOLED_W, RATIO };                            /* integers */
enum { SCALE, GAMMA };                                         /* floats */
enum { N = FUZZ_MOST_NUMBERS - 3, H, W };                      /* not bent */
enum { PLAIN_SAMPLES = 1 << 20 };                              /* that plain loops take */

static void make(struct fuzz *f, bool backward) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int most_bins = fuzz_range(in, 0, 3) == 0 ? 1 : 7; /* so few that most pixels have none */
  const int ph = fuzz_range(in, 1, most_bins), pw = fuzz_range(in, 1, most_bins);
  const bool without = fuzz_range(in, 0, 3) == 3;
  int64_t room = most_bins == 1 ? FUZZ_MOST_ELEMENTS : fuzz_room(f), bin_room;
  const int c = most_bins == 1 ? fuzz_range(in, 128, 300) : fuzz_take(in, 300, &room);
  if (most_bins == 1) room /= c;
  bin_room = room / (ph * pw);
  const int n = fuzz_take(in, 3, &room), h = fuzz_take(in, 33, &room);
  const int w = fuzz_take(in, 48, &room), r = fuzz_take(in, most_bins == 1 ? 2 : 17, &bin_room);
  const int64_t *map = FUZZ_DIMS(n, h, w, c), *bins = FUZZ_DIMS(r, ph, pw, c);
  const int64_t *offsets = FUZZ_DIMS(r, 2, ph, pw);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, map);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(r, 5, -1));
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, offsets)->absent = without;
  fuzz_add(f, backward ? FUZZ_VALUES : FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, bins);
  if (backward) fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, map);
  if (backward) fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_ARRAY, dtype, offsets)->absent = without;
  fuzz_add_int(f, ph);
  fuzz_add_int(f, pw);
  fuzz_add_int(f, fuzz_range(in, -1, 4));
  fuzz_add_float(f, fuzz_float(in));
  fuzz_add_float(f, fuzz_float(in));
  f->p[N] = n;
  f->p[H] = h;
  f->p[W] = w;
}

static void make_forward(struct fuzz *f) { make(f, false); }
static void make_backward(struct fuzz *f) { make(f, true); }

/* Plain loops visit every sample of a region, wherever it is. */
static void judge_plain(struct fuzz *f) {
  const double scale = (double)f->r[SCALE], gamma = (double)f->r[GAMMA];
  const double adaptive = 1.6 * 1.6 * scale * scale * f->p[H] * f->p[W];
  const double bins = (double)f->p[POOLED_H] * f->p[POOLED_W], ratio = f->p[RATIO];
  const double samples = ratio > 0 ? ratio * ratio * bins : adaptive + bins;
  const double work = samples * (double)f->t[ROIS].dims[0] * (double)f->t[INPUT].dims[3];
  const bool tame = scale > 0 && scale <= 16 && gamma >= -1 && gamma <= 4 && f->p[RATIO] <= 64;
  if (!tame || !(work < PLAIN_SAMPLES)) f->no_plain = true;
  f->scale = 100 * (scale > 1 ? scale : 1); /* of slopes, which are as large as regions */
}

static void fill(struct fuzz *f) {
  fuzz_fill_boxes(f, &f->t[ROIS], 5, f->p[N], f->p[H], f->p[W]);
  judge_plain(f);
  f->mixed = true; /* the offset's gradient: the order of its sums decides */
  const uint32_t strange = fuzz_byte(&f->in);
  for (int64_t i = 0; i < f->t[OFFSET].held; i++) {
    float value = fuzz_random_float(&f->in, -1, 1);
    if (strange % 4 == 1) value = 0;
    if (strange > 200 && fuzz_random(&f->in) % 16 == 0) value = strange % 2 ? 1e30f : -0.0f / 0.0f;
    fuzz_set(&f->t[OFFSET], i, value);
  }
}

#define PARAMETERS f->p[POOLED_H], f->p[POOLED_W], f->r[SCALE], f->p[RATIO], f->r[GAMMA]
#define FORWARD(both) both(INPUT), both(ROIS), both(OFFSET), PARAMETERS, both(OUTPUT)
#define BACKWARD(both)                                                               \
  both(OUTPUT), both(INPUT), both(ROIS), both(OFFSET), PARAMETERS, both(GRAD_INPUT), \
      both(GRAD_OFFSET)

static mluOpStatus_t forward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpDeformRoiPoolForward(handle, FORWARD(FUZZ_BOTH));
}

static mluOpStatus_t backward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpDeformRoiPoolBackward(handle, BACKWARD(FUZZ_BOTH));
}

static void plain_forward(struct fuzz *f) { plainDeformRoiPoolForward(NULL, FORWARD(FUZZ_PLAIN)); }

static void plain_backward(struct fuzz *f) {
  plainDeformRoiPoolBackward(NULL, BACKWARD(FUZZ_PLAIN));
}

const struct fuzz_operator fuzz_deform_roi_pool[] = {
    {"mluOpDeformRoiPoolForward", make_forward, fill, forward, plain_forward, NULL, FUZZ_NEAR},
    {"mluOpDeformRoiPoolBackward", make_backward, fill, backward, plain_backward, NULL, FUZZ_NEAR},
    {0}};
