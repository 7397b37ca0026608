/* SPDX-License-Identifier: Apache-2.0 */
#include "calls.h"

#include <math.h>

PLAIN(CreateDCNDescriptor);
PLAIN(SetDCNDescriptor);
PLAIN(DestroyDCNDescriptor);
PLAIN(DCNForward);
PLAIN(DCNBackwardData);
PLAIN(DCNBackwardWeight);

static mluOpStatus_t create(void **object) {
  mluOpDCNDescriptor_t made = NULL;
  const mluOpStatus_t status = mluOpCreateDCNDescriptor(&made);
  *object = made;
  return status;
}

static mluOpStatus_t destroy(void *object) { return mluOpDestroyDCNDescriptor(object); }

enum { OPERATOR_FORWARD, OPERATOR_DATA, OPERATOR_WEIGHT };

/* 3 x 3 taps with padding 1, or one tap of one pixel. */
static void make_dcn(struct call *call, int operator_) {
  const int n = call->wide ? 2 : 1, h = call->wide ? 24 : 1, c = call->wide ? 32 : 1;
  const int k = call->wide ? 3 : 1, padding = call->wide;
  const int pad[] = {padding, padding, padding, padding}, one[] = {1, 1};
  const struct spec map = NHWC(n, h, h, c), offset = NHWC(n, h, h, k * k * 2);
  const struct spec mask = NHWC(n, h, h, k * k), filter = NHWC(c, k, k, c);
  const struct spec bias = {MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {c}, 1};
  call->failed |= create(&call->object) != MLUOP_STATUS_SUCCESS ||
                  mluOpSetDCNDescriptor(call->object, 4, pad, one, one, 1, 1, 1,
                                        MLUOP_DTYPE_FLOAT) != MLUOP_STATUS_SUCCESS;
  call_input(call, map);
  call_input(call, offset);
  call_input(call, mask);
  call_input(call, operator_ == OPERATOR_WEIGHT ? map : filter);
  if (operator_ != OPERATOR_WEIGHT) call_input(call, operator_ == OPERATOR_FORWARD ? bias : map);
  if (operator_ == OPERATOR_WEIGHT) {
    call_output(call, filter);
    call_output(call, bias);
  } else {
    call_output(call, map);
    if (operator_ == OPERATOR_DATA) call_output(call, offset);
    if (operator_ == OPERATOR_DATA) call_output(call, mask);
  }
}

static void make_forward(struct call *call) { make_dcn(call, OPERATOR_FORWARD); }
static void make_backward_data(struct call *call) { make_dcn(call, OPERATOR_DATA); }
static void make_backward_weight(struct call *call) { make_dcn(call, OPERATOR_WEIGHT); }

static mluOpStatus_t run_forward(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNForward(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4), NULL, 0, DP(5));
}

static mluOpStatus_t run_backward_data(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNBackwardData(handle, call->object, DP(0), DP(1), DP(2), DP(3), DP(4), NULL, 0,
                              DP(5), DP(6), DP(7));
}

static mluOpStatus_t run_backward_weight(mluOpHandle_t handle, struct call *call) {
  return mluOpDCNBackwardWeight(handle, call->object, DP(0), DP(1), DP(2), DP(3), NULL, 0, DP(4),
                                DP(5));
}

/* A random call: extents at the edges of vectors and blocks, groups of both kinds. */
struct random_call {
  int n, h, w, c, co, kh, kw, ho, wo;
  int pad[4], stride[2], dilation[2], deformable, groups;
  int with_mask, with_bias;
};

static int places(int extent, int padding, int taps, int dilation, int stride) {
  const int left = extent + padding - (dilation * (taps - 1) + 1);
  return left < 0 ? 0 : left / stride + 1;
}

static struct random_call random_call(void) {
  struct random_call r = {.n = random_int(1, 2), .with_mask = random_int(0, 1)};
  /* Many pixels, many channels, many taps of more channels, or few of all. */
  const int large = random_int(0, 6), most_taps = large == 2 ? 5 : 3;
  do {
    r.h = random_int(1, large == 0 ? 24 : 7);
    r.w = random_int(1, large == 0 ? 24 : 7);
    r.kh = random_int(1, most_taps);
    r.kw = random_int(1, most_taps);
    for (int i = 0; i < 4; i++) r.pad[i] = random_int(0, 2);
    for (int i = 0; i < 2; i++) r.stride[i] = random_int(1, 2);
    for (int i = 0; i < 2; i++) r.dilation[i] = random_int(1, 2);
    r.ho = places(r.h, r.pad[0] + r.pad[1], r.kh, r.dilation[0], r.stride[0]);
    r.wo = places(r.w, r.pad[2] + r.pad[3], r.kw, r.dilation[1], r.stride[1]);
  } while (r.ho == 0 || r.wo == 0);
  r.deformable = random_int(1, 3);
  r.groups = random_int(1, 3);
  r.c = r.deformable * r.groups * (large == 1 ? random_channels() / 3 + 1 : random_int(1, 12));
  r.co = r.groups * (large == 1 ? random_channels() / 3 + 1 : random_int(1, 20));
  if (large == 2) r.c = r.deformable * r.groups * random_int(40, 90), r.co = r.groups;
  r.with_bias = random_int(0, 1);
  return r;
}

