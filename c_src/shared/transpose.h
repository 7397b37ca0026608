/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_TRANSPOSE_H_
#define MLUOP_SHARED_TRANSPOSE_H_

/* Transposes of tiles whose elements, of 2 or 4 bytes, are moved as bits. Pitches are in bytes.

   A tile is narrow: on one side it has whole vectors, on the other runs of 16 bytes. Loads and
   stores put the runs into their places in a vector, and what is left to shuffle are the matrices
   of 4 x 4 or 8 x 8 elements in it. */

#include "shared/move.h"

enum {
  RUN_BYTES = 16,
  VECTOR_BYTES = VL * 4,
  PAIR_BYTES = VECTOR_BYTES < 2 * RUN_BYTES ? VECTOR_BYTES : 2 * RUN_BYTES,
  FULL_LINES = VL == 16 /* a vector is a line of the cache */
};

/* Pinned, or the compiler keeps the address of each row, for which it has no registers. */
MLUOP_INLINE const char *transpose_next_(const char *row, int64_t pitch) {
  return (const char *)mluop_opaque((int64_t)((uintptr_t)row + (uintptr_t)pitch));
}

MLUOP_INLINE void transpose_matrices_(vf *vectors, int size) {
  if (size == 2) {
    vf_transpose_eights(vectors);
  } else {
    vf_transpose_fours(vectors);
  }
}

/* A run of each of one vector's worth of rows: each of its first columns becomes a vector. */
MLUOP_INLINE void transpose_runs(const char *from, int64_t from_pitch, char *to, int64_t to_pitch,
                                 int columns, int size, int stream) {
  const int runs = RUN_BYTES / size;
  vf vectors[8];
  for (int i = 0; i < runs; i++) {
    vectors[i] = vf_load_fours((const void *)from, runs * from_pitch / 4);
    from = transpose_next_(from, from_pitch);
  }
  transpose_matrices_(vectors, size);
  for (int i = 0; i < runs && i < columns; i++) {
    if (stream) {
      vf_stream((void *)to, vectors[i]);
    } else {
      vf_store((void *)to, vectors[i]);
    }
    to = (char *)transpose_next_(to, to_pitch);
  }
}

/* The same of two runs of each row, where a vector has as many. */
MLUOP_INLINE void transpose_pairs(const char *from, int64_t pitch, char *to, int64_t to_pitch,
                                  int columns, int size) {
  enum { ROWS = VECTOR_BYTES / PAIR_BYTES, RUNS = PAIR_BYTES / RUN_BYTES };
  const int run = RUN_BYTES / size;
  vf vectors[2 * 8];
  for (int r = 0; r < RUNS; r++) {
    for (int i = 0; i < run; i++) {
      vectors[r * run + i] = vf_load_eights((const void *)from, run * pitch / 4);
      from = transpose_next_(from, pitch);
    }
    from = (const char *)((uintptr_t)from + (uintptr_t)((ROWS - 1) * run * pitch));
    transpose_matrices_(vectors + r * run, size);
  }
  for (int i = 0; i < run; i++) {
    vf both[2] = {vectors[i], vectors[(RUNS - 1) * run + i]};
    if (RUNS > 1) vf_unzip_runs(both);
    for (int r = 0; r < RUNS && r * run + i < columns; r++) {
      vf_store((void *)(to + r * run * to_pitch), both[r]);
    }
    to = (char *)transpose_next_(to, to_pitch);
  }
}

/* A vector of each of so many runs' worth of rows, of which the matrices are transposed. */
MLUOP_INLINE void transpose_load_(vf *vectors, const char *from, int64_t pitch, int runs,
                                  int size) {
  const int run = RUN_BYTES / size;
  for (int r = 0; r < runs; r++) {
    for (int i = 0; i < run; i++) {
      vectors[r * run + i] = vf_load((const void *)from);
      from = transpose_next_(from, pitch);
    }
    transpose_matrices_(vectors + r * run, size);
  }
}

