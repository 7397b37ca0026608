/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_ARENA_H_
#define MLUOP_CORE_ARENA_H_

#include <stddef.h>
#include <stdint.h>

/* Memory that is handed out from its beginning, each piece on cache lines of its own. Whatever lays
   memory out does so twice, by the same code: without memory it measures, and then it takes. */
struct mluop_arena {
  char *memory;
  size_t used;
};

static inline void *mluop_take(struct mluop_arena *arena, int64_t count, size_t size) {
  void *taken = arena->memory != NULL ? arena->memory + arena->used : NULL;
  arena->used += ((size_t)count * size + 63) / 64 * 64;
  return taken;
}

#endif /* MLUOP_CORE_ARENA_H_ */
