/* SPDX-License-Identifier: Apache-2.0 */
/* Products of small matrices of every edge, beside plain C: the sums themselves, nothing written
   around them, and nothing read outside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/product.h"
#include "vector.h"

/* Rows and columns just before, at and behind whole tiles and panels. */
enum { MOST_ROWS = 2 * PRODUCT_ROWS + 1, MOST_COLUMNS = 2 * PRODUCT_COLUMNS + 3, MOST_DEPTH = 9 };

static float random_float(void) { return (float)((int)(random_bits() % 2001) - 1000) / 512.0f; }

static void fill(float *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) to[i] = random_float();
}

/* The formula, in the order of the sum. The reference is double: products are of few digits. */
static float expected(const float *a, int64_t row, int64_t step, const float *b, int64_t depth,
                      int64_t columns, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < depth; k++) {
    const int64_t panel = j / PRODUCT_COLUMNS * PRODUCT_COLUMNS;
    const int64_t width = columns - panel < PRODUCT_COLUMNS ? columns - panel : PRODUCT_COLUMNS;
    sum += (double)a[row + k * step] * (double)b[panel * depth + k * width + j - panel];
  }
  return (float)sum;
}

static void check(const struct product *p, int transposed, const float *before) {
  for (int64_t i = 0; i < p->rows; i++) {
    for (int64_t j = 0; j < p->columns; j++) {
      const int64_t row = transposed ? i : i * PRODUCT_STRIDE, at = i * p->c_stride + j;
      const float sum =
          expected(p->a, row, transposed ? PRODUCT_STRIDE : 1, p->b, p->depth, p->columns, j);
      const float wanted = p->add ? before[at] + sum : sum;
      CHECK(fabsf(p->c[at] - wanted) <= 1e-5f * (1.0f + fabsf(wanted)));
    }
  }
}

/* B ends at a guard page; C has a column between its rows that nobody may write. */
static void run_one(int64_t rows, int64_t depth, int64_t columns, int transposed, int add) {
  static float a[(MOST_ROWS + PRODUCT_ROWS) * PRODUCT_STRIDE],
      before[MOST_ROWS * (MOST_COLUMNS + 1)];
  const struct room room = room_clean(0), panels = room_clean(1);
  float *const b = (float *)(void *)panels.end - depth * columns;
  float *const c = (float *)(void *)room.end - rows * (columns + 1);
  fill(a, (int64_t)(sizeof(a) / sizeof(*a)));
  fill(b, depth * columns);
  fill(c, rows * (columns + 1));
  memcpy(before, c, (size_t)(rows * (columns + 1)) * sizeof(*c));
  const struct product p = {a, b, c, columns + 1, rows, depth, columns, add};
  if (transposed) {
    product_of_columns(&p);
  } else {
    product_of_rows(&p);
  }
  check(&p, transposed, before);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t at = i * (columns + 1) + columns;
    CHECK(same_bits(c[at], before[at]));
  }
  CHECK(room_only(room, c, rows * (columns + 1) * (int64_t)sizeof(float)));
}

static void products_are_those_of_plain_loops(void) {
  static const int depths[] = {1, 2, MOST_DEPTH};
  for (int64_t rows = 1; rows <= MOST_ROWS; rows += rows % PRODUCT_ROWS == 1 ? 3 : 1) {
    for (int64_t columns = 1; columns <= MOST_COLUMNS; columns += 1 + columns % 2) {
      for (int d = 0; d < 3; d++) {
        run_one(rows, depths[d], columns, (int)(rows + columns) % 2, d % 2);
        run_one(rows, depths[d], columns, (int)(rows + columns + 1) % 2, 1 - d % 2);
      }
    }
  }
}

/* What stands beside an element changes none of its bits: a block of any size gives the same. */
static void bits_do_not_depend_on_the_block(void) {
  enum { DEPTH = 37 };
  static float a[(MOST_ROWS + PRODUCT_ROWS) * PRODUCT_STRIDE];
  static float b[DEPTH * PRODUCT_COLUMNS], few[DEPTH], c[MOST_ROWS * PRODUCT_COLUMNS], one[1];
  fill(a, (int64_t)(sizeof(a) / sizeof(*a)));
  fill(b, DEPTH * PRODUCT_COLUMNS);
  const struct product all = {a, b, c, PRODUCT_COLUMNS, MOST_ROWS, DEPTH, PRODUCT_COLUMNS, 0};
  product_of_rows(&all);
  for (int64_t i = 0; i < MOST_ROWS; i++) {
    for (int64_t j = 0; j < PRODUCT_COLUMNS; j++) {
      for (int k = 0; k < DEPTH; k++) few[k] = b[k * PRODUCT_COLUMNS + j];
      const struct product single = {a + i * PRODUCT_STRIDE, few, one, 1, 1, DEPTH, 1, 0};
      product_of_rows(&single);
      CHECK(same_bits(one[0], c[i * PRODUCT_COLUMNS + j]));
    }
  }
}

/* Columns of B that are rows in memory, of floats and halves, up to a guard page. */
static void panels_are_packed(void) {
  for (int half = 0; half < 2; half++) {
    const int64_t size = half ? 2 : 4;
    for (int64_t depth = 1; depth <= VL + 2; depth++) {
      for (int64_t columns = 1; columns <= PRODUCT_COLUMNS; columns++) {
        const struct room source = room_random(0), target = room_clean(1);
        const int64_t stride = depth + 1, count = (columns - 1) * stride + depth;
        const char *from = (const char *)source.end - count * size;
        float *to = (float *)(void *)target.end - depth * columns;
        product_pack(to, from - size, 1, stride, depth, columns, half);
        for (int64_t k = 0; k < depth; k++) {
          for (int64_t j = 0; j < columns; j++) {
            const void *at = from + (j * stride + k) * size;
            const float value = half ? reference_widen(*(const uint16_t *)at) : *(const float *)at;
            CHECK(same_bits(to[k * columns + j], value));
          }
        }
        CHECK(room_only(target, to, depth * columns * (int64_t)sizeof(float)));
      }
    }
  }
}

static const struct test tests[] = {TEST(products_are_those_of_plain_loops),
                                    TEST(bits_do_not_depend_on_the_block), TEST(panels_are_packed)};

VECTOR_TESTS(tests);
