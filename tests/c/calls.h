/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_CALLS_H_
#define MLUOP_TESTS_CALLS_H_

/* A valid call of each operator function, for tests of what all of them have in common. */

#include <stdint.h>

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

#endif /* MLUOP_TESTS_CALLS_H_ */
