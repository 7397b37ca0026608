/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_LINE_TABLE_H_
#define MLUOP_FAMILIES_CARAFE_LINE_TABLE_H_

#include "families/carafe/line.h"

/* A function for every size of a tile, and the table of them. */
/* clang-format off */
#define LINE_FUNCTION(name, pixels, kind, vectors)                         \
  static void name##_##pixels##_##kind##_##vectors(const struct line *t) { \
    name(t, pixels, kind, vectors <= VECTORS ? vectors : VECTORS);         \
  }
#define LINE_FUNCTIONS(name, pixels, kind) \
  LINE_FUNCTION(name, pixels, kind, 1)     \
  LINE_FUNCTION(name, pixels, kind, 2)     \
  LINE_FUNCTION(name, pixels, kind, 3)     \
  LINE_FUNCTION(name, pixels, kind, 4)     \
  LINE_FUNCTION(name, pixels, kind, 5)     \
  LINE_FUNCTION(name, pixels, kind, 6)
#define LINE_ENTRY(name, pixels, kind)                         \
  {name##_##pixels##_##kind##_1, name##_##pixels##_##kind##_2, \
   name##_##pixels##_##kind##_3, name##_##pixels##_##kind##_4, \
   name##_##pixels##_##kind##_5, name##_##pixels##_##kind##_6}
#define LINE_JOINED_ENTRY(name, kind) [kind] = {{0}, {0}, {0}, LINE_ENTRY(name, 4, kind)}
/* Neighbours and pixels that share a window. */
#define LINE_SHARED_FUNCTIONS(name, kind) \
  LINE_FUNCTIONS(name, 3, kind)           \
  LINE_FUNCTIONS(name, 4, kind)
#define LINE_SHARED_ENTRY(name, kind) \
  [kind] = {{0}, {0}, LINE_ENTRY(name, 3, kind), LINE_ENTRY(name, 4, kind)}
#define LINE_KINDS(name, neighbours, shared) \
  LINE_FUNCTIONS(name, 1, neighbours)        \
  LINE_FUNCTIONS(name, 2, neighbours)        \
  LINE_FUNCTIONS(name, 3, neighbours)        \
  LINE_FUNCTIONS(name, 4, neighbours)        \
  LINE_SHARED_FUNCTIONS(name, shared)
#define LINE_ENTRIES(name, neighbours, shared)                                       \
  [neighbours] = {LINE_ENTRY(name, 1, neighbours), LINE_ENTRY(name, 2, neighbours),  \
                  LINE_ENTRY(name, 3, neighbours), LINE_ENTRY(name, 4, neighbours)}, \
  LINE_SHARED_ENTRY(name, shared)
/* clang-format on */

#endif /* MLUOP_FAMILIES_CARAFE_LINE_TABLE_H_ */
