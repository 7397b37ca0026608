/* SPDX-License-Identifier: Apache-2.0 */
/* Built once per instruction set: the half conversions of simd.h as functions to be tested. */
#include "half_variant.h"

#include "vector/simd.h"

extern const struct half_variant MLUOP_PASTE(half_variant, MLUOP_ISA);

static void load(const uint16_t *from, float *to) { vf_store(to, vf_load_half(from)); }

static void store(const float *from, uint16_t *to) { vf_store_half(to, vf_load(from)); }

static void load_part(const uint16_t *from, float *to, int64_t n) {
  vf_store(to, vf_load_half_part(from, n));
}

static void store_part(const float *from, uint16_t *to, int64_t n) {
  vf_store_half_part(to, vf_load(from), n);
}

static void load_floats(const float *from, float *to, int64_t n) {
  vf_store(to, vf_load_part(from, n));
}

static void store_floats(const float *from, float *to, int64_t n) {
  vf_store_part(to, vf_load(from), n);
}

const struct half_variant MLUOP_PASTE(half_variant, MLUOP_ISA) = {
    VL, load, store, load_part, store_part, load_floats, store_floats};
