/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CNRT_H_
#define CNRT_H_

/** The queue type that `mlu_op.h` needs. A queue is opaque; NULL is the default queue. */
typedef struct cnrtQueue *cnrtQueue_t;

#endif /* CNRT_H_ */
