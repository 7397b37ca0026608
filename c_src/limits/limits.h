/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_LIMITS_LIMITS_H_
#define MLUOP_LIMITS_LIMITS_H_

/* What a machine can do at most, for `pymluops bench`: in the Python extension, not in the library.

   A limit is a loop of one thread. It is built for each instruction set, like a kernel. */

#include <stdint.h>

enum mluop_limit {
  MLUOP_LIMIT_FMA,         /* fused multiply-adds, in registers; a product and a sum without FMA */
  MLUOP_LIMIT_READ,        /* loads of the whole memory */
  MLUOP_LIMIT_FILL,        /* stores to the whole memory */
  MLUOP_LIMIT_FILL_STREAM, /* the same past the caches */
  MLUOP_LIMIT_COPY,        /* from the first half of the memory to the second */
  MLUOP_LIMIT_COPY_STREAM  /* the same past the caches */
};

/* `memory` is aligned to 64 bytes, `floats` a multiple of 256. Returns what was done:
   floating-point operations of MLUOP_LIMIT_FMA (`memory` is not used), bytes read and written of
   the others. */
typedef double mluop_limit_loop(enum mluop_limit what, float *memory, int64_t floats,
                                int64_t repeats);

/* The same by the name of the instruction set; -1 if there is none of that name. */
double mluop_limit_of(const char *isa, int what, float *memory, int64_t floats, int64_t repeats);

#endif /* MLUOP_LIMITS_LIMITS_H_ */
