/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CNRT_RUNTIME_H_
#define CNRT_RUNTIME_H_

/* What the parts of the host runtime share. */

#include <stdbool.h>

/* The library is built with hidden visibility; exactly what these headers declare is exported. */
#pragma GCC visibility push(default)
#include "cn_api.h"
#include "cnrt.h"
#pragma GCC visibility pop

/* Leaves an error as the last one of this thread (success leaves it alone) and returns it. */
cnrtRet_t cnrt_result(cnrtRet_t result);

/* ------------------------------------------------------------------------------- registry.c:
   every allocation and every handle that is alive, so that wrong use can be told from right. */

enum cnrt_kind { CNRT_DEVICE_MEMORY, CNRT_HOST_MEMORY, CNRT_QUEUE, CNRT_NOTIFIER, CNRT_CONTEXT };

/* Allocates and registers an object, aligned to 64 bytes. Stores it only on success. */
cnrtRet_t cnrt_new(void **object, size_t bytes, enum cnrt_kind kind);

/* Unregisters and frees an object. cnrtErrorArgsInvalid if it is not alive. */
cnrtRet_t cnrt_delete(void *object, enum cnrt_kind kind);

/* Whether `object` is the address of a live object of that kind. */
bool cnrt_alive(const void *object, enum cnrt_kind kind);

/* How an area of memory lies to the device's memory: areas of 1 byte or more. */
enum cnrt_place { CNRT_OUTSIDE, CNRT_INSIDE, CNRT_ACROSS };
enum cnrt_place cnrt_place(const void *area, size_t bytes);

/* While the registry is locked, no object dies. */
void cnrt_lock(void);
void cnrt_unlock(void);
bool cnrt_alive_locked(const void *object, enum cnrt_kind kind);

/* -------------------------------------------------------------------------- queue.c, device.c */

/* Whether a queue is alive; NULL, the default queue, always is. */
cnrtRet_t cnrt_check_queue(cnrtQueue_t queue);

/* Bytes of memory that the computer has. */
uint64_t cnrt_total_memory(void);

#endif /* CNRT_RUNTIME_H_ */
