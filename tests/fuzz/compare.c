/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two results are the same within what the contract allows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/half.h"
#include "core/internal.h"
#include "fuzz.h"

/* How far sums may differ, as the contract says of whole tensors; of one element, relative to the
   largest one; and what is left of terms of size 1 that cancel out. */
static const double whole_limit[] = {1e-5, 3e-3}, element_limit[] = {5e-5, 4e-3};
static const double noise[] = {2e-6, 1e-5};

struct sums {
  double difference, size, squares, size_squares, largest, worst;
};

static double element(const void *data, int64_t i, bool half) {
  return half ? (double)mluop_half_to_float(((const uint16_t *)data)[i])
              : (double)((const float *)data)[i];
}

/* NaN with NaN, and infinity with the same infinity. Half overflows where its rounding begins to
   differ, too. */
static bool same_kind(double a, double b, bool half, bool mixed) {
  if (mixed && !isfinite(a) && !isfinite(b)) return true;
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (half && fabs(a) > 6e4 && fabs(b) > 6e4) return a * b > 0;
  if (isinf(a) || isinf(b)) return isinf(a) && isinf(b) && a * b > 0;
  return true;
}

static void add(struct sums *sums, double ours, double expected) {
  if (!isfinite(expected) || !isfinite(ours)) return;
  const double delta = fabs(ours - expected);
  sums->difference += delta;
  sums->size += fabs(expected);
  sums->squares += delta * delta;
  sums->size_squares += expected * expected;
  sums->largest = fmax(sums->largest, fabs(expected));
  sums->worst = fmax(sums->worst, delta);
}

static bool holds(const struct sums *s, int64_t count, bool half, double scale) {
  const double small = noise[half] * scale, n = (double)count;
  const bool near =
      s->difference <= whole_limit[half] * s->size + small * n &&
      sqrt(s->squares) <= whole_limit[half] * sqrt(s->size_squares) + small * sqrt(n) &&
      s->worst <= element_limit[half] * s->largest + small;
  if (!near) fprintf(stderr, "worst difference %g, largest value %g\n", s->worst, s->largest);
  return near;
}

/* As of half; a layout conversion takes others as well. */
static bool has_two_bytes(const struct fuzz_tensor *t) { return mluop_dtype_size(t->dtype) == 2; }

/* What element i of a tensor should be: as the plain loop has it, or as it was kept. */
static uint32_t expected_bits(const struct fuzz_tensor *t, const void *kept, int64_t i) {
  const bool half = has_two_bytes(t);
  if (kept != NULL) return half ? ((const uint16_t *)kept)[i] : ((const uint32_t *)kept)[i];
  const uint32_t plain = ((const uint32_t *)t->plain)[i];
  return half ? mluop_float_to_half(mluop_float_of_bits(plain)) : plain;
}

static double value_of(uint32_t bits, bool half) {
  return (double)(half ? mluop_half_to_float((uint16_t)bits) : mluop_float_of_bits(bits));
}

static bool say(int tensor, int64_t i, double ours, double expected) {
  fprintf(stderr, "tensor %d, element %lld: %.9g, expected %.9g\n", tensor, (long long)i, ours,
          expected);
  return false;
}

static bool tensor_near(const struct fuzz *f, int tensor, const void *kept) {
  const struct fuzz_tensor *t = &f->t[tensor];
  const bool half = t->dtype == MLUOP_DTYPE_HALF;
  struct sums sums = {0};
  for (int64_t i = 0; i < t->count; i++) {
    const double ours = element(t->data, i, half);
    const double expected = value_of(expected_bits(t, kept, i), half);
    if (!same_kind(ours, expected, half, f->mixed)) return say(tensor, i, ours, expected);
    add(&sums, ours, expected);
  }
  return holds(&sums, t->count, half, f->scale);
}

static bool tensor_exact(const struct fuzz_tensor *t, int tensor, const void *kept, bool any_nan) {
  const bool half = has_two_bytes(t);
  for (int64_t i = 0; i < t->count; i++) {
    const uint32_t expected = expected_bits(t, kept, i);
    const uint32_t ours = half ? ((const uint16_t *)t->data)[i] : ((const uint32_t *)t->data)[i];
    const double ours_value = value_of(ours, half), value = value_of(expected, half);
    if (ours == expected || (any_nan && isnan(ours_value) && isnan(value))) continue;
    return say(tensor, i, ours_value, value);
  }
  return true;
}

static bool equals(const struct fuzz *f, bool to_kept, enum fuzz_likeness likeness) {
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    /* Nobody writes to a tensor without a descriptor, whatever its type: see fuzz_same. */
    if (t->role != FUZZ_OUTPUT || t->absent || t->desc == NULL) continue;
    const void *kept = to_kept ? fuzz_kept(i) : NULL;
    const bool floats = t->dtype == MLUOP_DTYPE_HALF || t->dtype == MLUOP_DTYPE_FLOAT;
    if (floats && likeness == FUZZ_NEAR) {
      if (!tensor_near(f, i, kept)) return false;
    } else if (!tensor_exact(t, i, kept, floats && likeness == FUZZ_NUMBERS)) {
      return false;
    }
  }
  return true;
}

bool fuzz_equals_plain(const struct fuzz *f, enum fuzz_likeness likeness) {
  return equals(f, false, likeness);
}

bool fuzz_equals_kept(const struct fuzz *f, enum fuzz_likeness likeness) {
  return equals(f, true, likeness);
}

bool fuzz_finite(const struct fuzz_tensor *t) {
  for (int64_t i = 0; i < t->held; i++) {
    if (!isfinite(fuzz_get(t, i))) return false;
  }
  return true;
}

bool fuzz_tame(const struct fuzz *f) {
  for (int i = 0; i < f->r_count; i++) {
    if (!(fabsf(f->r[i]) <= 16)) return false;
  }
  for (int i = 0; i < f->count; i++) {
    const struct fuzz_tensor *t = &f->t[i];
    if (t->role == FUZZ_OUTPUT || t->absent || t->dtype == MLUOP_DTYPE_INT32) continue;
    for (int64_t at = 0; at < t->held; at++) {
      if (!(fabs(fuzz_get(t, at)) <= 1000)) return false;
    }
  }
  return !f->invalid;
}
