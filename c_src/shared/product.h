/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_PRODUCT_H_
#define MLUOP_SHARED_PRODUCT_H_

/* Products of matrices for blocks that lie in the second-level cache: C = A * B, or C += A * B.

          depth              columns             A panel of B has PRODUCT_COLUMNS columns (the last
       +---------+      +----+----+----+         one as many as are left). Its rows stand one after
     r |    A    |    d | B's panels   |         another in memory. It stays in the first-level
     o | 12 rows |  * e |    |    |    |         cache while the rows of A go by, PRODUCT_ROWS at a
     w | at once |    p |    |    |    |         time: their sums over the whole depth are made in
     s +---------+    th+----+----+----+         registers.

   An element of C is a sum over the depth in order, begun at 0, whatever is around it. So its bits
   depend on nothing but how a longer sum is cut into depths; cutting it also keeps rounding errors
   small. */

#include <math.h>

#include "shared/product_size.h"
#include "vector/simd.h"

/* As many sums as there are registers, but for two of B and one of A. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { PRODUCT_ROWS = 12 };
#elif defined(__AVX2__)
enum { PRODUCT_ROWS = 6 };
#else
enum { PRODUCT_ROWS = 4 };
#endif

enum { PRODUCT_VECTORS = 2, PRODUCT_COLUMNS = PRODUCT_VECTORS * VL };

struct product {
  const float *a; /* of whole PRODUCT_ROWS: what stands in rows that are too many does not matter */
  const float *b; /* panels */
  float *c;
  int64_t c_stride; /* between rows */
  int64_t rows, depth, columns;
  int add; /* to what C has */
};

/* Vector v of a row that has so many columns. */
MLUOP_INLINE vf product_load_(const float *p, int v, int64_t columns, int whole) {
  if (whole) return vf_load(p + v * VL);
  const int64_t left = columns - v * VL;
  return left <= 0 ? vf_set(0.0f) : vf_load_part(p + v * VL, left < VL ? left : VL);
}

MLUOP_INLINE void product_store_(float *p, int v, vf value, int64_t columns, int whole) {
  const int64_t left = columns - v * VL;
  if (whole) {
    vf_store(p + v * VL, value);
  } else if (left > 0) {
    vf_store_part(p + v * VL, value, left < VL ? left : VL);
  }
}

/* Which of two NaNs a sum keeps depends on which code adds, and that on how columns are cut. */
MLUOP_INLINE vf product_equal_nans_(vf sum) {
  return vf_select(vf_at_least(sum, sum), sum, vf_set(NAN));
}

/* Writes the first `rows` of PRODUCT_ROWS. */
MLUOP_INLINE void product_write_(vf sum[PRODUCT_ROWS][PRODUCT_VECTORS], const struct product *p,
                                 float *c, int64_t rows, int64_t columns, int vectors, int whole,
                                 int add) {
  MLUOP_UNROLL
  for (int r = 0; r < PRODUCT_ROWS; r++) {
    if (r >= rows) return;
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) {
      if (add) sum[r][v] = product_load_(c, v, columns, whole) + sum[r][v];
      product_store_(c, v, product_equal_nans_(sum[r][v]), columns, whole);
    }
    c += p->c_stride;
  }
}

/* PRODUCT_ROWS rows of A by one panel of B. Element (r, k) of A is a[r * row + k * step]. */
MLUOP_INLINE void product_tile_(const struct product *p, int64_t i, int64_t j, int64_t row,
                                int64_t step, int vectors, int whole) {
  const int64_t columns = p->columns - j, width = whole ? PRODUCT_COLUMNS : columns;
  const float *a = p->a + i * row, *b = p->b + j * p->depth;
  float *c = p->c + i * p->c_stride + j;
  vf sum[PRODUCT_ROWS][PRODUCT_VECTORS];
  MLUOP_UNROLL
  for (int r = 0; r < PRODUCT_ROWS; r++) {
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) sum[r][v] = vf_set(0.0f);
  }
  /* The next panel comes from far away, too: two tiles fetch a half of it each. */
  const float *next = b + (i / PRODUCT_ROWS % 2 + PRODUCT_VECTORS) * p->depth * VL;
  MLUOP_UNROLL_4
  for (int64_t k = 0; k < p->depth; k++, a += step, b += width, next += VL) {
    __builtin_prefetch(next, 0, 2);
    vf factor[PRODUCT_VECTORS];
    MLUOP_UNROLL
    for (int v = 0; v < vectors; v++) {
      factor[v] = vf_opaque(product_load_(b, v, columns, whole));
    }
    MLUOP_UNROLL
    for (int r = 0; r < PRODUCT_ROWS; r++) {
      const vf value = vf_opaque(vf_set(a[r * row]));
      MLUOP_UNROLL
      for (int v = 0; v < vectors; v++) sum[r][v] = vf_fma(value, factor[v], sum[r][v]);
    }
  }
  if (p->add) {
    product_write_(sum, p, c, p->rows - i, columns, vectors, whole, 1);
  } else {
    product_write_(sum, p, c, p->rows - i, columns, vectors, whole, 0);
  }
}

