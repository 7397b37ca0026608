/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores: the right lanes, any alignment, and not a byte outside, for guard pages lie on
   both sides. */
#include <string.h>

#include "vector.h"
#include "vector/simd.h"

/* What an operation touches of the VL elements at its address. */
enum kind {
  WHOLE,   /* all */
  ALIGNED, /* all, at an address aligned to the vector */
  FIRST,   /* element 0 */
  PART,    /* elements 0 to end - 1 */
  SPAN     /* elements begin to end - 1, also where these are outside [0, VL) */
};

/* -------------------------------------------------------------------------------- loads */

typedef void load_t(float *lanes, const void *p, int64_t begin, int64_t end);

#define LOAD(name, expression)                                                \
  static void name(float *lanes, const void *p, int64_t begin, int64_t end) { \
    (void)begin, (void)end;                                                   \
    vf_store(lanes, expression);                                              \
  }
/* The bits of a vi, as lanes. */
#define LOAD_INTS(name, expression)                                           \
  static void name(float *lanes, const void *p, int64_t begin, int64_t end) { \
    int32_t ints[VL];                                                         \
    (void)begin, (void)end;                                                   \
    vi_store(ints, expression);                                               \
    memcpy(lanes, ints, sizeof(ints));                                        \
  }

/* Element i of the array at `base(p, size)` is what is at p. */
enum { I = 3 };
static const void *base(const void *p, int64_t size) { return (const char *)p - I * size; }

LOAD(load, vf_load(p))
LOAD(load_as, vf_load_as(base(p, 4), I, 0))
LOAD(load_half, vf_load_half(p))
LOAD(load_half_as, vf_load_as(base(p, 2), I, 1))
LOAD(load_part, vf_load_part(p, end))
LOAD(load_part_as, vf_load_part_as(base(p, 4), I, end, 0))
LOAD(load_half_part, vf_load_half_part(p, end))
LOAD(load_half_part_as, vf_load_part_as(base(p, 2), I, end, 1))
LOAD(load_span, vf_load_span(p, begin, end))
LOAD_INTS(load_ints, vi_load(p))
LOAD_INTS(load_ints_part, vi_load_part(p, end))

static const struct {
  load_t *load;
  int64_t size; /* of an element: halves are converted */
  enum kind kind;
} loads[] = {{load, 4, WHOLE},          {load_as, 4, WHOLE},          {load_half, 2, WHOLE},
             {load_half_as, 2, WHOLE},  {load_part, 4, PART},         {load_part_as, 4, PART},
             {load_half_part, 2, PART}, {load_half_part_as, 2, PART}, {load_span, 4, SPAN},
             {load_ints, 4, WHOLE},     {load_ints_part, 4, PART}};

static float element(const unsigned char *p, int64_t i, int64_t size) {
  if (size == 2) {
    uint16_t half;
    memcpy(&half, p + i * size, sizeof(half));
    return reference_widen(half);
  }
  float value;
  memcpy(&value, p + i * size, sizeof(value));
  return value;
}

static void check_load(load_t *load_lanes, const unsigned char *p, int64_t begin, int64_t end,
                       int64_t size) {
  float lanes[VL];
  load_lanes(lanes, p, begin, end);
  for (int64_t i = 0; i < VL; i++) {
    CHECK(same_bits(lanes[i], i >= begin && i < end ? element(p, i, size) : 0.0f));
  }
}

/* The bounds of what is touched: all pairs for spans. */
static int64_t lowest_begin(enum kind kind) { return kind == SPAN ? -2 : 0; }
static int64_t highest_begin(enum kind kind) { return kind == SPAN ? VL + 2 : 0; }
static int64_t lowest_end(enum kind kind) {
  return kind == SPAN ? -2 : kind == PART ? 0 : kind == FIRST ? 1 : VL;
}
static int64_t highest_end(enum kind kind) {
  return kind == SPAN ? VL + 2 : kind == FIRST ? 1 : VL;
}

static int64_t clamp(int64_t lane) { return lane < 0 ? 0 : lane > VL ? VL : lane; }

