/* SPDX-License-Identifier: Apache-2.0 */
/* Built once, for any CPU: guarded memory, random numbers, half by its definition. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vector.h"

enum { CLEAN = 0xa5, ROOM_BYTES = 16384 };

static struct room make_room(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t bytes = (ROOM_BYTES + page - 1) / page * page;
  unsigned char *pages =
      mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, bytes, PROT_READ | PROT_WRITE) != 0) {
    fputs("no memory between guard pages\n", stderr);
    exit(1);
  }
  return (struct room){pages + page, pages + page + bytes};
}

static struct room room_at(int which) {
  static struct room rooms[ROOMS];
  if (rooms[which].begin == NULL) rooms[which] = make_room();
  return rooms[which];
}

struct room room_clean(int which) {
  const struct room room = room_at(which);
  memset(room.begin, CLEAN, (size_t)(room.end - room.begin));
  return room;
}

struct room room_random(int which) {
  const struct room room = room_at(which);
  for (unsigned char *p = room.begin; p < room.end; p += sizeof(uint32_t)) {
    const uint32_t bits = random_bits();
    memcpy(p, &bits, sizeof(bits));
  }
  return room;
}

static int clean(const unsigned char *p, const unsigned char *end) {
  while (p < end && *p == CLEAN) p++;
  return p >= end;
}

int room_only(struct room room, const void *p, int64_t bytes) {
  const unsigned char *first = p;
  if (bytes <= 0) return clean(room.begin, room.end);
  return clean(room.begin, first) && clean(first + bytes, room.end);
}

uint32_t random_bits(void) {
  static uint64_t state = 20240229u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 32);
}

int64_t random_below(int64_t limit) { return (int64_t)(random_bits() % (uint64_t)limit); }

float reference_widen(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, mantissa = half & 1023;
  const int exponent = half >> 10 & 31;
  if (exponent == 31) { /* infinity, or a NaN, made quiet */
    const uint32_t quiet = mantissa != 0 ? 0x400000u : 0;
    return mluop_float_of_bits(sign | 0x7f800000u | quiet | mantissa << 13);
  }
  const double magnitude = exponent == 0 ? ldexp((double)mantissa, -24)
                                         : ldexp((double)(1024 + mantissa), exponent - 25);
  return mluop_float_of_bits(sign | mluop_bits_of_float((float)magnitude));
}

uint16_t reference_narrow(float value) {
  const uint32_t bits = mluop_bits_of_float(value), sign = bits >> 16 & 0x8000u;
  if (isnan(value)) return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
  const double magnitude = fabs((double)value);
  if (magnitude >= 65520) return (uint16_t)(sign | 0x7c00u); /* half way to 65536, and beyond */
  const int exponent = magnitude < ldexp(1, -14) ? -14 : ilogb(magnitude);
  const double steps = rint(ldexp(magnitude, 10 - exponent)); /* ties to even */
  return (uint16_t)(sign | (uint32_t)((exponent + 14) * 1024 + (int)steps));
}
