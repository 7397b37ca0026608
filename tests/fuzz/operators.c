/* SPDX-License-Identifier: Apache-2.0 */
/* One input: a call of an operator, made twice, and checked. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* What is no argument of the call. */
struct settings {
  char isa[16], other_isa[16];
  const char *cache;
  struct fuzz_way ways[2];
  int threads[2];
  bool new_handle, null_handle, logged, captured, interrupted;
  uint32_t values, places;
};

static const struct fuzz_operator *operator_;
static struct settings settings;
static struct fuzz call;

long fuzz_computed;

/* --------------------------------------------------------------------------- what is made */

mluOpDataType_t fuzz_dtype(struct fuzz *f) {
  return fuzz_byte(&f->in) % 2 == 0 ? MLUOP_DTYPE_FLOAT : MLUOP_DTYPE_HALF;
}

int64_t fuzz_room(struct fuzz *f) {
  static const int64_t rooms[] = {600, 600, 600, 600, 600, 3000, 3000, FUZZ_MOST_ELEMENTS};
  return rooms[fuzz_byte(&f->in) % 8];
}

struct fuzz_tensor *fuzz_add(struct fuzz *f, enum fuzz_role role, mluOpTensorLayout_t layout,
                             mluOpDataType_t dtype, const int64_t dims[4]) {
  struct fuzz_tensor *t = &f->t[f->count++];
  *t = (struct fuzz_tensor){.role = role, .layout = layout, .dtype = dtype};
  while (t->rank < 4 && dims[t->rank] >= 0) {
    t->dims[t->rank] = dims[t->rank];
    t->rank++;
  }
  return t;
}

void fuzz_add_int(struct fuzz *f, int value) { f->p[f->p_count++] = value; }
void fuzz_add_float(struct fuzz *f, float value) { f->r[f->r_count++] = value; }

/* ------------------------------------------------------------------------------- its data */

static float special(struct fuzz_input *in, bool huge) {
  static const float tame[] = {0, -0.0f, 1, -1, 1e-40f, -1e-45f, 6e-8f, INFINITY, -INFINITY, NAN};
  static const float wild[] = {3.4e38f, -3.4e38f, 65504, -65504,
                               1e30f,   1e-38f,   65519, 2147483648.0f};
  return huge ? wild[fuzz_random(in) % 8] : tame[fuzz_random(in) % 10];
}

/* Eighths, which add up exactly, or any numbers; among them some that are special. */
static void fill_values(struct fuzz *f, struct fuzz_tensor *t) {
  const uint32_t kind = settings.values % 8, rate = settings.values / 8 % 4 * 16 + 4;
  for (int64_t i = 0; i < t->held; i++) {
    float value = kind % 2 == 0 ? fuzz_random_float(&f->in, -1, 1)
                                : (float)fuzz_random_int(&f->in, -8, 8) / 8;
    if (kind >= 5 && fuzz_random(&f->in) % rate == 0) value = special(&f->in, kind == 7);
    fuzz_set(t, i, value);
  }
  if (kind == 7 && operator_->likeness == FUZZ_NEAR) f->no_plain = f->wild = true;
}

void fuzz_fill_boxes(struct fuzz *f, struct fuzz_tensor *boxes, int row, int images, int h, int w) {
  static const float far[] = {1e6f, -1e6f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN, 1e10f};
  const uint32_t how = fuzz_byte(&f->in), far_rate = fuzz_byte(&f->in);
  for (int64_t i = 0; i < boxes->held; i++) {
    const int64_t column = i % row - (row - 4);
    const float extent = (float)(column % 2 == 0 ? w : h);
    double value = fuzz_random_float(&f->in, -0.3f * extent, 1.3f * extent);
    if (how % 4 == 1) value = floor(value);
    if (how % 4 == 2) value = floor(2 * value) / 2;
    if (far_rate > 192 && fuzz_random(&f->in) % (256 - far_rate + 2) == 0) {
      value = far[fuzz_random(&f->in) % 8];
      f->no_plain = true;
    }
    if (column < 0) {
      const bool bad = how >= 240 && fuzz_random(&f->in) % 8 == 0;
      value = images > 0 ? fuzz_random_int(&f->in, 0, images - 1) : 0;
      if (how >= 128 && value == 0) value = -0.75;
      if (bad)
        value = fuzz_random(&f->in) % 2 ? (double)images : (double)far[fuzz_random(&f->in) % 8];
      f->bad_data |= bad;
    }
    fuzz_set(boxes, i, value);
  }
}

/* ------------------------------------------------------------------------------ decoding */

/* Item `index` of a list of words, modulo their number. */
static void pick_word(char *to, size_t room, const char *words, uint32_t index) {
  uint32_t count = 1;
  for (const char *at = words; *at != '\0'; at++) count += *at == ' ';
  index %= count;
  while (index > 0) index -= *words++ == ' ';
  size_t length = strcspn(words, " ");
  if (length >= room) length = room - 1;
  memcpy(to, words, length);
  to[length] = '\0';
}

