/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

PLAIN(MaskedIm2colForward);
PLAIN(MaskedCol2imForward);

enum { VALUES, ROWS, COLUMNS, RESULT };        /* tensors */
enum { KERNEL_H, KERNEL_W, PAD_H, PAD_W };     /* numbers of im2col */
enum { MAP_H = FUZZ_MOST_NUMBERS - 2, MAP_W }; /* not bent */

static void add_indices(struct fuzz *f, int count) {
  for (int i = 0; i < 2; i++) {
    fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, FUZZ_DIMS(count, -1));
  }
}

static void make_im2col(struct fuzz *f) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  int64_t room = fuzz_room(f), pixels;
  const int c = fuzz_take(in, 65, &room);
  pixels = room;
  const int h = fuzz_take(in, 100, &pixels), w = fuzz_take(in, 300, &pixels);
  const int kh = fuzz_range(in, 1, room < 5 ? 1 : 5), kw = fuzz_range(in, 1, room < 35 ? 1 : 7);
  room /= kh * kw;
  const int count = fuzz_take(in, 4096, &room);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_NCHW, dtype, FUZZ_DIMS(1, c, h, w));
  add_indices(f, count);
  fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(c * kh * kw, count, -1));
  fuzz_add_int(f, kh);
  fuzz_add_int(f, kw);
  fuzz_add_int(f, fuzz_range(in, -1, 4));
  fuzz_add_int(f, fuzz_range(in, -1, 4));
  f->p[MAP_H] = h;
  f->p[MAP_W] = w;
}

static void make_col2im(struct fuzz *f) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  int64_t room = fuzz_room(f), pixels;
  const int c = fuzz_take(in, 65, &room);
  pixels = room;
  const int h = fuzz_take(in, 100, &pixels), w = fuzz_take(in, 300, &pixels);
  const int count = fuzz_take(in, 4096, &room);
  fuzz_add(f, FUZZ_VALUES, MLUOP_LAYOUT_ARRAY, dtype, FUZZ_DIMS(c, count, -1));
  add_indices(f, count);
  fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_NCHW, dtype, FUZZ_DIMS(1, c, h, w));
  f->p[MAP_H] = h;
  f->p[MAP_W] = w;
}

/* In runs, sorted with gaps, in disorder, all the same, or anywhere at all. */
static void fill_positions(struct fuzz *f, bool only_inside) {
  struct fuzz_input *in = &f->in;
  struct fuzz_tensor *rows = &f->t[ROWS], *columns = &f->t[COLUMNS];
  const uint32_t how = fuzz_byte(in) % 8;
  const int gap = fuzz_range(in, 1, 40), bad = fuzz_range(in, 0, 255);
  const int64_t h = f->t[only_inside ? RESULT : VALUES].dims[2], plane = h * f->p[MAP_W];
  if (plane < 1 || plane > INT32_MAX || f->p[MAP_W] < 1) return;
  int64_t at = fuzz_random(in) % plane;
  for (int64_t m = 0; m < rows->held && m < columns->held; m++) {
    const int64_t step = how < 3 ? 1 : how < 5 ? fuzz_random_int(in, 1, gap) : how == 5 ? 0 : -1;
    at = (step >= 0 ? at + step : fuzz_random(in)) % plane;
    const bool far = bad > 200 && fuzz_random(in) % 64 == 0;
    const bool outside = !only_inside && how == 7;
    int y = (int)(at / f->p[MAP_W]), x = (int)(at % f->p[MAP_W]);
    if (outside) y -= fuzz_random_int(in, -3, 3), x -= fuzz_random_int(in, -3, 3);
    if (far) y = bad & 1 ? (int)fuzz_random(in) | 1 << 30 : -1, x = bad & 2 ? x : INT32_MIN;
    f->bad_data |= far && only_inside;
    fuzz_set(rows, m, y);
    fuzz_set(columns, m, x);
  }
}

static void fill_im2col(struct fuzz *f) { fill_positions(f, false); }
static void fill_col2im(struct fuzz *f) { fill_positions(f, true); }

#define IM2COL(both, space, bytes)                                                      \
  both(VALUES), both(ROWS), both(COLUMNS), f->p[KERNEL_H], f->p[KERNEL_W], f->p[PAD_H], \
      f->p[PAD_W], space, bytes, both(RESULT)

static mluOpStatus_t im2col(mluOpHandle_t handle, struct fuzz *f) {
  size_t bytes = 1;
  const mluOpStatus_t status = mluOpGetMaskedIm2colForwardWorkspaceSize(
      handle, FUZZ_DESC(VALUES), FUZZ_DESC(ROWS), FUZZ_DESC(COLUMNS), f->p[KERNEL_H],
      f->p[KERNEL_W], FUZZ_DESC(RESULT), &bytes);
  FUZZ_CHECK(bytes == (status == MLUOP_STATUS_SUCCESS ? 0 : 1));
  return mluOpMaskedIm2colForward(handle, IM2COL(FUZZ_BOTH, NULL, f->no_object));
}

static void plain_im2col(struct fuzz *f) {
  plainMaskedIm2colForward(NULL, IM2COL(FUZZ_PLAIN, NULL, 0));
}

static mluOpStatus_t col2im(mluOpHandle_t handle, struct fuzz *f) {
  size_t bytes = 1;
  const mluOpStatus_t status = mluOpGetMaskedCol2imForwardWorkspaceSize(
      handle, FUZZ_DESC(VALUES), FUZZ_DESC(ROWS), FUZZ_DESC(COLUMNS), FUZZ_DESC(RESULT), &bytes);
  FUZZ_CHECK(bytes == (status == MLUOP_STATUS_SUCCESS ? 0 : 1));
  return mluOpMaskedCol2imForward(handle, FUZZ_BOTH(VALUES), FUZZ_BOTH(ROWS), FUZZ_BOTH(COLUMNS),
                                  f->no_object, NULL, FUZZ_BOTH(RESULT));
}

static void plain_col2im(struct fuzz *f) {
  plainMaskedCol2imForward(NULL, FUZZ_PLAIN(VALUES), FUZZ_PLAIN(ROWS), FUZZ_PLAIN(COLUMNS), 0, NULL,
                           FUZZ_PLAIN(RESULT));
}

const struct fuzz_operator fuzz_masked[] = {
    {"mluOpMaskedIm2colForward", make_im2col, fill_im2col, im2col, plain_im2col, NULL, FUZZ_BITS},
    {"mluOpMaskedCol2imForward", make_col2im, fill_col2im, col2im, plain_col2im, NULL, FUZZ_BITS},
    {0}};
