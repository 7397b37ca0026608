/* SPDX-License-Identifier: Apache-2.0 */
/* Each tensor has an arena between two forbidden regions. It lies at the arena's end, at its
   beginning, or a few elements behind that; what is left of the arena near by is poisoned for
   AddressSanitizer and full of a known byte. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/half.h"
#include "core/internal.h"
#include "fuzz.h"

#if defined(FUZZ_ADDRESS_SANITIZER)
void __asan_poison_memory_region(void const volatile *address, size_t bytes);
void __asan_unpoison_memory_region(void const volatile *address, size_t bytes);
#define POISON(address, bytes) __asan_poison_memory_region(address, bytes)
#define UNPOISON(address, bytes) __asan_unpoison_memory_region(address, bytes)
#else
#define POISON(address, bytes) ((void)(address), (void)(bytes))
#define UNPOISON(address, bytes) ((void)(address), (void)(bytes))
#endif

enum {
  GUARD_BYTES = 1 << 16,
  AROUND = 1 << 10, /* bytes beside a tensor that are watched */
  AROUND_BYTE = 0xc5,
  PLAIN_BYTES = FUZZ_ARENA_BYTES * 4 /* elements of one byte become floats */
};

static char *arenas[FUZZ_MOST_TENSORS];
static void *plains[FUZZ_MOST_TENSORS], *kept[FUZZ_MOST_TENSORS], *given[FUZZ_MOST_TENSORS];

static void *must(void *memory) {
  if (memory == NULL || memory == MAP_FAILED) abort();
  return memory;
}

static void reserve(void) {
  for (int i = 0; i < FUZZ_MOST_TENSORS; i++) {
    char *all = must(mmap(NULL, FUZZ_ARENA_BYTES + 2 * GUARD_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(all + GUARD_BYTES, FUZZ_ARENA_BYTES, PROT_READ | PROT_WRITE) != 0) abort();
    arenas[i] = all + GUARD_BYTES;
    plains[i] = must(malloc(PLAIN_BYTES));
    kept[i] = must(malloc(FUZZ_ARENA_BYTES));
    given[i] = must(malloc(FUZZ_ARENA_BYTES));
  }
}

void fuzz_fill(void *memory, size_t bytes, int run) {
  /* A signalling NaN as FLOAT and as HALF, or neither. */
  const uint32_t word = run == 0 ? 0x7fa1fdc3u : 0xb5d39c5du;
  char *at = memory;
  for (; bytes >= sizeof(word); at += sizeof(word), bytes -= sizeof(word))
    memcpy(at, &word, sizeof(word));
  memcpy(at, &word, bytes);
}

/* -------------------------------------------------------------------------------- places */

static size_t before(const struct fuzz_tensor *t) { return t->place < AROUND ? t->place : AROUND; }

static size_t behind(const struct fuzz_tensor *t) {
  const size_t left = FUZZ_ARENA_BYTES - t->place - (size_t)t->bytes;
  return left < AROUND ? left : AROUND;
}

static mluOpTensorDescriptor_t described(const struct fuzz_tensor *t, mluOpDataType_t dtype) {
  mluOpTensorDescriptor_t desc;
  if (mluOpCreateTensorDescriptor(&desc) != MLUOP_STATUS_SUCCESS) abort();
  if (t->rank == 0) return desc;
  const mluOpStatus_t status =
      t->strided
          ? mluOpSetTensorDescriptorEx_v2(desc, t->layout, dtype, t->rank, t->dims, t->strides)
          : mluOpSetTensorDescriptor_v2(desc, t->layout, dtype, t->rank, t->dims);
  (void)status; /* what cannot be described stays as it was created */
  return desc;
}

static int64_t reach(const struct fuzz_tensor *t) {
  int64_t elements = 1, more;
  for (int i = 0; i < t->rank; i++) {
    if (__builtin_mul_overflow(t->dims[i] - 1, t->strides[i], &more) ||
        __builtin_add_overflow(elements, more, &elements)) {
      return INT64_MAX;
    }
  }
  return elements;
}

static void place(struct fuzz_tensor *t, int i, uint32_t choice) {
  t->desc = t->made = described(t, t->dtype);
  t->plain_desc =
      described(t, t->dtype == MLUOP_DTYPE_INT32 ? MLUOP_DTYPE_INT32 : MLUOP_DTYPE_FLOAT);
  t->count = (int64_t)mluOpGetTensorElementNum(t->desc);
  const int64_t size = (int64_t)mluop_dtype_size(t->dtype);
  if (__builtin_mul_overflow(t->strided && t->count > 0 ? reach(t) : t->count, size, &t->bytes))
    t->bytes = INT64_MAX;
  /* A huge tensor gets a few bytes: no call with it may look at them. */
  t->held = t->bytes <= FUZZ_ARENA_BYTES ? t->count : 0;
  if (t->held > 0 && t->held > t->bytes / size) t->held = t->bytes / size; /* strides overlap */
  const size_t room = FUZZ_ARENA_BYTES - (t->held > 0 ? (size_t)t->bytes : 64);
  const size_t step = size > 0 ? (size_t)size * (choice >> 1) * 3 : 0;
  t->place = (choice & 1) == 0 ? room : step < room ? step : 0;
  if (size > 1) t->place -= t->place % (size_t)size;
  t->data = t->memory = arenas[i] + t->place;
  t->plain = plains[i];
}

void fuzz_place(struct fuzz *f, uint32_t choices) {
  if (arenas[0] == NULL) reserve();
  for (int i = 0; i < f->count; i++) {
    struct fuzz_tensor *t = &f->t[i];
    if (t->absent) continue;
    place(t, i, choices >> 3 * i & 7);
    if (t->bytes > FUZZ_ARENA_BYTES) continue;
    char *data = t->data;
    memset(data - before(t), AROUND_BYTE, before(t));
    memset(data + t->bytes, AROUND_BYTE, behind(t));
    POISON(data - before(t), before(t));
    POISON(data + t->bytes, behind(t));
    if (t->strided) memset(data, AROUND_BYTE, (size_t)t->bytes);
    if (t->role != FUZZ_OWN || t->held == 0) continue;
    /* An operator does not fill all of a tensor whose dims were bent: the rest is 0 for both. */
    memset(data, 0, (size_t)t->bytes);
    memset(t->plain, 0, (size_t)t->held * sizeof(float));
  }
}

void fuzz_release(struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    struct fuzz_tensor *t = &f->t[i];
    if (t->absent) continue;
    UNPOISON(arenas[i], FUZZ_ARENA_BYTES);
    mluOpDestroyTensorDescriptor(t->made);
    mluOpDestroyTensorDescriptor(t->plain_desc);
  }
}

