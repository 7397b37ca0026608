/* SPDX-License-Identifier: Apache-2.0 */
/* The results of hard and of linear selection are computed again, one candidate after the other. */
#include <string.h>

#include "one_by_one.h"

PLAIN(CreateNmsDescriptor);
PLAIN(SetNmsDescriptor);
PLAIN(DestroyNmsDescriptor);
PLAIN(Nms);

enum { UNSET = -77 };
static int32_t found[3]; /* output_size, between two others */

static int pick_int(struct fuzz_input *in, int a, int b) { return fuzz_range(in, 0, 3) ? a : b; }

static void make_numbers(struct fuzz *f, int mode, int most, int layout) {
  static const float thresholds[] = {0.5f, 0, 1, 0.3f, -1, 0.7f, 2, 0.25f};
  static const float least[] = {0, 0.5f, -1, -INFINITY, 0.05f, 0.9f, INFINITY, 1e-40f};
  static const float sigmas[] = {0.5f, 0, 1e-3f, 10};
  struct fuzz_input *in = &f->in;
  const int numbers[] = {fuzz_range(in, 0, 1), mode, fuzz_range(in, 0, 1), fuzz_range(in, 0, 2)};
  for (int i = 0; i < 4; i++) fuzz_add_int(f, numbers[i]);
  fuzz_add_int(f, most);
  fuzz_add_int(f, layout);
  fuzz_add_int(f, 0);
  fuzz_add_float(f, thresholds[fuzz_range(in, 0, 7)]);
  fuzz_add_float(f, sigmas[fuzz_range(in, 0, 3)]);
  fuzz_add_float(f, least[fuzz_range(in, 0, 7)]);
  fuzz_add_float(f, (float)fuzz_range(in, 0, 1));
}

static void add_boxes(struct fuzz *f, mluOpDataType_t dtype, bool batched, bool planes) {
  const int n = f->p[N], v = f->p[WIDTH], rows = planes ? v : n, columns = planes ? n : v;
  const int64_t *dims =
      batched ? FUZZ_DIMS(f->p[IMAGES], rows, columns, -1) : FUZZ_DIMS(rows, columns, -1);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, dims);
}

/* Room for results, and some more; rows of 1, 5 or 3 numbers, or 5 planes. */
static void add_output(struct fuzz *f, int mode, int64_t room, mluOpDataType_t dtype) {
  const int64_t length = room + fuzz_range(&f->in, 0, 2) * 3;
  const int64_t *dims[] = {FUZZ_DIMS(length, -1), FUZZ_DIMS(length, 5, -1),
                           FUZZ_DIMS(5, length, -1), FUZZ_DIMS(length, 3, -1)};
  const bool numbers = mode == 1 || mode == 2;
  fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_ARRAY, numbers ? dtype : MLUOP_DTYPE_INT32, dims[mode]);
}

static void make(struct fuzz *f) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int form = fuzz_range(in, 0, 4), rotated = form == 4, batched = form >= 2 && !rotated;
  const int most_boxes = fuzz_room(f) > 3000 ? MOST_BOXES : 65;
  int64_t room = batched ? 2 * most_boxes : most_boxes;
  const int classes = batched ? fuzz_take(in, 5, &room) : 1;
  const int images = batched ? fuzz_take(in, 3, &room) : 1, n = fuzz_take(in, most_boxes, &room);
  const bool one = images == 1 && classes == 1, planes = fuzz_range(in, 0, 3) == 3;
  const int mode = rotated ? 0 : one ? fuzz_range(in, 0, 3) : 3;
  const bool padded = fuzz_range(in, 0, 3) == 3;
  const int most = padded ? fuzz_extent(in, 64) : pick_int(in, fuzz_extent(in, 300), INT_MAX);
  const int64_t kept = rotated ? n : padded ? most : most < n ? most : n;
  const mluOpDataType_t scores = form == 1 ? MLUOP_DTYPE_HALF : dtype;
  f->p[N] = n;
  f->p[IMAGES] = images;
  f->p[CLASSES] = classes;
  f->p[WIDTH] = rotated ? 7 : 4;
  add_boxes(f, form == 1 ? MLUOP_DTYPE_FLOAT : dtype, batched, planes);
  const int64_t *scores_dims = batched ? FUZZ_DIMS(images, classes, n, -1) : FUZZ_DIMS(n, -1);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, scores, scores_dims)->absent = rotated;
  add_output(f, mode, kept * images * classes, form == 1 ? MLUOP_DTYPE_FLOAT : dtype);
  make_numbers(f, mode, most, planes);
  f->p[PADDED] = padded;
}

