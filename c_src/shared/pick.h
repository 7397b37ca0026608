/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_PICK_H_
#define MLUOP_SHARED_PICK_H_

/* A pick makes PICK_BYTES of output, `lanes` elements of 2 or 4 bytes, from elements that lie close
   together: shuffles of whole vectors instead of a load for each element. One description serves
   every channel. */

#include "shared/move.h"

enum {
  PICK_BYTES = 64,
  PICK_LANES_MAX = PICK_BYTES / 2,
  PICK_VECTORS = 4 /* the elements must lie within so many vectors of PICK_BYTES */
};

/* Whether there are shuffles that can do it. */
#if defined(__AVX512BW__)
enum { PICK_SHUFFLES = 1 };
#else
enum { PICK_SHUFFLES = 0 };
#endif

enum pick_kind {
  PICK_RUN,   /* neighbours, in order */
  PICK_CLOSE, /* within two vectors */
  PICK_NEAR,  /* within PICK_VECTORS */
  PICK_FAR    /* too far apart for a pick */
};

struct pick {
  int64_t first; /* where the first of the elements is */
  enum pick_kind kind;
  uint32_t high;                 /* lanes whose element is in the second half of PICK_VECTORS */
  uint8_t index[PICK_LANES_MAX]; /* where each element is, from `first` on */
};

MLUOP_INLINE int64_t pick_lanes(int64_t size) { return PICK_BYTES / size; }

/* The mask of all lanes. */
MLUOP_INLINE uint32_t pick_all(int64_t size) { return size == 2 ? 0xffffffffu : 0xffffu; }

/* Sets kind and high from the rest. Lanes that are not in use have index 0. */
MLUOP_INLINE void pick_classify(struct pick *pick, int64_t span, int64_t lanes, int64_t size) {
  uint32_t high = 0;
  uint8_t others = lanes != pick_lanes(size);
  for (int64_t k = 0; k < lanes; k++) {
    others |= (uint8_t)(pick->index[k] ^ (uint8_t)k);
    high |= (uint32_t)(pick->index[k] >= 2 * pick_lanes(size)) << k;
  }
  pick->high = high;
  const int close = span <= 2 * pick_lanes(size), near = span <= PICK_VECTORS * pick_lanes(size);
  pick->kind = !near ? PICK_FAR : others == 0 ? PICK_RUN : close ? PICK_CLOSE : PICK_NEAR;
}

#if defined(__AVX512BW__)

MLUOP_INLINE __m512i pick_load_(const char *from, int vector) {
  return _mm512_loadu_si512(from + PICK_BYTES * vector);
}

MLUOP_INLINE __m512i pick_words_(const struct pick *pick, const char *from, int vectors) {
  const __m512i index =
      _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)pick->index));
  if (vectors == 1) return _mm512_permutexvar_epi16(index, pick_load_(from, 0));
  if (vectors == 2) {
    return _mm512_permutex2var_epi16(pick_load_(from, 0), index, pick_load_(from, 1));
  }
  return _mm512_mask_mov_epi16(
      _mm512_permutex2var_epi16(pick_load_(from, 0), index, pick_load_(from, 1)), pick->high,
      _mm512_permutex2var_epi16(pick_load_(from, 2), index, pick_load_(from, 3)));
}

MLUOP_INLINE __m512i pick_doublewords_(const struct pick *pick, const char *from, int vectors) {
  const __m512i index =
      _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)pick->index));
  if (vectors == 1) return _mm512_permutexvar_epi32(index, pick_load_(from, 0));
  if (vectors == 2) {
    return _mm512_permutex2var_epi32(pick_load_(from, 0), index, pick_load_(from, 1));
  }
  return _mm512_mask_mov_epi32(
      _mm512_permutex2var_epi32(pick_load_(from, 0), index, pick_load_(from, 1)),
      (__mmask16)pick->high,
      _mm512_permutex2var_epi32(pick_load_(from, 2), index, pick_load_(from, 3)));
}