/* ------------------------------------------------------------------------------ contents */

static bool is_output(const struct fuzz_tensor *t) {
  return t->role == FUZZ_OUTPUT && !t->absent && t->bytes <= FUZZ_ARENA_BYTES;
}

static bool is_input(const struct fuzz_tensor *t) {
  return t->role != FUZZ_OUTPUT && !t->absent && t->bytes <= FUZZ_ARENA_BYTES;
}

static void *arena_of(const struct fuzz *f, int i) { return arenas[i] + f->t[i].place; }

void fuzz_prefill(struct fuzz *f, int run) {
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (is_output(t)) fuzz_fill(arena_of(f, i), (size_t)t->bytes, run);
    if (is_input(t)) memcpy(given[i], arena_of(f, i), (size_t)t->bytes);
  }
}

bool fuzz_untouched(const struct fuzz *f) {
  static char pattern[FUZZ_ARENA_BYTES];
  if (pattern[0] == 0) fuzz_fill(pattern, sizeof(pattern), 0);
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (is_output(t) && memcmp(arena_of(f, i), pattern, (size_t)t->bytes) != 0) return false;
  }
  return true;
}

bool fuzz_zeros(const struct fuzz_tensor *t) {
  const char *bytes = t->data;
  for (int64_t i = 0; i < t->bytes; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

void fuzz_settle(struct fuzz_tensor *t, int64_t from, int64_t to) {
  char *bytes = t->memory, pattern[4];
  for (int64_t i = from; i < to; i++) {
    fuzz_fill(pattern, sizeof(pattern), fuzz_way.run);
    FUZZ_CHECK(bytes[i] == pattern[i % 4]);
    bytes[i] = 0;
  }
}

void fuzz_keep(struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    if (is_output(&f->t[i])) memcpy(kept[i], arena_of(f, i), (size_t)f->t[i].bytes);
  }
}

const void *fuzz_kept(int tensor) { return kept[tensor]; }

bool fuzz_same(const struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (is_output(t) && memcmp(kept[i], arena_of(f, i), (size_t)t->bytes) != 0) return false;
  }
  return true;
}

static bool all_around(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if ((unsigned char)bytes[i] != AROUND_BYTE) return false;
  }
  return true;
}

void fuzz_check_around(const struct fuzz *f) {
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (t->absent || t->bytes > FUZZ_ARENA_BYTES) continue;
    const char *data = arena_of(f, i);
    FUZZ_CHECK(all_around(data - before(t), before(t)));
    FUZZ_CHECK(all_around(data + t->bytes, behind(t)));
    if (is_input(t)) FUZZ_CHECK(memcmp(data, given[i], (size_t)t->bytes) == 0);
  }
}

void fuzz_set(struct fuzz_tensor *t, int64_t i, double value) {
  if (i >= t->held) return;
  if (t->dtype == MLUOP_DTYPE_INT32) {
    ((int32_t *)t->data)[i] = ((int32_t *)t->plain)[i] = (int32_t)value;
  } else if (t->dtype == MLUOP_DTYPE_HALF) {
    const uint16_t half = mluop_float_to_half((float)value);
    ((uint16_t *)t->data)[i] = half;
    ((float *)t->plain)[i] = mluop_half_to_float(half);
  } else if (t->dtype == MLUOP_DTYPE_FLOAT) {
    ((float *)t->data)[i] = ((float *)t->plain)[i] = (float)value;
  }
}

double fuzz_get(const struct fuzz_tensor *t, int64_t i) {
  if (t->dtype == MLUOP_DTYPE_INT32) return ((const int32_t *)t->plain)[i];
  return ((const float *)t->plain)[i];
}
