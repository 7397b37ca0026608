/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_TRANSPOSE_H_
#define MLUOP_SHARED_TRANSPOSE_H_

/* Transposes of blocks whose elements, of 2 or 4 bytes, are moved as bits. Pitches are in bytes. */

#include "shared/move.h"

/* VL columns of one vector's worth of rows: each becomes a vector. */
MLUOP_INLINE void transpose_tile(const char *from, int64_t from_pitch, char *to, int64_t to_pitch,
                                 int size, int stream) {
  vf rows[VL];
  for (int i = 0; i < VL; i++) {
    if (size == 2) {
      const char *first = from + 2 * i * from_pitch, *second = first + from_pitch;
      rows[i] = vf_load_pairs((const void *)first, (const void *)second);
    } else {
      rows[i] = vf_load((const void *)(from + i * from_pitch));
    }
  }
  vf_transpose(rows);
  for (int j = 0; j < VL; j++) {
    float *target = (void *)(to + j * to_pitch);
    if (stream) {
      vf_stream(target, rows[j]);
    } else {
      vf_store(target, rows[j]);
    }
  }
}

/* At most a line of rows and of columns. What is moved are whole tiles, beyond them too: memory
   must be there, and gets numbers without meaning. Where the columns stand one behind the other in
   `to`, the next one overwrites these. */
MLUOP_INLINE void transpose_block(const char *from, int64_t from_pitch, char *to, int64_t to_pitch,
                                  int64_t rows, int64_t columns, int size, int stream) {
  const int64_t tile_rows = VL * 4 / size;
  for (int64_t column = 0; column < columns; column += VL) {
    for (int64_t row = (rows - 1) / tile_rows * tile_rows; row >= 0; row -= tile_rows) {
      transpose_tile(from + row * from_pitch + column * size, from_pitch,
                     to + column * to_pitch + row * size, to_pitch, size, stream);
    }
  }
}

#endif /* MLUOP_SHARED_TRANSPOSE_H_ */