static void make_labelled(struct fuzz *f) {
  struct fuzz_input *in = &f->in;
  const mluOpDataType_t dtype = fuzz_dtype(f);
  const int n = fuzz_extent(in, fuzz_room(f) > 3000 ? MOST_BOXES : 65);
  const int most = pick_int(in, fuzz_extent(in, 300), INT_MAX);
  const bool planes = fuzz_range(in, 0, 3) == 3;
  const int64_t *row = FUZZ_DIMS(n, -1);
  f->p[N] = n;
  f->p[IMAGES] = f->p[CLASSES] = 1;
  f->p[WIDTH] = 4;
  add_boxes(f, dtype, false, planes);
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, dtype, row);
  add_output(f, 0, most < n ? most : n, dtype);
  fuzz_add(f, FUZZ_OUTPUT, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, f->t[OUTPUT].dims)->absent =
      fuzz_range(in, 0, 1);
  f->t[SCORES].rank = 1;
  fuzz_add(f, FUZZ_OWN, MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, row)->absent = fuzz_range(in, 0, 1);
  make_numbers(f, 0, most, planes);
}

/* ------------------------------------------------------------------------------- its data */

/* A defect may have changed what the tensors were made with. */
static void count_boxes(struct fuzz *f) {
  const struct fuzz_tensor *boxes = &f->t[BOXES], *scores = &f->t[CONFIDENCE];
  if (scores->rank == 3) f->p[CLASSES] = (int)scores->dims[1];
  if (boxes->rank < 2) return;
  const int of_boxes = boxes->rank - (f->p[BOX_LAYOUT] == 1 ? 1 : 2);
  f->p[N] = (int)boxes->dims[of_boxes];
  f->p[WIDTH] = (int)boxes->dims[2 * boxes->rank - 3 - of_boxes];
  if (boxes->rank == 3) f->p[IMAGES] = (int)boxes->dims[0];
}

/* The plain loop knows corners, hard selection in one set, and indices. */
static bool is_plain(const struct fuzz *f) {
  return f->p[BOX_MODE] == MLUOP_NMS_BOX_DIAGONAL && f->p[METHOD] == MLUOP_NMS_HARD_NMS &&
         f->p[OUTPUT_MODE] == MLUOP_NMS_OUTPUT_TARGET_INDICES && f->p[BOX_LAYOUT] == 0 &&
         f->p[PADDED] == 0 && f->p[WIDTH] == 4 && f->t[BOXES].rank == 2 &&
         f->t[CONFIDENCE].rank == 1 && f->count == OUTPUT + 1 && fuzz_finite(&f->t[BOXES]);
}