static void loads_touch_their_lanes_only(void) {
  const struct room room = room_random(0);
  for (size_t k = 0; k < sizeof(loads) / sizeof(loads[0]); k++) {
    const enum kind kind = loads[k].kind;
    const int64_t size = loads[k].size;
    for (int64_t begin = lowest_begin(kind); begin <= highest_begin(kind); begin++) {
      for (int64_t end = lowest_end(kind); end <= highest_end(kind); end++) {
        const int64_t first = clamp(begin), last = clamp(end) > first ? clamp(end) : first;
        for (int64_t shift = 0; shift < 16; shift++) {
          check_load(loads[k].load, room.begin + (shift - first) * size, begin, end, size);
          check_load(loads[k].load, room.end - (shift + last) * size, begin, end, size);
        }
      }
    }
  }
}

/* ------------------------------------------------------------------------------- stores */

typedef void store_t(void *p, const float *lanes, int64_t begin, int64_t end);

#define STORE(name, statement)                                                \
  static void name(void *p, const float *lanes, int64_t begin, int64_t end) { \
    const vf v = vf_load(lanes);                                              \
    (void)begin, (void)end;                                                   \
    statement;                                                                \
  }
#define STORE_INTS(name, statement)                                           \
  static void name(void *p, const float *lanes, int64_t begin, int64_t end) { \
    int32_t ints[VL];                                                         \
    memcpy(ints, lanes, sizeof(ints));                                        \
    const vi v = vi_load(ints);                                               \
    (void)begin, (void)end;                                                   \
    statement;                                                                \
  }

static void *base_of(void *p, int64_t size) { return (char *)p - I * size; }

STORE(store, vf_store(p, v))
STORE(store_as, vf_store_as(base_of(p, 4), I, v, 0))
STORE(store_half, vf_store_half(p, v))
STORE(store_half_as, vf_store_as(base_of(p, 2), I, v, 1))
STORE(store_part, vf_store_part(p, v, end))
STORE(store_part_as, vf_store_part_as(base_of(p, 4), I, v, end, 0))
STORE(store_half_part, vf_store_half_part(p, v, end))
STORE(store_half_part_as, vf_store_part_as(base_of(p, 2), I, v, end, 1))
STORE(store_span, vf_store_span(p, v, begin, end))
STORE(stream, vf_stream(p, v); vf_stream_end())
STORE(stream_one, (void)v; vf_stream_one(p, lanes[0]); vf_stream_end())
STORE_INTS(store_ints, vi_store(p, v))
STORE_INTS(store_ints_part, vi_store_part(p, v, end))
STORE_INTS(stream_ints, vi_stream(p, v); vf_stream_end())

static const struct {
  store_t *store;
  int64_t size;
  enum kind kind;
} stores[] = {
    {store, 4, WHOLE},          {store_as, 4, WHOLE},          {store_half, 2, WHOLE},
    {store_half_as, 2, WHOLE},  {store_part, 4, PART},         {store_part_as, 4, PART},
    {store_half_part, 2, PART}, {store_half_part_as, 2, PART}, {store_span, 4, SPAN},
    {stream, 4, ALIGNED},       {stream_one, 4, FIRST},        {store_ints, 4, WHOLE},
    {store_ints_part, 4, PART}, {stream_ints, 4, ALIGNED},
};

/* `element` i of what has been stored, beside the lane that it came from. */
static int stored(const unsigned char *p, int64_t i, float lane, int64_t size) {
  if (size == 4) return same_bits(element(p, i, size), lane);
  uint16_t half;
  memcpy(&half, p + i * size, sizeof(half));
  return half == reference_narrow(lane);
}

static void check_store(store_t *store_lanes, int at_end, int64_t shift, int64_t begin, int64_t end,
                        int64_t size) {
  const struct room room = room_clean(0);
  const int64_t first = clamp(begin), last = clamp(end) > first ? clamp(end) : first;
  unsigned char *p =
      at_end ? room.end - (shift + last) * size : room.begin + (shift - first) * size;
  float lanes[VL];
  for (int64_t i = 0; i < VL; i++) lanes[i] = mluop_float_of_bits(random_bits());
  store_lanes(p, lanes, begin, end);
  CHECK(room_only(room, p + first * size, (last - first) * size));
  for (int64_t i = first; i < last; i++) CHECK(stored(p, i, lanes[i], size));
}

static void stores_touch_their_lanes_only(void) {
  for (size_t k = 0; k < sizeof(stores) / sizeof(stores[0]); k++) {
    const enum kind kind = stores[k].kind;
    const int64_t step = kind == ALIGNED ? VL : kind == SPAN ? 5 : 1;
    for (int64_t begin = lowest_begin(kind); begin <= highest_begin(kind); begin++) {
      for (int64_t end = lowest_end(kind); end <= highest_end(kind); end++) {
        for (int64_t shift = 0; shift < 16; shift += step) {
          check_store(stores[k].store, 0, shift, begin, end, stores[k].size);
          check_store(stores[k].store, 1, shift, begin, end, stores[k].size);
        }
      }
    }
  }
}