/* to[k] is from[index[k]], or zero where bit k of `keep` is not set. Reads all of `vectors`
   vectors, 1, 2 or PICK_VECTORS. */
MLUOP_INLINE void pick_elements(void *to, const struct pick *pick, const void *from, uint32_t keep,
                                int vectors, int64_t size) {
  _mm512_storeu_si512(to, size == 2 ? _mm512_maskz_mov_epi16(keep, pick_words_(pick, from, vectors))
                                    : _mm512_maskz_mov_epi32(
                                          (__mmask16)keep, pick_doublewords_(pick, from, vectors)));
}

MLUOP_INLINE void gather_doublewords_(uint32_t *to, const uint32_t *from, const int32_t *offsets,
                                      int32_t shift, uint32_t keep) {
  const __m512i at = _mm512_add_epi32(_mm512_loadu_si512(offsets), _mm512_set1_epi32(shift));
  _mm512_storeu_si512(
      to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)keep, at, from, 4));
}

/* A half is gathered with the one before it, the very first with the one after it. */
MLUOP_INLINE void gather_words_(uint16_t *to, const uint16_t *from, const int32_t *offsets,
                                int32_t shift, uint32_t keep) {
  for (int k = 0; k < PICK_LANES_MAX; k += 16) {
    const __m512i at = _mm512_add_epi32(_mm512_loadu_si512(offsets + k), _mm512_set1_epi32(shift));
    const __mmask16 behind = _mm512_test_epi32_mask(at, at);
    const __m512i pair = _mm512_mask_sub_epi32(at, behind, at, _mm512_set1_epi32(1));
    const __m512i both =
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)(keep >> k), pair, from, 2);
    const __m512i picked = _mm512_mask_srli_epi32(both, behind, both, 16);
    _mm256_storeu_si256((__m256i *)(void *)(to + k), _mm512_cvtepi32_epi16(picked));
  }
}

#else

MLUOP_INLINE void pick_elements(void *to, const struct pick *pick, const void *from, uint32_t keep,
                                int vectors, int64_t size) {
  (void)vectors;
  const char *elements = from;
  char picked[PICK_BYTES];
  for (int64_t k = 0; k < PICK_BYTES / size; k++) {
    memcpy(picked + k * size, elements + pick->index[k] * size, (size_t)size);
  }
  if (keep != pick_all(size)) {
    for (int64_t k = 0; k < PICK_BYTES / size; k++) {
      if ((keep >> k & 1u) == 0) memset(picked + k * size, 0, (size_t)size);
    }
  }
  memcpy(to, picked, PICK_BYTES);
}

MLUOP_INLINE void gather_doublewords_(uint32_t *to, const uint32_t *from, const int32_t *offsets,
                                      int32_t shift, uint32_t keep) {
  for (int k = 0; k < PICK_BYTES / 4; k++) {
    const int32_t at = (int32_t)((uint32_t)offsets[k] + (uint32_t)shift);
    to[k] = (keep >> k & 1u) != 0 ? from[at] : 0;
  }
}

#endif

/* to[k] is from[offsets[k] + shift] (both modulo 2^32), or zero where bit k of `keep` is not set.
   Reads nothing but the elements around these; `left` elements can be read from `from` on. */
MLUOP_INLINE void gather_elements(void *to, const void *from, int64_t left, const int32_t *offsets,
                                  int32_t shift, uint32_t keep, int64_t size) {
  if (size == 4) {
    gather_doublewords_(to, from, offsets, shift, keep);
    return;
  }
#if defined(__AVX512BW__)
  if (left > 1) {
    gather_words_(to, from, offsets, shift, keep);
    return;
  }
#endif
  (void)left;
  const uint16_t *elements = from;
  uint16_t *out = to;
  for (int k = 0; k < PICK_LANES_MAX; k++) {
    const int32_t at = (int32_t)((uint32_t)offsets[k] + (uint32_t)shift);
    out[k] = (uint16_t)((keep >> k & 1u) != 0 ? elements[at] : 0);
  }
}

#endif /* MLUOP_SHARED_PICK_H_ */
