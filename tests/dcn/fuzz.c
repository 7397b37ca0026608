/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <math.h>

PLAIN(CreateDCNDescriptor);
PLAIN(SetDCNDescriptor);
PLAIN(DestroyDCNDescriptor);
PLAIN(DCNForward);
PLAIN(DCNBackwardData);
PLAIN(DCNBackwardWeight);

enum { INPUT, OFFSET, MASK, FILTER, OUTPUT, BIAS, GRAD_INPUT = 5, GRAD_OFFSET, GRAD_MASK };
enum { PAD, STRIDE = 4, DILATION = 6, DEFORMABLE = 8, GROUPS, STEP, COMPUTE }; /* integers */
enum { PLAIN_WORK = 1 << 21 }; /* multiplications that plain loops take */
enum operator_ { FORWARD, DATA, WEIGHT };

static int places(int extent, int padding, int taps, int dilation, int stride) {
  const int left = extent + padding - (dilation * (taps - 1) + 1);
  return left < 0 ? 0 : left / stride + 1;
}

static void make(struct fuzz *f, enum operator_ operator_) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int64_t most = fuzz_room(f);
  int64_t room = most;
  const int kh = fuzz_range(in, 1, 4), kw = fuzz_range(in, 1, 5), taps = kh * kw;
  const int deformable = fuzz_range(in, 1, 3), groups = fuzz_range(in, 1, 3);
  room /= deformable * groups;
  const int per_group = fuzz_take(in, 65, &room), c = deformable * groups * per_group;
  const int h = fuzz_take(in, 40, &room), w = fuzz_take(in, 33, &room), n = fuzz_take(in, 2, &room);
  for (int i = 0; i < 4; i++) fuzz_add_int(f, fuzz_range(in, 0, 2));
  for (int i = 0; i < 4; i++) fuzz_add_int(f, fuzz_range(in, 1, 2));
  const int ho = places(h, f->p[PAD] + f->p[PAD + 1], kh, f->p[DILATION], f->p[STRIDE]);
  const int wo = places(w, f->p[PAD + 2] + f->p[PAD + 3], kw, f->p[DILATION + 1], f->p[STRIDE + 1]);
  const int64_t pixels = (int64_t)n * ho * wo > 0 ? (int64_t)n * ho * wo : 1;
  room = most / pixels / groups;
  const int64_t of_filter = 2 * most / (taps * (c > 0 ? c : 1));
  if (of_filter < room) room = of_filter;
  const int co = groups * fuzz_take(in, 65, &room), samples = deformable * taps;
  const int64_t *map = FUZZ_DIMS(n, h, w, c), *out = FUZZ_DIMS(n, ho, wo, co);
  const int64_t *filter = FUZZ_DIMS(co, kh, kw, c / groups);
  const int64_t *offset = FUZZ_DIMS(n, ho, wo, 2 * samples), *mask = FUZZ_DIMS(n, ho, wo, samples);
  const bool plain = fuzz_range(in, 0, 2) == 0, biased = fuzz_range(in, 0, 1) != 0;
  const enum fuzz_role role = operator_ == WEIGHT ? FUZZ_OUTPUT : FUZZ_VALUES;
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, map);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_NHWC, dtype, offset);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, mask)->absent = plain;
  fuzz_add(f, role, MLUOP_LAYOUT_NHWC, dtype, filter);
  fuzz_add(f, operator_ == FORWARD ? FUZZ_OUTPUT : FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype, out);
  if (operator_ == DATA) {
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, map);
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, offset);
    fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, mask)->absent = plain;
  } else {
    fuzz_add(f, role, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(co, -1))->absent = !biased;
  }
  fuzz_add_int(f, deformable);
  fuzz_add_int(f, groups);
  fuzz_add_int(f, 1);
  fuzz_add_int(f, MLUOP_DTYPE_FLOAT);
  f->no_plain = pixels * taps * c * (groups > 0 ? co / groups + 8 : 1) > PLAIN_WORK;
}

static void make_forward(struct fuzz *f) { make(f, FORWARD); }
/* Which of infinity and NaN the gradient of an offset becomes depends on the order of its sums. */
static void make_data(struct fuzz *f) {
  make(f, DATA);
  f->mixed = true;
}

static void make_weight(struct fuzz *f) { make(f, WEIGHT); }

/* Mostly near by, also whole, far away, and no numbers. */
static void fill(struct fuzz *f) {
  static const float far[] = {1e30f, -1e30f, 60000, -60000, 0.0f / 0.0f, 1e10f, -1, 1};
  const uint32_t how = fuzz_byte(&f->in);
  for (int64_t i = 0; i < f->t[OFFSET].held; i++) {
    float value = fuzz_random_float(&f->in, -2.5f, 2.5f);
    if (how % 3 == 1) value = (float)fuzz_random_int(&f->in, -3, 3);
    if (how % 3 == 2) value = (float)fuzz_random_int(&f->in, -12, 12) / 4;
    if (how > 128 && fuzz_random(&f->in) % 8 == 0) value = far[fuzz_random(&f->in) % 8];
    fuzz_set(&f->t[OFFSET], i, value);
  }
}

