/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move lanes: transposes, runs of four, broadcasts within them, tables. */
#include <string.h>

#include "vector.h"
#include "vector/simd.h"

enum { FOURS = VL / 4 };

static void fill(float *lanes, int64_t n) {
  for (int64_t i = 0; i < n; i++) lanes[i] = mluop_float_of_bits(random_bits());
}

static void matrix_is_transposed(void) {
  float from[VL][VL], to[VL][VL];
  vf rows[VL];
  fill(from[0], VL * VL);
  for (int i = 0; i < VL; i++) rows[i] = vf_load(from[i]);
  vf_transpose(rows);
  for (int i = 0; i < VL; i++) vf_store(to[i], rows[i]);
  for (int i = 0; i < VL; i++) {
    for (int j = 0; j < VL; j++) CHECK(same_bits(to[i][j], from[j][i]));
  }
}

static void runs_of_four_are_transposed(void) {
  float from[4][VL], to[4][VL];
  vf rows[4];
  fill(from[0], 4 * VL);
  for (int i = 0; i < 4; i++) rows[i] = vf_load(from[i]);
  vf_transpose_fours(rows);
  for (int i = 0; i < 4; i++) vf_store(to[i], rows[i]);
  for (int run = 0; run < VL; run += 4) {
    for (int i = 0; i < 4; i++) {
      for (int j = 0; j < 4; j++) CHECK(same_bits(to[i][run + j], from[j][run + i]));
    }
  }
}

static void matrix_of_runs_is_transposed(void) {
  float from[FOURS][VL], to[FOURS][VL];
  vf rows[FOURS];
  fill(from[0], FOURS * VL);
  for (int i = 0; i < FOURS; i++) rows[i] = vf_load(from[i]);
  vf_transpose_runs(rows);
  for (int i = 0; i < FOURS; i++) vf_store(to[i], rows[i]);
  for (int i = 0; i < FOURS; i++) {
    for (int k = 0; k < VL; k++) CHECK(same_bits(to[i][k], from[k / 4][i * 4 + k % 4]));
  }
}

static void runs_of_eight_are_transposed(void) {
  uint16_t from[8][2 * VL], to[8][2 * VL];
  vf rows[8];
  for (int i = 0; i < 8; i++) {
    for (int k = 0; k < 2 * VL; k++) from[i][k] = (uint16_t)random_bits();
    rows[i] = vf_load((const void *)from[i]);
  }
  vf_transpose_eights(rows);
  for (int i = 0; i < 8; i++) vf_store((void *)to[i], rows[i]);
  for (int run = 0; run < 2 * VL; run += 8) {
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 8; j++) CHECK(to[i][run + j] == from[j][run + i]);
    }
  }
}

/* The address of run 0 such that runs of `length` floats, `step` apart, touch one end of the room.
 */
static float *place(struct room room, int64_t runs, int64_t length, int64_t step, int at_end) {
  const int64_t other = (runs - 1) * step, low = other < 0 ? other : 0, high = other - low;
  float *first = (void *)room.begin, *last = (void *)room.end;
  return at_end ? last - high - length : first - low;
}

static const int64_t steps[] = {4, 5, 7, 16, 33, -4, -9};
enum { STEPS = sizeof(steps) / sizeof(steps[0]), EIGHT = VL < 8 ? VL : 8 };

static void runs_of_four_are_loaded(void) {
  const struct room room = room_random(0);
  for (int k = 0; k < 2 * STEPS; k++) {
    const int64_t step = steps[k / 2];
    const float *p = place(room, FOURS, 4, step, k % 2);
    float lanes[VL];
    vf_store(lanes, vf_load_fours(p, step));
    for (int i = 0; i < VL; i++) CHECK(same_bits(lanes[i], p[i / 4 * step + i % 4]));
  }
}

static void runs_of_eight_are_loaded(void) {
  const struct room room = room_random(0);
  for (int k = 0; k < 2 * STEPS; k++) {
    const int64_t step = 2 * steps[k / 2];
    const float *p = place(room, VL / EIGHT, EIGHT, step, k % 2);
    float lanes[VL];
    vf_store(lanes, vf_load_eights(p, step));
    for (int i = 0; i < VL; i++) CHECK(same_bits(lanes[i], p[i / EIGHT * step + i % EIGHT]));
  }
}

static void even_runs_leave_odd_ones(void) {
  enum { RUNS = VL / 4 };
  float from[2 * VL], to[2][VL];
  fill(from, 2 * VL);
  vf rows[2] = {vf_load(from), vf_load(from + VL)};
  vf_unzip_runs(rows);
  for (int i = 0; i < 2; i++) vf_store(to[i], rows[i]);
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < VL; k++) {
      const int run = RUNS > 1 ? 2 * (k / 4) + i : i;
      CHECK(same_bits(to[i][k], from[run * 4 + k % 4]));
    }
  }
}

static void zipped_runs_are_as_before(void) {
  float from[2 * VL], to[VL];
  fill(from, 2 * VL);
  vf rows[2] = {vf_load(from), vf_load(from + VL)};
  vf_unzip_runs(rows);
  vf_zip_runs(rows);
  for (int i = 0; i < 2; i++) {
    vf_store(to, rows[i]);
    for (int k = 0; k < VL; k++) CHECK(same_bits(to[k], from[i * VL + k]));
  }
}

static void check_stored(int by_eights, int64_t step, int at_end) {
  const int64_t length = by_eights ? EIGHT : 4;
  const struct room room = room_clean(0);
  float *p = place(room, VL / length, length, step, at_end);
  float lanes[VL];
  fill(lanes, VL);
  if (by_eights) {
    vf_store_eights(p, step, vf_load(lanes));
  } else {
    vf_store_fours(p, step, vf_load(lanes));
  }
  for (int i = 0; i < VL; i++) {
    float *at = &p[i / length * step + i % length];
    CHECK(same_bits(lanes[i], *at));
    memset(at, 0xa5, sizeof(*at)); /* as room_clean left it */
  }
  CHECK(room_only(room, p, 0));
}

static void runs_are_stored(void) {
  for (int k = 0; k < 2 * STEPS; k++) {
    check_stored(0, steps[k / 2], k % 2);
    check_stored(1, 2 * steps[k / 2], k % 2);
  }
}

/* Every index in every lane; the table ends, or begins, at memory that nobody may read. */
static void table_of_sixteen(void) {
  const struct room room = room_random(0);
  const float *tables[] = {(const void *)room.begin, (const void *)(room.end - 16 * sizeof(float))};
  for (int k = 0; k < 2 * 16; k++) {
    const float *table = tables[k / 16];
    int32_t at[VL];
    float lanes[VL];
    for (int i = 0; i < VL; i++) at[i] = (i * 7 + k) % 16;
    vf_store(lanes, vf_table16(table, vi_load(at)));
    for (int i = 0; i < VL; i++) CHECK(same_bits(lanes[i], table[at[i]]));
  }
}

static const struct test tests[] = {
    TEST(matrix_is_transposed),
    TEST(runs_of_four_are_transposed),
    TEST(runs_of_eight_are_transposed),
    TEST(matrix_of_runs_is_transposed),
    TEST(runs_of_four_are_loaded),
    TEST(runs_of_eight_are_loaded),
    TEST(even_runs_leave_odd_ones),
    TEST(zipped_runs_are_as_before),
    TEST(runs_are_stored),
    TEST(table_of_sixteen),
};
VECTOR_TESTS(tests);
