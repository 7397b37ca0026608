/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_KERNELS_PICK_H_
#define MLUOP_KERNELS_PICK_H_

/* A pick makes PICK_BYTES of output, `lanes` elements of 2 or 4 bytes, from elements that lie close
   together: shuffles of whole vectors instead of a load for each element. One description serves
   every channel. */

#include "kernels/move.h"

enum {
  PICK_BYTES = 64,
  PICK_LANES_MAX = PICK_BYTES / 2,
  PICK_VECTORS = 8, /* the elements must lie within so many vectors of PICK_BYTES */
};

struct pick {
  int64_t first;   /* where the first of the elements is */
  int64_t vectors; /* 1 or an even number up to PICK_VECTORS; 0 if they lie too far apart */
  int run;         /* the elements are neighbours, in order */
  uint8_t index[PICK_LANES_MAX]; /* where each element is, from `first` on */
};

MLUOP_INLINE int64_t pick_lanes(int64_t size) { return PICK_BYTES / size; }

/* The mask of all lanes. */
MLUOP_INLINE uint32_t pick_all(int64_t size) { return size == 2 ? 0xffffffffu : 0xffffu; }

/* For elements at most `span` - 1 apart. */
MLUOP_INLINE int64_t pick_vectors(int64_t span, int64_t size) {
  const int64_t vectors = (span * size + PICK_BYTES - 1) / PICK_BYTES;
  if (vectors > PICK_VECTORS) return 0;
  return vectors <= 1 ? 1 : (vectors + 1) / 2 * 2;
}

#if defined(__AVX512BW__)

MLUOP_INLINE __m512i pick_load_(const char *from) { return _mm512_loadu_si512(from); }

MLUOP_INLINE __m512i pick_words_(const struct pick *pick, const char *from) {
  const __m512i index =
      _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)pick->index));
  if (pick->vectors == 1) return _mm512_permutexvar_epi16(index, pick_load_(from));
  __m512i all = _mm512_permutex2var_epi16(pick_load_(from), index, pick_load_(from + 64));
  for (int64_t i = 2; i < pick->vectors; i += 2) {
    const __mmask32 here = _mm512_cmpge_epu16_mask(index, _mm512_set1_epi16((short)(32 * i)));
    const char *next = from + PICK_BYTES * i;
    all = _mm512_mask_mov_epi16(
        all, here, _mm512_permutex2var_epi16(pick_load_(next), index, pick_load_(next + 64)));
  }
  return all;
}

MLUOP_INLINE __m512i pick_doublewords_(const struct pick *pick, const char *from) {
  const __m512i index =
      _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)pick->index));
  if (pick->vectors == 1) return _mm512_permutexvar_epi32(index, pick_load_(from));
  __m512i all = _mm512_permutex2var_epi32(pick_load_(from), index, pick_load_(from + 64));
  for (int64_t i = 2; i < pick->vectors; i += 2) {
    const __mmask16 here = _mm512_cmpge_epu32_mask(index, _mm512_set1_epi32((int)(16 * i)));
    const char *next = from + PICK_BYTES * i;
    all = _mm512_mask_mov_epi32(
        all, here, _mm512_permutex2var_epi32(pick_load_(next), index, pick_load_(next + 64)));
  }
  return all;
}

MLUOP_INLINE void pick_some_(void *to, const struct pick *pick, const char *from, uint32_t keep,
                             int64_t size) {
  _mm512_storeu_si512(
      to, size == 2 ? _mm512_maskz_mov_epi16(keep, pick_words_(pick, from))
                    : _mm512_maskz_mov_epi32((__mmask16)keep, pick_doublewords_(pick, from)));
}

MLUOP_INLINE void gather_doublewords_(uint32_t *to, const uint32_t *from, const int32_t *offsets,
                                      int32_t shift, uint32_t keep) {
  const __m512i at = _mm512_add_epi32(_mm512_loadu_si512(offsets), _mm512_set1_epi32(shift));
  _mm512_storeu_si512(
      to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)keep, at, from, 4));
}

#else

MLUOP_INLINE void pick_some_(void *to, const struct pick *pick, const char *from, uint32_t keep,
                             int64_t size) {
  char picked[PICK_BYTES];
  for (int64_t k = 0; k < PICK_BYTES / size; k++) {
    memcpy(picked + k * size, from + pick->index[k] * size, (size_t)size);
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

/* to[k] is element k, or zero where bit k of `keep` is not set. Reads all of pick->vectors. */
MLUOP_INLINE void pick_elements(void *to, const struct pick *pick, const void *from, uint32_t keep,
                                int64_t size) {
  const char *first = (const char *)from + pick->first * size;
  if (pick->run && keep == pick_all(size)) {
    memcpy(to, first, PICK_BYTES);
  } else {
    pick_some_(to, pick, first, keep, size);
  }
}

/* to[k] is from[offsets[k] + shift] (both modulo 2^32), or zero where bit k of `keep` is not set.
   Reads nothing else. */
MLUOP_INLINE void gather_elements(void *to, const void *from, const int32_t *offsets, int32_t shift,
                                  uint32_t keep, int64_t size) {
  if (size == 4) {
    gather_doublewords_(to, from, offsets, shift, keep);
    return;
  }
  const uint16_t *elements = from;
  uint16_t *out = to;
  for (int k = 0; k < PICK_LANES_MAX; k++) {
    const int32_t at = (int32_t)((uint32_t)offsets[k] + (uint32_t)shift);
    out[k] = (uint16_t)((keep >> k & 1u) != 0 ? elements[at] : 0);
  }
}

#endif /* MLUOP_KERNELS_PICK_H_ */