/* Mostly near by, also whole, far away, and no numbers. */
static void set_offsets(struct twin *offset) {
  static const double far[] = {1e30, -1e30, 60000, -60000};
  for (int64_t i = 0; i < offset->count; i++) {
    const int kind = random_int(0, 40);
    double value = random_real(-2.5, 2.5);
    if (kind < 6) value = random_int(-3, 3);
    if (kind == 6 && hostile_values) value = far[random_int(0, 3)];
    if (kind == 7 && hostile_values) value = random_int(0, 1) ? (double)NAN : (double)INFINITY;
    twin_set(offset, i, value);
  }
}

static void set(mluOpDCNDescriptor_t desc, const struct random_call *r,
                __typeof__(mluOpSetDCNDescriptor) *function) {
  OK(function(desc, 4, r->pad, r->stride, r->dilation, r->deformable, r->groups, 1,
              MLUOP_DTYPE_FLOAT));
}

#define MAYBE(given, side, twin) \
  (given) ? side##_DESC(twin) : NULL, (given) ? side##_DATA(twin) : NULL
#define OURS_DESC(twin) (twin).desc
#define OURS_DATA(twin) (twin).data
#define THEIRS_DESC(twin) (twin).plain_desc
#define THEIRS_DATA(twin) (twin).plain

static void dcn_values(mluOpHandle_t handle, mluOpDataType_t dtype) {
  const struct random_call r = random_call();
  const int taps = r.kh * r.kw * r.deformable, m = r.with_mask, b = r.with_bias;
  mluOpDCNDescriptor_t desc, plain_desc;
  OK(mluOpCreateDCNDescriptor(&desc));
  OK(plainCreateDCNDescriptor(&plain_desc));
  set(desc, &r, mluOpSetDCNDescriptor);
  set(plain_desc, &r, plainSetDCNDescriptor);
  struct twin input = twin_nhwc(dtype, r.n, r.h, r.w, r.c);
  struct twin offset = twin_nhwc(dtype, r.n, r.ho, r.wo, taps * 2);
  struct twin mask = twin_nhwc(dtype, r.n, r.ho, r.wo, taps);
  struct twin filter = twin_nhwc(dtype, r.co, r.kh, r.kw, r.c / r.groups);
  struct twin bias = twin_array(dtype, r.co, 0, 0, 0);
  struct twin grad = twin_nhwc(dtype, r.n, r.ho, r.wo, r.co);
  struct twin output = twin_nhwc_output(dtype, r.n, r.ho, r.wo, r.co);
  struct twin grad_input = twin_nhwc_output(dtype, r.n, r.h, r.w, r.c);
  struct twin grad_offset = twin_nhwc_output(dtype, r.n, r.ho, r.wo, taps * 2);
  struct twin grad_mask = twin_nhwc_output(dtype, r.n, r.ho, r.wo, taps);
  struct twin grad_filter = twin_nhwc_output(dtype, r.co, r.kh, r.kw, r.c / r.groups);
  const int channels[4] = {r.co, 0, 0, 0};
  struct twin grad_bias = twin_output(MLUOP_LAYOUT_ARRAY, dtype, channels);
  set_offsets(&offset);
  OK(mluOpDCNForward(handle, desc, OURS(input), OURS(offset), MAYBE(m, OURS, mask), OURS(filter),
                     MAYBE(b, OURS, bias), NULL, 0, OURS(output)));
  OK(plainDCNForward(handle, plain_desc, THEIRS(input), THEIRS(offset), MAYBE(m, THEIRS, mask),
                     THEIRS(filter), MAYBE(b, THEIRS, bias), NULL, 0, THEIRS(output)));
  CHECK(twin_close(&output));
  OK(mluOpDCNBackwardData(handle, desc, OURS(input), OURS(offset), MAYBE(m, OURS, mask),
                          OURS(filter), OURS(grad), NULL, 0, OURS(grad_input), OURS(grad_offset),
                          MAYBE(m, OURS, grad_mask)));
  OK(plainDCNBackwardData(handle, plain_desc, THEIRS(input), THEIRS(offset), MAYBE(m, THEIRS, mask),
                          THEIRS(filter), THEIRS(grad), NULL, 0, THEIRS(grad_input),
                          THEIRS(grad_offset), MAYBE(m, THEIRS, grad_mask)));
  CHECK(twin_close(&grad_input));
  CHECK(twin_close(&grad_offset));
  CHECK(!m || twin_close(&grad_mask));
  OK(mluOpDCNBackwardWeight(handle, desc, OURS(input), OURS(offset), MAYBE(m, OURS, mask),
                            OURS(grad), NULL, 0, OURS(grad_filter), MAYBE(b, OURS, grad_bias)));
  OK(plainDCNBackwardWeight(handle, plain_desc, THEIRS(input), THEIRS(offset),
                            MAYBE(m, THEIRS, mask), THEIRS(grad), NULL, 0, THEIRS(grad_filter),
                            MAYBE(b, THEIRS, grad_bias)));
  CHECK(twin_close(&grad_filter));
  CHECK(!b || twin_close(&grad_bias));
  OK(mluOpDestroyDCNDescriptor(desc));
  OK(plainDestroyDCNDescriptor(plain_desc));
  TWINS_FREE(&input, &offset, &mask, &filter, &bias, &grad, &output, &grad_input, &grad_offset,
             &grad_mask, &grad_filter, &grad_bias);
}

const struct family_calls family_dcn = {
    .create = create,
    .destroy = destroy,
    .calls = {{"mluOpDCNForward", make_forward, run_forward},
              {"mluOpDCNBackwardData", make_backward_data, run_backward_data},
              {"mluOpDCNBackwardWeight", make_backward_weight, run_backward_weight}},
    .values = {dcn_values},
};