/* ------------------------------------------------------------------------------- joined */

/* Two addresses such that lanes below n are at one guard page, and the others at another. */
struct joined {
  unsigned char *a, *b;
};

static struct joined join(struct room low, struct room high, int64_t n, int64_t size, int at_end) {
  const int64_t cut = clamp(n);
  const struct joined begins = {low.begin, high.begin - cut * size};
  const struct joined ends = {low.end - cut * size, high.end - VL * size};
  return at_end ? ends : begins;
}

static void loads_are_joined(void) {
  const struct room low = room_random(0), high = room_random(1);
  for (int64_t n = -1; n <= VL + 1; n++) {
    for (int way = 0; way < 8; way++) {
      const int is_half = way & 1, as = way >> 1 & 1;
      const int64_t size = is_half ? 2 : 4;
      const struct joined at = join(low, high, n, size, way >> 2);
      const vf v = as        ? vf_load_split_as(n, base(at.a, size), base(at.b, size), I, is_half)
                   : is_half ? vf_load_split_half(n, (const void *)at.a, (const void *)at.b)
                             : vf_load_split(n, (const void *)at.a, (const void *)at.b);
      float lanes[VL];
      vf_store(lanes, v);
      for (int64_t i = 0; i < VL; i++) {
        CHECK(same_bits(lanes[i], element(i < n ? at.a : at.b, i, size)));
      }
    }
  }
}

static void stores_are_joined(void) {
  for (int64_t n = -1; n <= VL + 1; n++) {
    for (int at_end = 0; at_end <= 1; at_end++) {
      const struct room low = room_clean(0), high = room_clean(1);
      const struct joined at = join(low, high, n, 4, at_end);
      const int64_t cut = clamp(n);
      float lanes[VL];
      for (int64_t i = 0; i < VL; i++) lanes[i] = mluop_float_of_bits(random_bits());
      vf_store_split(n, (void *)at.a, (void *)at.b, vf_load(lanes));
      CHECK(room_only(low, at.a, cut * 4));
      CHECK(room_only(high, at.b + cut * 4, (VL - cut) * 4));
      for (int64_t i = 0; i < VL; i++) CHECK(stored(i < n ? at.a : at.b, i, lanes[i], 4));
    }
  }
}

/* ------------------------------------------------------------------------------ the rest */

static void single_elements(void) {
  const struct room room = room_random(0);
  for (int64_t i = 0; i < 64; i++) {
    CHECK(mluop_at(room.begin, i, 0) == room.begin + 4 * i);
    CHECK(mluop_at(room.begin, i, 1) == room.begin + 2 * i);
    CHECK(same_bits(mluop_load_as(room.begin, i, 0), element(room.begin, i, 4)));
    CHECK(same_bits(mluop_load_as(room.begin, i, 1), element(room.begin, i, 2)));
    const float value = mluop_float_of_bits(random_bits());
    for (int64_t size = 2; size <= 4; size += 2) {
      const struct room target = room_clean(1);
      mluop_store_as(target.begin, i, value, size == 2);
      CHECK(room_only(target, target.begin + i * size, size));
      CHECK(stored(target.begin, i, value, size));
    }
  }
}

/* Prefetches read and write nothing: any address will do. */
static void prefetches_of_forbidden_memory(void) {
  const struct room room = room_clean(0);
  mluop_prefetch(room.end);
  mluop_prefetch(room.begin - 1);
  mluop_prefetch(NULL);
  mluop_prefetch_bytes(room.begin, -100, 200);
  mluop_prefetch_bytes(NULL, -64, 100);
  mluop_prefetch_write(room.end);
  mluop_prefetch_write(room.begin - 1);
  mluop_prefetch_write(NULL);
  CHECK(room_only(room, room.begin, 0));
}

static const struct test tests[] = {
    TEST(loads_touch_their_lanes_only),
    TEST(stores_touch_their_lanes_only),
    TEST(loads_are_joined),
    TEST(stores_are_joined),
    TEST(single_elements),
    TEST(prefetches_of_forbidden_memory),
};
VECTOR_TESTS(tests);