static void fill(struct fuzz *f) {
  static const float odd[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 3e38f, 1e-40f, -0.0f};
  struct fuzz_input *in = &f->in;
  const uint32_t how = fuzz_byte(in), few = fuzz_byte(in) % 64, strange = fuzz_byte(in);
  for (int64_t i = 0; i < f->t[BOXES].held; i++) {
    float value = how % 2 ? (float)fuzz_random_int(in, 0, 20 + (int)few)
                          : fuzz_random_float(in, 0, 20.0f + (float)few);
    if (strange > 200 && fuzz_random(in) % 32 == 0) value = odd[fuzz_random(in) % 8];
    fuzz_set(&f->t[BOXES], i, value);
  }
  for (int64_t i = 0; i < f->t[CONFIDENCE].held; i++) {
    float value = how % 4 < 2 ? fuzz_random_float(in, 0, 1)
                              : (float)fuzz_random_int(in, 0, 1 + (int)few) / 16;
    if (strange % 8 == 7 && fuzz_random(in) % 16 == 0) value = odd[fuzz_random(in) % 8];
    fuzz_set(&f->t[CONFIDENCE], i, value);
  }
  for (int64_t i = 0; i < f->t[LABELS].held; i++) {
    fuzz_set(&f->t[LABELS], i,
             how % 8 == 7 ? (int32_t)fuzz_random(in) : fuzz_random_int(in, -1, 3));
  }
  count_boxes(f);
  /* Boxes without an area; scores that are out are infinite, and decay as others do. */
  f->invalid = how % 2 || f->p[METHOD] != MLUOP_NMS_HARD_NMS;
  f->no_plain = !is_plain(f); /* `settle` looks at the results, too */
}

/* ------------------------------------------------------------------------- one by one */

static bool can_select(const struct fuzz *f) {
  return f->p[WIDTH] == 4 && f->p[METHOD] != MLUOP_NMS_SOFT_NMS_GAUSSIAN &&
         fuzz_finite(&f->t[BOXES]) && f->p[N] <= MOST_BOXES;
}

static void check_selected(const struct fuzz *f) {
  struct chosen chosen[MOST_BOXES];
  const int32_t *output = f->t[OUTPUT].data;
  const int mode = f->p[OUTPUT_MODE];
  int64_t at = 0;
  for (int64_t set = 0; set < (int64_t)f->p[IMAGES] * f->p[CLASSES]; set++) {
    const int64_t count = select_boxes(f, set, chosen);
    FUZZ_CHECK(at + count <= found[1]);
    for (int64_t i = 0; i < count; i++, at++) {
      const struct chosen *c = &chosen[i];
      if (mode == 0) FUZZ_CHECK(output[at] == c->index);
      if (mode == 3) FUZZ_CHECK(output[3 * at] == set / f->p[CLASSES]);
      if (mode == 3) FUZZ_CHECK(output[3 * at + 1] == set % f->p[CLASSES]);
      if (mode == 3) FUZZ_CHECK(output[3 * at + 2] == c->index);
      const struct fuzz_tensor *scores = &f->t[SCORES];
      if (is_given(scores)) FUZZ_CHECK(((const float *)scores->data)[at] == c->score);
    }
  }
  FUZZ_CHECK(at == found[1]);
}

/* What was selected, and what lies behind the results. */
static void settle(struct fuzz *f) {
  static const int columns[] = {1, 5, 5, 3};
  struct fuzz_tensor *t = &f->t[OUTPUT];
  const int mode = f->p[WIDTH] == 7 ? 0 : f->p[OUTPUT_MODE];
  const int64_t size = t->dtype == MLUOP_DTYPE_HALF ? 2 : 4;
  const int64_t length = mode == 2 ? t->dims[1] : t->dims[0];
  const int64_t most = f->p[WIDTH] == 7 ? f->p[N] : f->p[MOST];
  int64_t written = found[1];
  if (f->p[PADDED]) written = most * f->p[IMAGES] * f->p[CLASSES];
  FUZZ_CHECK(found[0] == UNSET && found[2] == UNSET);
  FUZZ_CHECK(found[1] >= 0 && found[1] <= length);
  for (int64_t plane = 0; plane < (mode == 2 ? 5 : 1); plane++) {
    const int64_t row = mode == 2 ? size : columns[mode] * size, begin = plane * length * size;
    fuzz_settle(t, begin + written * row, begin + length * row);
    for (int64_t i = begin + found[1] * row; i < begin + written * row; i++)
      FUZZ_CHECK(((const char *)t->data)[i] == 0);
  }
  struct fuzz_tensor *scores = &f->t[SCORES];
  if (scores->held > 0) {
    fuzz_settle(scores, is_given(scores) ? (int64_t)found[1] * 4 : 0, scores->bytes);
  }
  if (can_select(f)) check_selected(f);
}

