/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_CALLS_H_
#define MLUOP_TESTS_CALLS_H_

/* A valid call of each operator function, for tests of what all of them have in common. A family
   describes its own in tests/<family>/calls.c. */

#include <stddef.h>
#include <stdint.h>

#include "check.h"
#include "mlu_op.h"

enum call_size {
  CALL_TINY, /* the least that does something */
  CALL_WIDE  /* enough work for several threads */
};

struct call;

/* The number of operator functions, and the API name of each. */
int call_count(void);
const char *call_name(int index);

/* Makes the tensors of a call. NULL without memory. */
struct call *call_prepare(int index, enum call_size size);
void call_release(struct call *call);

mluOpStatus_t call_run(mluOpHandle_t handle, struct call *call);

/* Fills the outputs with bytes that no operator writes everywhere. */
void call_spoil_outputs(struct call *call);

/* A number that is the same when all bytes of the outputs are. */
uint64_t call_digest(const struct call *call);

/* ------------------------------------------------------------- what a family describes */

enum { CALL_MAX_TENSORS = 10, CALL_MAX_WORKSPACE = 1 << 22, FAMILY_MAX_CALLS = 8 };

struct call_kind {
  const char *name;
  void (*make)(struct call *call);
  mluOpStatus_t (*run)(mluOpHandle_t handle, struct call *call);
};

struct family_calls {
  /* Its own descriptor, if it has one. */
  mluOpStatus_t (*create)(void **object);
  mluOpStatus_t (*destroy)(void *object);
  /* Ends with an empty entry. */
  struct call_kind calls[FAMILY_MAX_CALLS + 1];
};

/* Every family that is built, by its name; ends with NULL. */
struct named_family {
  const char *name;
  const struct family_calls *calls;
};
extern const struct named_family families[];

struct tensor {
  mluOpTensorDescriptor_t desc;
  void *data;
  size_t bytes;
  int output;
};

struct call {
  const struct family_calls *family;
  const struct call_kind *kind;
  int wide;
  int count;
  struct tensor t[CALL_MAX_TENSORS];
  void *object; /* the family's own descriptor */
  void *workspace;
  int failed;
};

#define D(i) call->t[i].desc
#define P(i) call->t[i].data
#define DP(i) call->t[i].desc, call->t[i].data

struct spec {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int dims[4];
  int rank;
};

#define NHWC(n, h, w, c) \
  { MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, {n, h, w, c}, 4 }
#define NCHW(n, c, h, w) \
  { MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, {n, c, h, w}, 4 }
#define ARRAY2(a, b) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b}, 2 }
#define ARRAY3(a, b, c) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b, c}, 3 }
#define ARRAY4(a, b, c, d) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_FLOAT, {a, b, c, d}, 4 }
#define INDICES(n) \
  { MLUOP_LAYOUT_ARRAY, MLUOP_DTYPE_INT32, {n}, 1 }

/* Adds a tensor of small values: floats in [-1, 1), or zeros for integers. */
struct tensor *call_add(struct call *call, struct spec spec, int output);
struct tensor *call_input(struct call *call, struct spec spec);
struct tensor *call_output(struct call *call, struct spec spec);

/* Makes rows of `width` numbers of which the last four are a box inside [0, extent). */
void call_fill_boxes(struct tensor *boxes, int width, float extent);

#endif /* MLUOP_TESTS_CALLS_H_ */