static void read_settings(struct fuzz_input *in) {
  static const char *const caches[] = {"", "0", "1", "4000", "100000", "1000000000"};
  struct settings *s = &settings;
  char isas[128]; /* at last none, and the library chooses one for each kernel */
  snprintf(isas, sizeof(isas), "%s ", mluOpCpuGetSupportedIsas());
  pick_word(s->isa, sizeof(s->isa), isas, fuzz_byte(in));
  pick_word(s->other_isa, sizeof(s->other_isa), isas, fuzz_byte(in));
  const uint32_t choice = fuzz_byte(in);
  s->cache = caches[fuzz_byte(in) % 6];
  const uint32_t threads = fuzz_byte(in);
  for (int run = 0; run < 2; run++) {
    s->threads[run] = 1 + (int)(threads >> 2 * run & 3) % 3;
    s->ways[run] = (struct fuzz_way){
        .run = run, .parts = 1 + (int)(threads >> (4 + run) & 1), .choice = choice};
  }
  s->ways[1].parts++;
  s->ways[1].cuts = fuzz_word(in);
  s->ways[0].cuts = s->ways[1].cuts * 2654435761u;
  const uint32_t flags = fuzz_byte(in);
  s->ways[1].real_threads = flags % 32 == 31;
  s->new_handle = flags >> 5 & 1;
  s->logged = flags >> 6 == 3;
  s->null_handle = flags % 16 == 8; /* if there is a defect at all */
  s->values = fuzz_byte(in);
  s->captured = s->values >> 5 == 7 && strcmp(operator_->name, "mluOpCpuConvertLayout") != 0;
  s->interrupted = s->values >> 5 == 6;
  s->places = fuzz_byte(in) << 16 | fuzz_byte(in) << 8 | fuzz_byte(in);
  s->places |= s->places << 24;
}

static void describe(void) {
  static const char *const roles[] = {"values", "own", "output"};
  const struct settings *s = &settings;
  fprintf(stderr, "%s: MLUOP_CPU_ISA=%s (other %s) MLUOP_CPU_KERNEL=%s MLUOP_CPU_CACHE_BYTES=%s\n",
          operator_->name, s->isa, s->other_isa, fuzz_taken_way(), s->cache);
  fprintf(stderr, "threads %d and %d, parts %d and %d, cuts %08x, real threads %d, values %u\n",
          s->threads[0], s->threads[1], s->ways[0].parts, s->ways[1].parts, s->ways[1].cuts,
          s->ways[1].real_threads, s->values);
  for (int i = 0; i < call.count; i++) {
    const struct fuzz_tensor *t = &call.t[i];
    fprintf(stderr, "tensor %d: %s%s, layout %d, dtype %d, [", i, t->absent ? "absent " : "",
            roles[t->role], (int)t->layout, (int)t->dtype);
    for (int d = 0; d < t->rank; d++) fprintf(stderr, " %lld", (long long)t->dims[d]);
    fprintf(stderr, " ], data %p%s%s\n", t->data, t->strided ? ", strided" : "",
            t->desc == NULL ? ", no descriptor" : "");
  }
  for (int i = 0; i < call.p_count; i++) fprintf(stderr, "integer %d: %d\n", i, call.p[i]);
  for (int i = 0; i < call.r_count; i++) fprintf(stderr, "float %d: %.9g\n", i, (double)call.r[i]);
  fprintf(stderr, "last message: %s\n", mluOpCpuGetLastErrorMessage());
}

/* -------------------------------------------------------------------------------- checks */

static mluOpHandle_t new_handle(const char *isa) {
  setenv("MLUOP_CPU_ISA", isa, 1);
  setenv("MLUOP_CPU_CACHE_BYTES", settings.cache, 1);
  mluOpHandle_t handle = NULL;
  FUZZ_CHECK(mluOpCreate(&handle) == MLUOP_STATUS_SUCCESS);
  return handle;
}

static bool any_empty(const struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (!t->absent && !t->ignored && t->desc != NULL && t->count == 0) return true;
  }
  return false;
}

static mluOpStatus_t run(mluOpHandle_t handle, struct fuzz *f, int which) {
  const bool captured = which == 0 && settings.captured;
  fuzz_way = settings.ways[which];
  fuzz_prefill(f, which);
  if (handle != NULL) mluOpCpuSetNumThreads(handle, settings.threads[which]);
  if (captured) fuzz_begin_capture(settings.ways[1].cuts);
  const mluOpStatus_t status = operator_->run(handle, f);
  if (captured) fuzz_end_capture(f, status, any_empty(f));
  fuzz_check_around(f);
  if (status == MLUOP_STATUS_SUCCESS && operator_->settle != NULL) operator_->settle(f);
  return status;
}

