/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_HALF_H_
#define MLUOP_CORE_HALF_H_

/* IEEE binary16 to binary32 and back, exact. In portable C, only float additions and subtractions
   of normal numbers are used, so that flush-to-zero modes of the CPU change nothing. */

#include <stdint.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

static inline float mluop_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline uint32_t mluop_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

#if defined(__F16C__)

static inline float mluop_half_to_float(uint16_t half) { return _cvtsh_ss(half); }

static inline uint16_t mluop_float_to_half(float value) {
  return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
}

#else

static inline float mluop_half_to_float(uint16_t half) {
  const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & 0x0f800000u;
  uint32_t bits = magnitude + 0x38000000u; /* rebias: 127 - 15 */
  if (exponent == 0x0f800000u) {
    bits += 0x38000000u;                            /* infinity and NaN */
    if (magnitude != exponent) bits |= 0x00400000u; /* a signalling NaN becomes quiet */
  } else if (exponent == 0) {
    /* A subnormal m * 2^-24 is the float 2^-14 * (1 + m / 1024), less 2^-14. */
    bits = mluop_bits_of_float(mluop_float_of_bits(bits + 0x00800000u) -
                               mluop_float_of_bits(0x38800000u));
  }
  return mluop_float_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

static inline uint16_t mluop_float_to_half(float value) {
  const uint32_t bits = mluop_bits_of_float(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | (magnitude >> 13 & 0x3ffu); /* NaN, made quiet */
  } else if (magnitude >= 0x47800000u) {
    half = 0x7c00u; /* 65536 and more, and infinity */
  } else if (magnitude < 0x38800000u) {
    /* Below 2^-14: adding 0.5 lets the float adder round to a multiple of 2^-24, to even. */
    half = mluop_bits_of_float(mluop_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    /* Round to nearest, ties to even; a carry goes into the exponent, up to infinity. */
    half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return (uint16_t)(half | sign);
}

#endif

#endif /* MLUOP_CORE_HALF_H_ */
