/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

PLAIN(BorderAlignForward);
PLAIN(BorderAlignBackward);

enum { MAP, BOXES, ROWS, ARGMAX };     /* MAP and ROWS: or their gradients */
enum { POOL_SIZE };                    /* integers */
enum { H = FUZZ_MOST_NUMBERS - 2, W }; /* not bent */
enum { PLAIN_STEPS = 300 };            /* of a border that plain loops take */

static void make(struct fuzz *f, bool backward) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  int64_t room = fuzz_room(f) / 4;
  const int c = fuzz_take(in, 129, &room), n = fuzz_take(in, 3, &room);
  const int h = fuzz_take(in, 17, &room), w = fuzz_take(in, 33, &room);
  const int pool_size = fuzz_range(in, 1, 24);
  const int64_t *rows = FUZZ_DIMS(n, h * w, 4, c);
  fuzz_add(f, backward ? FUZZ_OUTPUT : FUZZ_VALUES, MLUOP_LAYOUT_NHWC, dtype,
           FUZZ_DIMS(n, h, w, 4 * c));
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(n, h * w, 4, -1));
  fuzz_add(f, backward ? FUZZ_VALUES : FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, dtype, rows);
  fuzz_add(f, backward ? FUZZ_OWN : FUZZ_OUTPUT, MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_INT32, rows);
  fuzz_add_int(f, pool_size);
  f->p[H] = h;
  f->p[W] = w;
}

static void make_forward(struct fuzz *f) { make(f, false); }
static void make_backward(struct fuzz *f) { make(f, true); }

static void fill(struct fuzz *f) {
  fuzz_fill_boxes(f, &f->t[BOXES], 4, 0, f->p[H], f->p[W]);
  f->no_plain |= f->p[POOL_SIZE] > PLAIN_STEPS;
}

static void fill_backward(struct fuzz *f) {
  fill(f);
  const int most = f->p[POOL_SIZE] > 0 ? f->p[POOL_SIZE] : 0;
  const uint32_t how = fuzz_byte(&f->in);
  for (int64_t i = 0; i < f->t[ARGMAX].held; i++) {
    int step = (int)(fuzz_random(&f->in) % ((uint32_t)most + 1));
    if (how > 240 && fuzz_random(&f->in) % 64 == 0) {
      step = how % 2 ? -1 : most + 1;
      f->bad_data = true;
    }
    fuzz_set(&f->t[ARGMAX], i, step);
  }
}

#define FORWARD(both) both(MAP), both(BOXES), f->p[POOL_SIZE], both(ROWS), both(ARGMAX)
#define BACKWARD(both) both(ROWS), both(BOXES), both(ARGMAX), f->p[POOL_SIZE], both(MAP)

static mluOpStatus_t forward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpBorderAlignForward(handle, FORWARD(FUZZ_BOTH));
}

static mluOpStatus_t backward(mluOpHandle_t handle, struct fuzz *f) {
  return mluOpBorderAlignBackward(handle, BACKWARD(FUZZ_BOTH));
}

static void plain_forward(struct fuzz *f) { plainBorderAlignForward(NULL, FORWARD(FUZZ_PLAIN)); }
static void plain_backward(struct fuzz *f) { plainBorderAlignBackward(NULL, BACKWARD(FUZZ_PLAIN)); }

const struct fuzz_operator fuzz_border_align[] = {
    {"mluOpBorderAlignForward", make_forward, fill, forward, plain_forward, NULL, FUZZ_NUMBERS},
    {"mluOpBorderAlignBackward", make_backward, fill_backward, backward, plain_backward, NULL,
     FUZZ_NEAR},
    {0}};