static void set(mluOpNmsDescriptor_t desc, const struct fuzz *f,
                __typeof__(mluOpSetNmsDescriptor) *function) {
  function(desc, (mluOpNmsBoxPointMode_t)f->p[BOX_MODE], (mluOpNmsOutputMode_t)f->p[OUTPUT_MODE],
           (mluOpNmsAlgo_t)f->p[ALGO], (mluOpNmsMethodMode_t)f->p[METHOD], f->r[THRESHOLD],
           f->r[SIGMA], f->p[MOST], f->r[LEAST], f->r[EXTRA], f->p[BOX_LAYOUT], f->p[PADDED] != 0);
}

static mluOpNmsDescriptor_t described(const struct fuzz *f) {
  mluOpNmsDescriptor_t desc;
  FUZZ_CHECK(mluOpCreateNmsDescriptor(&desc) == MLUOP_STATUS_SUCCESS);
  set(desc, f, mluOpSetNmsDescriptor);
  for (int i = 0; i < 3; i++) found[i] = UNSET;
  return desc;
}

static mluOpStatus_t ended(mluOpNmsDescriptor_t desc, mluOpStatus_t status) {
  mluOpDestroyNmsDescriptor(desc);
  /* Where a call has ended early, outputs may hold anything. */
  FUZZ_CHECK(status == MLUOP_STATUS_SUCCESS || status == MLUOP_STATUS_EXECUTION_FAILED ||
             found[1] == UNSET);
  return status;
}

static mluOpStatus_t nms(mluOpHandle_t handle, struct fuzz *f) {
  mluOpNmsDescriptor_t desc = described(f);
  size_t bytes = 1;
  const mluOpStatus_t asked =
      mluOpGetNmsWorkspaceSize(handle, desc, FUZZ_DESC(BOXES), FUZZ_DESC(CONFIDENCE), &bytes);
  FUZZ_CHECK(bytes == (asked == MLUOP_STATUS_SUCCESS ? 0 : 1));
  return ended(desc, mluOpNms(handle, f->no_object ? NULL : desc, FUZZ_BOTH(BOXES),
                              FUZZ_BOTH(CONFIDENCE), NULL, 0, FUZZ_BOTH(OUTPUT), &found[1]));
}

static void plain_nms(struct fuzz *f) {
  int32_t count;
  mluOpNmsDescriptor_t desc;
  plainCreateNmsDescriptor(&desc);
  set(desc, f, plainSetNmsDescriptor);
  memset(f->t[OUTPUT].plain, 0, (size_t)f->t[OUTPUT].count * sizeof(int32_t));
  plainNms(NULL, desc, FUZZ_PLAIN(BOXES), FUZZ_PLAIN(CONFIDENCE), NULL, 0, FUZZ_PLAIN(OUTPUT),
           &count);
  plainDestroyNmsDescriptor(desc);
}

static mluOpStatus_t by_label(mluOpHandle_t handle, struct fuzz *f) {
  mluOpNmsDescriptor_t desc = described(f);
  return ended(desc, mluOpCpuNmsByLabel(handle, f->no_object ? NULL : desc, FUZZ_BOTH(BOXES),
                                        FUZZ_BOTH(CONFIDENCE), FUZZ_BOTH(LABELS), FUZZ_BOTH(OUTPUT),
                                        FUZZ_BOTH(SCORES), &found[1]));
}

const struct fuzz_operator fuzz_nms[] = {
    {"mluOpNms", make, fill, nms, plain_nms, settle, FUZZ_NUMBERS},
    {"mluOpCpuNmsByLabel", make_labelled, fill, by_label, NULL, settle, FUZZ_NUMBERS},
    {0}};