/* The other way round: a vector of each of one run's worth of rows; each column becomes a run. */
MLUOP_INLINE void transpose_vectors(const char *from, int64_t from_pitch, char *to,
                                    int64_t to_pitch, int size) {
  const int runs = RUN_BYTES / size;
  vf vectors[8];
  transpose_load_(vectors, from, from_pitch, 1, size);
  for (int i = 0; i < runs; i++) {
    vf_store_fours((void *)to, runs * to_pitch / 4, vectors[i]);
    to = (char *)transpose_next_(to, to_pitch);
  }
}

/* A vector of each of two runs' worth of rows, where a vector has as many runs; each column becomes
   two runs. */
MLUOP_INLINE void transpose_vector_pairs(const char *from, int64_t from_pitch, char *to,
                                         int64_t to_pitch, int size) {
  enum { COLUMNS = VECTOR_BYTES / PAIR_BYTES, RUNS = PAIR_BYTES / RUN_BYTES };
  const int run = RUN_BYTES / size;
  vf vectors[2 * 8];
  transpose_load_(vectors, from, from_pitch, RUNS, size);
  for (int i = 0; i < run; i++) {
    vf columns[2] = {vectors[i], vectors[(RUNS - 1) * run + i]};
    if (RUNS > 1) vf_zip_runs(columns);
    for (int r = 0; r < RUNS; r++) {
      vf_store_eights((void *)(to + r * COLUMNS * run * to_pitch), run * to_pitch / 4, columns[r]);
    }
    to = (char *)transpose_next_(to, to_pitch);
  }
}

/* Fewer rows than one or two runs have elements. Each column becomes that many runs, in order; what
   follows its elements is anything, and may be where the next one goes. */
MLUOP_INLINE void transpose_short_columns(const char *from, int64_t from_pitch, char *to,
                                          int64_t to_pitch, int rows, int runs, int size) {
  const int run = RUN_BYTES / size;
  vf vectors[2 * 8];
  for (int i = 0; i < runs * run; i++) {
    vectors[i] = vf_load((const void *)from);
    if (i + 1 < rows) from = transpose_next_(from, from_pitch);
  }
  for (int r = 0; r < runs; r++) transpose_matrices_(vectors + r * run, size);
  char columns[2][8][VECTOR_BYTES];
  for (int i = 0; i < run; i++) {
    vf both[2] = {vectors[i], vectors[(runs - 1) * run + i]};
    if (runs == 2) vf_zip_runs(both);
    for (int r = 0; r < runs; r++) vf_store((void *)columns[r][i], both[r]);
  }
  for (int r = 0; r < runs; r++) {
    for (int at = 0; at < VECTOR_BYTES; at += runs * RUN_BYTES) {
      for (int i = 0; i < run; i++) {
        memcpy(to, columns[r][i] + at, (size_t)(runs * RUN_BYTES));
        to = (char *)transpose_next_(to, to_pitch);
      }
    }
  }
}

/* A vector of each of as many rows as it has elements: each of its columns becomes one, too. */
MLUOP_INLINE void transpose_square(const char *from, int64_t from_pitch, char *to, int64_t to_pitch,
                                   int size, int stream) {
  enum { RUNS = VECTOR_BYTES / RUN_BYTES };
  const int run = RUN_BYTES / size;
  vf vectors[VECTOR_BYTES / 2];
  transpose_load_(vectors, from, from_pitch, RUNS, size);
  for (int i = 0; i < run; i++) {
    vf runs[RUNS];
    for (int r = 0; r < RUNS; r++) runs[r] = vectors[r * run + i];
    vf_transpose_runs(runs);
    for (int r = 0; r < RUNS; r++) {
      char *column = to + r * run * to_pitch;
      if (stream) {
        vf_stream((void *)column, runs[r]);
      } else {
        vf_store((void *)column, runs[r]);
      }
    }
    to = (char *)transpose_next_(to, to_pitch);
  }
}

#endif /* MLUOP_SHARED_TRANSPOSE_H_ */