MLUOP_INLINE void product_panels_(const struct product *p, int64_t row, int64_t step) {
  for (int64_t j = 0; j < p->columns; j += PRODUCT_COLUMNS) {
    const int64_t columns = p->columns - j;
    for (int64_t i = 0; i < p->rows; i += PRODUCT_ROWS) {
      if (columns >= PRODUCT_COLUMNS) {
        product_tile_(p, i, j, row, step, PRODUCT_VECTORS, 1);
      } else if (columns > VL) {
        product_tile_(p, i, j, row, step, PRODUCT_VECTORS, 0);
      } else {
        product_tile_(p, i, j, row, step, 1, 0);
      }
    }
  }
}

/* Functions of their own: inlined, what else a caller keeps in registers may push a sum to memory,
   in the innermost loop. A kernel uses one of the two. */
#define PRODUCT_FUNCTION static __attribute__((noinline, unused))

/* Rows of A are PRODUCT_STRIDE apart. */
PRODUCT_FUNCTION void product_of_rows(const struct product *p) {
  product_panels_(p, PRODUCT_STRIDE, 1);
}

/* A is transposed: its columns are PRODUCT_STRIDE apart. */
PRODUCT_FUNCTION void product_of_columns(const struct product *p) {
  product_panels_(p, 1, PRODUCT_STRIDE);
}

/* VL columns of a panel, VL rows at a time. The rows of B's transpose are far from each other in
   memory: each is fetched ahead, which no CPU does for so many at once. Whole panels are written
   past the caches: those of other threads have what was packed there before, and it takes long
   until they give it up. */
MLUOP_INLINE void product_pack_vector_(float *panel, int v, const void *from, int64_t at,
                                       int64_t stride, int64_t depth, int64_t columns, int is_half,
                                       int whole) {
  enum { AHEAD = 4 * VL };
  for (int64_t k = 0; k < depth; k += VL) {
    const int64_t count = depth - k < VL ? depth - k : VL;
    vf rows[VL];
    for (int j = 0; j < VL; j++) {
      const int64_t element = at + (v * VL + j) * stride + k;
      const int there = whole || v * VL + j < columns;
      rows[j] = there ? vf_load_part_as(from, element, count, is_half) : vf_set(0.0f);
      if (there) mluop_prefetch(mluop_at(from, element + AHEAD, is_half));
    }
    vf_transpose(rows);
    for (int64_t i = 0; i < count; i++) {
      float *to = panel + (k + i) * columns;
      if (whole) {
        vf_stream(to + v * VL, rows[i]);
      } else {
        product_store_(to, v, rows[i], columns, 0);
      }
    }
  }
}

/* A panel of B from its transpose: column j is the `depth` elements from `from` + j * stride on.
   The caller ends with vf_stream_end. */
static inline void product_pack(float *panel, const void *from, int64_t at, int64_t stride,
                                int64_t depth, int64_t columns, int is_half) {
  const int whole = columns == PRODUCT_COLUMNS && (uintptr_t)panel % sizeof(vf) == 0;
  for (int v = 0; v < PRODUCT_VECTORS; v++) {
    if (whole) {
      product_pack_vector_(panel, v, from, at, stride, depth, PRODUCT_COLUMNS, is_half, 1);
    } else {
      product_pack_vector_(panel, v, from, at, stride, depth, columns, is_half, 0);
    }
  }
}

#endif /* MLUOP_SHARED_PRODUCT_H_ */