static bool untouched_or_zero(const struct fuzz *f) {
  if (fuzz_untouched(f)) return true;
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (t->role == FUZZ_OUTPUT && !t->absent && !fuzz_zeros(t)) return false;
  }
  return true;
}

/* A valid call, once more and otherwise, and as a plain loop. */
static void check_again(mluOpHandle_t handle, struct fuzz *f) {
  mluOpHandle_t second = settings.new_handle ? new_handle(settings.isa) : handle;
  fuzz_keep(f);
  if (settings.interrupted) fuzz_interrupt(second, f, operator_, settings.ways[1].cuts);
  FUZZ_CHECK(run(second, f, 1) == MLUOP_STATUS_SUCCESS);
  const bool same = fuzz_same(f);
  if (!same) fuzz_equals_kept(f, FUZZ_BITS); /* says where */
  FUZZ_CHECK(same);
  if (second != handle) mluOpDestroy(second);
  if (operator_->plain != NULL && !f->no_plain) {
    operator_->plain(f);
    FUZZ_CHECK(fuzz_equals_plain(f, operator_->likeness));
  } else if (!f->wild) {
    mluOpHandle_t other = new_handle(settings.other_isa);
    FUZZ_CHECK(run(other, f, 0) == MLUOP_STATUS_SUCCESS);
    FUZZ_CHECK(fuzz_equals_kept(f, operator_->likeness));
    mluOpDestroy(other);
  }
}

static void check(struct fuzz *f, int defects) {
  mluOpHandle_t handle = defects > 0 && settings.null_handle ? NULL : new_handle(settings.isa);
  fuzz_raised = false;
  const mluOpStatus_t status = run(handle, f, 0);
  const bool empty = any_empty(f);
  if (defects == 0 && !empty && !f->any) {
    FUZZ_CHECK(status == (f->bad_data ? MLUOP_STATUS_BAD_PARAM : MLUOP_STATUS_SUCCESS));
  }
  if (status != MLUOP_STATUS_SUCCESS) {
    FUZZ_CHECK(fuzz_untouched(f));
    FUZZ_CHECK(status == MLUOP_STATUS_BAD_PARAM || status == MLUOP_STATUS_NOT_SUPPORTED);
    FUZZ_CHECK(mluOpCpuGetLastErrorMessage()[0] != '\0');
  } else if (empty) {
    FUZZ_CHECK(untouched_or_zero(f));
  } else {
    fuzz_computed++;
    check_again(handle, f);
    FUZZ_CHECK(!fuzz_flags_count || !fuzz_raised || !fuzz_tame(f));
  }
  if (handle != NULL) mluOpDestroy(handle);
}

static void swallow(mluOpCpuLogLevel_t level, const char *message, void *user_data) {
  (void)user_data;
  FUZZ_CHECK(level >= MLUOP_CPU_LOG_INFO && message[0] != '\0');
  fuzz_logged(message);
}

static bool too_large(const struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    int64_t count = 1;
    for (int d = 0; d < f->t[i].rank; d++) count *= f->t[i].dims[d];
    if (count > FUZZ_MOST_ELEMENTS) return true;
  }
  return false;
}

/* A plain loop counts in floats, and a call that is described otherwise cannot be shown to it. */
static bool plain_can(const struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    if (f->t[i].absent || !f->t[i].strided) continue;
    return false;
  }
  return true;
}

void fuzz_one(const struct fuzz_operator *operators, const uint8_t *data, size_t size) {
  uint32_t count = 0;
  while (operators[count].name != NULL) count++;
  mluOpCpuSetLogCallback(swallow, NULL);
  fuzz_describe = describe;
  struct fuzz *f = &call;
  struct fuzz_input in = fuzz_input_of(data, size);
  operator_ = &operators[fuzz_byte(&in) % count];
  read_settings(&in);
  struct fuzz_input bends = in; /* 7 bytes */
  for (int i = 0; i < 7; i++) fuzz_byte(&in);
  memset(f, 0, sizeof(*f));
  fuzz_seed(&in);
  f->in = in;
  f->scale = 1;
  operator_->make(f);
  if (too_large(f)) return;
  const int defects = fuzz_bend(f, &bends);
  fuzz_place(f, settings.places);
  for (int i = 0; i < f->count; i++) {
    if (f->t[i].role == FUZZ_VALUES) fill_values(f, &f->t[i]);
  }
  if (operator_->fill != NULL) operator_->fill(f);
  f->no_plain |= !plain_can(f);
  fuzz_bend_pointers(f);
  if (getenv("FUZZ_VERBOSE") != NULL) describe();
  mluOpCpuSetLogLevel(settings.logged ? MLUOP_CPU_LOG_INFO : MLUOP_CPU_LOG_OFF);
  check(f, defects);
  fuzz_release(f);
}
