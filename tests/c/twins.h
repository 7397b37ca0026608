/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_TWINS_H_
#define MLUOP_TESTS_TWINS_H_

/* A tensor that exists twice with the same values: for the library, in the type under test, and in
   float32 for the plain loops that its results are compared with. The memory has no byte to spare,
   so that memory checkers see each access outside. */

#include <stddef.h>
#include <stdint.h>

#include "mlu_op.h"

/* The plain loops of the families, built under these names. */
#define PLAIN(name) extern __typeof__(mluOp##name) plain##name
PLAIN(CreateCarafeDescriptor);
PLAIN(SetCarafeDescriptor);
PLAIN(DestroyCarafeDescriptor);
PLAIN(CarafeForward);
PLAIN(CarafeBackward);
PLAIN(PsamaskForward);
PLAIN(PsamaskBackward);
PLAIN(DeformRoiPoolForward);
PLAIN(DeformRoiPoolBackward);
PLAIN(BorderAlignForward);
PLAIN(BorderAlignBackward);
PLAIN(MaskedIm2colForward);
PLAIN(MaskedCol2imForward);

struct twin {
  mluOpDataType_t dtype;
  int64_t count;
  mluOpTensorDescriptor_t desc, plain_desc;
  void *data, *plain;
};

#define OURS(twin) (twin).desc, (twin).data
#define THEIRS(twin) (twin).plain_desc, (twin).plain

/* A tensor of random values in [-1, 1) (integers: of zeros); an output has a value that no formula
   gives instead. Unused dims are 0. */
struct twin twin_new(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dims[4]);
struct twin twin_output(mluOpTensorLayout_t layout, mluOpDataType_t dtype, const int dims[4]);
void twin_free(struct twin *twin);

/* Sets element i of both. */
void twin_set(struct twin *twin, int64_t i, double value);

/* Whether the two are the same to the bit (of floats), or nearly: both sums of differences (of
   absolute values, of squares), relative to the plain one, at most `limit`. */
int twin_same(const struct twin *twin);
int twin_near(const struct twin *twin, double limit);

/* A random integer in [low, high], and a random number in [low, high). */
int random_int(int low, int high);
double random_real(double low, double high);

#endif /* MLUOP_TESTS_TWINS_H_ */
