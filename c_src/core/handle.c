/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "internal.h"
#include "threads.h"

enum {
  SCRATCH_ALIGNMENT = 64,
  /* Scratch of this size is kept whatever is needed of it. */
  SMALL_SCRATCH = 1 << 20,
  /* Larger scratch is given back when so many checks in a row found no need for a quarter of it. */
  SMALL_CALLS = 16
};

mluOpStatus_t mluOpCreate(mluOpHandle_t *handle) {
  static const char api[] = "mluOpCreate";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  struct mluOpContext initial = {.atomics_mode = MLUOP_ATOMICS_NOT_ALLOWED,
                                 .round_mode = MLUOP_ROUND_HALF_TO_EVEN};
  mluOpStatus_t status = mluop_choose_isa(api, &initial);
  if (status == MLUOP_STATUS_SUCCESS) {
    status = mluop_choose_cache_share(api, &initial.cache_share);
  }
  if (status == MLUOP_STATUS_SUCCESS) status = mluop_read_forced_ways(api, &initial);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  struct mluOpContext *context = malloc(sizeof(*context));
  if (context == NULL) {
    return mluop_fail(MLUOP_STATUS_ALLOC_FAILED, api, "no memory for a handle");
  }
  initial.most_threads = mluop_most_threads();
  *context = initial;
  *handle = context;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroy(mluOpHandle_t handle) {
  if (handle == NULL) return mluop_null_argument("mluOpDestroy", "handle");
  free(handle->scratch);
  free(handle);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpUpdateContextInformation(mluOpHandle_t handle) {
  if (handle == NULL) return mluop_null_argument("mluOpUpdateContextInformation", "handle");
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetQueue(mluOpHandle_t handle, cnrtQueue_t queue) {
  if (handle == NULL) return mluop_null_argument("mluOpSetQueue", "handle");
  handle->queue = queue;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetQueue(mluOpHandle_t handle, cnrtQueue_t *queue) {
  static const char api[] = "mluOpGetQueue";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (queue == NULL) return mluop_null_argument(api, "queue");
  *queue = handle->queue;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t atomics_mode) {
  static const char api[] = "mluOpSetAtomicsMode";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (atomics_mode != MLUOP_ATOMICS_NOT_ALLOWED && atomics_mode != MLUOP_ATOMICS_ALLOWED) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "atomics_mode is %d, expected MLUOP_ATOMICS_NOT_ALLOWED (1) or "
                      "MLUOP_ATOMICS_ALLOWED (2)",
                      (int)atomics_mode);
  }
  handle->atomics_mode = atomics_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetAtomicsMode(mluOpHandle_t handle, mluOpAtomicsMode_t *atomics_mode) {
  static const char api[] = "mluOpGetAtomicsMode";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (atomics_mode == NULL) return mluop_null_argument(api, "atomics_mode");
  *atomics_mode = handle->atomics_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpSetQuantizeRoundMode(mluOpHandle_t handle, mluOpQuantizeRoundMode_t round_mode) {
  static const char api[] = "mluOpSetQuantizeRoundMode";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  const int mode = (int)round_mode;
  if (mode < MLUOP_ROUND_HALF_TO_EVEN || mode > MLUOP_ROUND_HALF_OFF_ZERO) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "round_mode is %d, expected MLUOP_ROUND_HALF_TO_EVEN (0) to "
                      "MLUOP_ROUND_HALF_OFF_ZERO (2)",
                      mode);
  }
  handle->round_mode = round_mode;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpGetQuantizeRoundMode(mluOpHandle_t handle,
                                        mluOpQuantizeRoundMode_t *round_mode) {
  static const char api[] = "mluOpGetQuantizeRoundMode";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (round_mode == NULL) return mluop_null_argument(api, "round_mode");
  *round_mode = handle->round_mode;
  return MLUOP_STATUS_SUCCESS;
}

void mluOpGetLibVersion(int *major, int *minor, int *patch) {
  if (major != NULL) *major = MLUOP_MAJOR;
  if (minor != NULL) *minor = MLUOP_MINOR;
  if (patch != NULL) *patch = MLUOP_PATCHLEVEL;
}

mluOpStatus_t mluOpCpuSetNumThreads(mluOpHandle_t handle, int num_threads) {
  static const char api[] = "mluOpCpuSetNumThreads";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (num_threads < 0) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "num_threads is %d, expected 0 or more",
                      num_threads);
  }
  if (num_threads != handle->num_threads) handle->waited = 0;
  handle->num_threads = num_threads;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpCpuGetNumThreads(mluOpHandle_t handle, int *num_threads) {
  static const char api[] = "mluOpCpuGetNumThreads";
  if (handle == NULL) return mluop_null_argument(api, "handle");
  if (num_threads == NULL) return mluop_null_argument(api, "num_threads");
  *num_threads = mluop_num_threads(handle);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpCpuEndThreads(void) {
  if (mluop_end_threads()) return MLUOP_STATUS_SUCCESS;
  return mluop_fail(MLUOP_STATUS_NOT_SUPPORTED, "mluOpCpuEndThreads",
                    "called inside a parallel region, expected a call outside");
}

const char *mluOpCpuGetIsaName(mluOpHandle_t handle) {
  if (handle == NULL) {
    mluop_null_argument("mluOpCpuGetIsaName", "handle");
    return NULL;
  }
  return handle->isa_name;
}

const char *mluOpCpuGetVersion(void) { return MLUOP_CPU_VERSION; }

#ifdef __clang__
#define COMPILER "clang "
#else
#define COMPILER "gcc "
#endif

const char *mluOpCpuGetBuildInfo(void) {
  return COMPILER __VERSION__ ", " MLUOP_CPU_BUILD_TYPE ", " MLUOP_CPU_BUILD_KIND;
}

static void free_scratch(mluOpHandle_t handle) {
  free(handle->scratch);
  handle->scratch = NULL;
  handle->scratch_size = 0;
}

void mluop_begin_call(mluOpHandle_t handle) {
  mluop_begin_interruptible(&handle->interrupt);
  if (handle->scratch_size <= SMALL_SCRATCH) return;
  if (handle->small_calls++ >= SMALL_CALLS) free_scratch(handle);
}

void *mluop_scratch(mluOpHandle_t handle, size_t bytes) {
  if (bytes > handle->scratch_size / 4) handle->small_calls = 0;
  if (handle->scratch != NULL && bytes <= handle->scratch_size) return handle->scratch;
  if (bytes < SCRATCH_ALIGNMENT) bytes = SCRATCH_ALIGNMENT; /* none at all is no failure */
  free_scratch(handle);
  if (posix_memalign(&handle->scratch, SCRATCH_ALIGNMENT, bytes) != 0) {
    handle->scratch = NULL;
    return NULL;
  }
  handle->scratch_size = bytes;
  return handle->scratch;
}
