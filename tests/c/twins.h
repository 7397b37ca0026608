/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_TWINS_H_
#define MLUOP_TESTS_TWINS_H_

/* A tensor that exists twice with the same values: for the library, in the type under test, and in
   float32 for the plain loops that its results are compared with. The memory has no byte to spare,
   so that memory checkers see each access outside. */

#include <stddef.h>
#include <stdint.h>

#include "mlu_op.h"

/* Declares a plain loop of a family, which is built under a name of its own. */
#define PLAIN(name) extern __typeof__(mluOp##name) plain##name

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

struct twin twin_nhwc(mluOpDataType_t dtype, int n, int h, int w, int c);
struct twin twin_nhwc_output(mluOpDataType_t dtype, int n, int h, int w, int c);
struct twin twin_array(mluOpDataType_t dtype, int a, int b, int c, int d);

#define TWINS_FREE(...)                           \
  twins_free((struct twin *const[]){__VA_ARGS__}, \
             (int)(sizeof((struct twin *const[]){__VA_ARGS__}) / sizeof(struct twin *)))
void twins_free(struct twin *const *twins, int count);

/* Sets element i of both. */
void twin_set(struct twin *twin, int64_t i, double value);

/* Whether the two are the same to the bit (of floats), or nearly: both sums of differences (of
   absolute values, of squares), relative to the plain one, at most `limit`. */
int twin_same(const struct twin *twin);
int twin_near(const struct twin *twin, double limit);

/* Whether they are as near as the contract asks for. The plain loops round as the kernels do, hence
   not the tighter limits of the tests in Python. */
int twin_close(const struct twin *twin);

/* A random integer in [low, high], and a random number in [low, high). */
int random_int(int low, int high);
double random_real(double low, double high);

/* A number of channels, often one at the edge of a vector or a block of them. */
int random_channels(void);

/* Makes rows that end with a box: corners anywhere on and around the map, also inverted; where rows
   have five numbers, the first is that of an image. */
void twin_set_boxes(struct twin *boxes, int row, int images, int h, int w);

#endif /* MLUOP_TESTS_TWINS_H_ */
