/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

PLAIN(CreateCarafeDescriptor);
PLAIN(SetCarafeDescriptor);
PLAIN(DestroyCarafeDescriptor);
PLAIN(CarafeForward);
PLAIN(CarafeBackward);

enum { INPUT, MASK, OUTPUT, GRAD_INPUT, GRAD_MASK }; /* OUTPUT: or its gradient */
enum { DIM_NB, KERNEL, GROUPS, SCALE };              /* integers */

/* The most of each, and the fewest groups: for half of the calls, for those with many groups, and
   for those with many channels. */
static const struct limits {
  int h, w, few_groups, groups, channels;
} all_limits[] = {{9, 33, 1, 20, 129}, {9, 33, 1, 20, 129}, {5, 9, 8, 20, 17}, {2, 5, 1, 2, 600}};

enum direction { FORWARD, FORWARD_NCHW, BACKWARD };

static void make(struct fuzz *f, enum direction direction) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int s = fuzz_range(in, 1, 5);
  int64_t room = 2 * fuzz_room(f) / (s * s);
  const struct limits *most = &all_limits[fuzz_range(in, 0, 3)];
  if (most->few_groups > 1) room = FUZZ_MOST_ELEMENTS / (s * s);
  room /= most->few_groups;
  const int h = fuzz_take(in, most->h, &room), w = fuzz_take(in, most->w, &room);
  const int n = fuzz_take(in, 3, &room);
  const int more_groups = room < most->groups ? (int)room : most->groups;
  const int groups = fuzz_range(in, most->few_groups,
                                more_groups < most->few_groups ? most->few_groups : more_groups);
  room /= groups / most->few_groups;
  int most_taps = 0; /* on either side */
  while (most_taps < 5 && (2 * most_taps + 3) * (2 * most_taps + 3) <= room) most_taps++;
  const int k = 2 * fuzz_range(in, 0, most_taps) + 1;
  const int c = groups * fuzz_take(in, most->channels, &room);
  const int64_t *map = FUZZ_DIMS(n, h, w, c), *scaled = FUZZ_DIMS(n, s * h, s * w, c);
  const int64_t *masks = FUZZ_DIMS(n, s * h, s * w, groups * k * k);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, map);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, masks);
  if (direction == FORWARD_NCHW) {
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NCHW, dtype, FUZZ_DIMS(n, c, s * h, s * w));
  } else {
    fuzz_add(f, direction == BACKWARD ? FUZZ_VALUES : FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype,
             scaled);
  }
  if (direction == BACKWARD) {
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, map);
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, masks);
  }
  fuzz_add_int(f, 4);
  fuzz_add_int(f, k);
  fuzz_add_int(f, groups);
  fuzz_add_int(f, s);
}

static void make_forward(struct fuzz *f) { make(f, FORWARD); }
static void make_nchw(struct fuzz *f) { make(f, FORWARD_NCHW); }
static void make_backward(struct fuzz *f) { make(f, BACKWARD); }

static mluOpCarafeDescriptor_t described(const struct fuzz *f) {
  mluOpCarafeDescriptor_t desc;
  FUZZ_CHECK(mluOpCreateCarafeDescriptor(&desc) == MLUOP_STATUS_SUCCESS);
  mluOpSetCarafeDescriptor(desc, f->p[DIM_NB], f->p[KERNEL], f->p[GROUPS], f->p[SCALE]);
  return desc;
}

static mluOpCarafeDescriptor_t plain_described(const struct fuzz *f) {
  mluOpCarafeDescriptor_t desc;
  plainCreateCarafeDescriptor(&desc);
  plainSetCarafeDescriptor(desc, f->p[DIM_NB], f->p[KERNEL], f->p[GROUPS], f->p[SCALE]);
  return desc;
}

#define FORWARD_TENSORS(both) both(INPUT), both(MASK), both(OUTPUT)
#define BACKWARD_TENSORS(both) \
  both(INPUT), both(MASK), both(OUTPUT), both(GRAD_INPUT), both(GRAD_MASK)

static mluOpStatus_t forward(mluOpHandle_t handle, struct fuzz *f) {
  mluOpCarafeDescriptor_t desc = described(f);
  const mluOpStatus_t status =
      mluOpCarafeForward(handle, f->no_object ? NULL : desc, FORWARD_TENSORS(FUZZ_BOTH));
  mluOpDestroyCarafeDescriptor(desc);
  return status;
}

static mluOpStatus_t nchw(mluOpHandle_t handle, struct fuzz *f) {
  mluOpCarafeDescriptor_t desc = described(f);
  const mluOpStatus_t status =
      mluOpCpuCarafeNchwForward(handle, f->no_object ? NULL : desc, FORWARD_TENSORS(FUZZ_BOTH));
  mluOpDestroyCarafeDescriptor(desc);
  return status;
}

static mluOpStatus_t backward(mluOpHandle_t handle, struct fuzz *f) {
  mluOpCarafeDescriptor_t desc = described(f);
  const mluOpStatus_t status =
      mluOpCarafeBackward(handle, f->no_object ? NULL : desc, BACKWARD_TENSORS(FUZZ_BOTH));
  mluOpDestroyCarafeDescriptor(desc);
  return status;
}

static void plain_forward(struct fuzz *f) {
  mluOpCarafeDescriptor_t desc = plain_described(f);
  plainCarafeForward(NULL, desc, FORWARD_TENSORS(FUZZ_PLAIN));
  plainDestroyCarafeDescriptor(desc);
}

/* The plain output, turned: channels of pixels become planes. */
static void plain_nchw(struct fuzz *f) {
  static float pixels[FUZZ_MOST_ELEMENTS];
  const struct fuzz_tensor *t = &f->t[OUTPUT];
  float *planes = t->plain;
  const int64_t c = t->dims[1], plane = t->dims[2] * t->dims[3];
  const int64_t dims[] = {t->dims[0], t->dims[2], t->dims[3], c};
  mluOpTensorDescriptor_t to;
  FUZZ_CHECK(mluOpCreateTensorDescriptor(&to) == MLUOP_STATUS_SUCCESS);
  mluOpSetTensorDescriptor_v2(to, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, dims);
  mluOpCarafeDescriptor_t desc = plain_described(f);
  plainCarafeForward(NULL, desc, FUZZ_PLAIN(INPUT), FUZZ_PLAIN(MASK), to, pixels);
  plainDestroyCarafeDescriptor(desc);
  mluOpDestroyTensorDescriptor(to);
  for (int64_t i = 0; i < t->count; i++) {
    const int64_t image = i / plane / c;
    planes[i] = pixels[(image * plane + i % plane) * c + i / plane % c];
  }
}

static void plain_backward(struct fuzz *f) {
  mluOpCarafeDescriptor_t desc = plain_described(f);
  plainCarafeBackward(NULL, desc, BACKWARD_TENSORS(FUZZ_PLAIN));
  plainDestroyCarafeDescriptor(desc);
}

const struct fuzz_operator fuzz_carafe[] = {
    {"mluOpCarafeForward", make_forward, NULL, forward, plain_forward, NULL, FUZZ_NEAR},
    {"mluOpCpuCarafeNchwForward", make_nchw, NULL, nchw, plain_nchw, NULL, FUZZ_NEAR},
    {"mluOpCarafeBackward", make_backward, NULL, backward, plain_backward, NULL, FUZZ_NEAR},
    {0}};