/* The gradient of a weight has a term of each pixel, and they may cancel: about 2 ulp of the sum of
   their sizes, where the properties allow 4. */
static void fill_weight(struct fuzz *f) {
  fill(f);
  const int64_t *pixels = f->t[OFFSET].dims;
  f->scale = fmax(1, (double)pixels[0] * (double)pixels[1] * (double)pixels[2] / 8);
}

static void set(mluOpDCNDescriptor_t desc, const struct fuzz *f,
                __typeof__(mluOpSetDCNDescriptor) *function) {
  function(desc, 4, f->p + PAD, f->p + STRIDE, f->p + DILATION, f->p[DEFORMABLE], f->p[GROUPS],
           f->p[STEP], (mluOpDataType_t)f->p[COMPUTE]);
}

static mluOpDCNDescriptor_t described(const struct fuzz *f) {
  mluOpDCNDescriptor_t desc;
  FUZZ_CHECK(mluOpCreateDCNDescriptor(&desc) == MLUOP_STATUS_SUCCESS);
  set(desc, f, mluOpSetDCNDescriptor);
  return desc;
}

static mluOpDCNDescriptor_t plain_described(const struct fuzz *f) {
  mluOpDCNDescriptor_t desc;
  plainCreateDCNDescriptor(&desc);
  set(desc, f, plainSetDCNDescriptor);
  return desc;
}

#define COMMON(both) both(INPUT), both(OFFSET), both(MASK)
#define FORWARD_ARGUMENTS(both) COMMON(both), both(FILTER), both(BIAS), NULL, 0, both(OUTPUT)
#define DATA_ARGUMENTS(both)                                                              \
  COMMON(both), both(FILTER), both(OUTPUT), NULL, 0, both(GRAD_INPUT), both(GRAD_OFFSET), \
      both(GRAD_MASK)
#define WEIGHT_ARGUMENTS(both) COMMON(both), both(OUTPUT), NULL, 0, both(FILTER), both(BIAS)

/* Asks for the workspace first, which is none. */
#define DEFINE(name, operator, query, arguments, ...)                                 \
  static mluOpStatus_t name(mluOpHandle_t handle, struct fuzz *f) {                   \
    mluOpDCNDescriptor_t made = described(f), desc = f->no_object ? NULL : made;      \
    size_t bytes = 1;                                                                 \
    const mluOpStatus_t asked = query(handle, desc, __VA_ARGS__, &bytes);             \
    FUZZ_CHECK(bytes == (asked == MLUOP_STATUS_SUCCESS ? 0 : 1));                     \
    const mluOpStatus_t status = mluOp##operator(handle, desc, arguments(FUZZ_BOTH)); \
    mluOpDestroyDCNDescriptor(made);                                                  \
    return status;                                                                    \
  }                                                                                   \
  static void plain_##name(struct fuzz *f) {                                          \
    mluOpDCNDescriptor_t desc = plain_described(f);                                   \
    plain##operator(NULL, desc, arguments(FUZZ_PLAIN));                               \
    plainDestroyDCNDescriptor(desc);                                                  \
  }

DEFINE(forward, DCNForward, mluOpGetDCNForwardWorkspaceSize, FORWARD_ARGUMENTS, FUZZ_DESC(INPUT),
       FUZZ_DESC(OFFSET), FUZZ_DESC(MASK), FUZZ_DESC(FILTER), FUZZ_DESC(BIAS), FUZZ_DESC(OUTPUT))
DEFINE(data, DCNBackwardData, mluOpGetDCNBakcwardDataWorkspaceSize, DATA_ARGUMENTS,
       FUZZ_DESC(INPUT), FUZZ_DESC(OFFSET), FUZZ_DESC(MASK), FUZZ_DESC(FILTER), FUZZ_DESC(OUTPUT),
       FUZZ_DESC(GRAD_INPUT), FUZZ_DESC(GRAD_OFFSET), FUZZ_DESC(GRAD_MASK))
DEFINE(weight, DCNBackwardWeight, mluOpGetDCNBackwardWeightWorkspaceSize, WEIGHT_ARGUMENTS,
       FUZZ_DESC(INPUT), FUZZ_DESC(OFFSET), FUZZ_DESC(MASK), FUZZ_DESC(OUTPUT), FUZZ_DESC(FILTER),
       FUZZ_DESC(BIAS))

const struct fuzz_operator fuzz_dcn[] = {
    {"mluOpDCNForward", make_forward, fill, forward, plain_forward, NULL, FUZZ_NEAR},
    {"mluOpDCNBackwardData", make_data, fill, data, plain_data, NULL, FUZZ_NEAR},
    {"mluOpDCNBackwardWeight", make_weight, fill_weight, weight, plain_weight, NULL, FUZZ_NEAR},
    {0}};
