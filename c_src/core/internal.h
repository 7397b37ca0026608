/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_INTERNAL_H_
#define MLUOP_CORE_INTERNAL_H_

/* What the core offers to the operators in c_src/families. The core itself knows no operator. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library is built with hidden visibility; exactly what these headers declare is exported. */
#pragma GCC visibility push(default)
#include "mlu_op.h"
#include "mlu_op_cpu.h"
#pragma GCC visibility pop

#include "core/arena.h"
#include "core/interrupt.h"
#include "core/kernel.h"

struct mluOpContext {
  int isa; /* the instruction set chosen by mluOpCreate: where its variant is in every kernel */
  const char *isa_name;
  int vector_floats; /* in a vector of it */
  bool isa_is_asked; /* by MLUOP_CPU_ISA: no other one is used, also where it would be faster */
  cnrtQueue_t queue;
  mluOpAtomicsMode_t atomics_mode;
  mluOpQuantizeRoundMode_t round_mode;
  int num_threads;  /* 0: the default */
  int most_threads; /* as it was when the handle was made: scratch is laid out by it */
  int64_t late;     /* nanoseconds that a team was waited for in vain, last: see parallel.c */
  int64_t waited;   /* of all teams, less a tenth of the work since */
  mluop_kernel *long_kernel; /* of a job that took longer alone than the wait; or NULL */
  int64_t cache_share;       /* see mluop_exceeds_caches */
  void *scratch;             /* see mluop_scratch */
  size_t scratch_size;
  int small_calls; /* in a row: see mluop_begin_call */
  struct mluop_interrupt interrupt;
  char forced_ways[128]; /* MLUOP_CPU_KERNEL */
};

/* Extents and strides of up to MLUOP_DIM_MAX dims stand in the descriptor itself; for more, `dims`
   points to one allocation of 2 * capacity numbers, the strides behind the extents. */
struct mluOpTensorStruct {
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  mluOpDataType_t onchip_dtype;
  mluOpPointerMode_t pointer_mode;
  int position;
  float scale;
  int offset;
  int dim_nb;
  int capacity;
  int64_t element_num;
  int64_t *dims;
  int64_t *strides;
  int64_t inline_dims[2 * MLUOP_DIM_MAX];
};

/* error.c: the only formatter of error texts. `text` follows "[api] " in the message. Returns
   `status`. */
mluOpStatus_t mluop_fail(mluOpStatus_t status, const char *api, const char *text, ...)
    __attribute__((format(printf, 3, 4)));

/* BAD_PARAM, with the message that the argument `name` is NULL. */
mluOpStatus_t mluop_null_argument(const char *api, const char *name);

/* A line for the logger that is no error of a call: the text of the last one stays. */
void mluop_log(mluOpCpuLogLevel_t level, const char *message);

/* names.c: how enumerators are spelled in messages; never NULL. */
const char *mluop_layout_name(mluOpTensorLayout_t layout);
const char *mluop_dtype_name(mluOpDataType_t dtype);
size_t mluop_dtype_size(mluOpDataType_t dtype); /* 0 for INVALID and unknown values */
bool mluop_layout_known(mluOpTensorLayout_t layout);
bool mluop_dtype_known(mluOpDataType_t dtype); /* INVALID is known */

/* descriptor.c */
bool mluop_tensor_contiguous(const struct mluOpTensorStruct *desc);

/* The last dim whose stride is not that of a contiguous tensor, and that stride; -1 if there is
   none. */
int mluop_strided_dim(const struct mluOpTensorStruct *desc, int64_t *expected);

/* The word in a message behind a number of dims. */
static inline const char *mluop_dims(int number) { return number == 1 ? "dim" : "dims"; }

/* Checks the arguments of a Set and reserves what it needs: afterwards that Set cannot fail. */
mluOpStatus_t mluop_prepare_descriptor(const char *api, mluOpTensorDescriptor_t desc,
                                       mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                       int dim_nb, const int *dims);

/* isa.c: stores in the handle the best instruction set that this CPU has, or the one that the
   environment variable MLUOP_CPU_ISA names. On failure a message has been left. */
mluOpStatus_t mluop_choose_isa(const char *api, mluOpHandle_t handle);

/* isa.c: the instruction set for a kernel that works on runs of so many floats, 0 for long ones.
   Where half a vector of the best set holds a run, the next set takes as many steps, and each is
   cheaper: fewer loads cross a line of the cache, and the compiler has fewer registers to move
   integers into. */
int mluop_isa_for_run(mluOpHandle_t handle, int64_t floats);

/* cache.c: the bytes of the last-level cache that a call may count on: half of it, at most 48 MiB.
   The environment variable MLUOP_CPU_CACHE_BYTES takes the place of its size. On failure a message
   has been left. */
mluOpStatus_t mluop_choose_cache_share(const char *api, int64_t *share);

/* Whether a call that reads and writes so many bytes needs more than that. Then its results are
   written past the caches, and what it needs next is worth a prefetch. This changes no bit of a
   result. */
bool mluop_exceeds_caches(mluOpHandle_t handle, int64_t bytes);

/* handle.c: memory that stays with the handle, aligned to 64 bytes, uninitialised, and valid until
   the next call with this handle. NULL when there is none (no message is left). */
void *mluop_scratch(mluOpHandle_t handle, size_t bytes);

/* handle.c: the arguments of an operator have been accepted. Gives back scratch that is large and
   far more than the last calls have needed. */
void mluop_begin_call(mluOpHandle_t handle);

/* parallel.c */
enum mluop_schedule {
  MLUOP_STATIC,  /* one range per thread: even work, and each thread keeps its part of the caches */
  MLUOP_DYNAMIC, /* grains of `grain` items, taken as threads become free: uneven work */
  /* Both: grains, first those of the thread's own range, and then what is left of the others.
     Memory that one thread has written costs another two to four times as much to write. */
  MLUOP_STEAL
};

struct mluop_job {
  mluop_kernel *kernel;
  const void *args;
  int64_t count; /* the kernel is called on disjoint ranges that make up [0, count) */
  int64_t grain; /* items that are worth waking a thread for: see mluop_grain */
  enum mluop_schedule schedule;
  int64_t run;           /* floats that lie side by side: see mluop_isa_for_run */
  int64_t piece;         /* items that are done between two looks at the clock, at first and at
                            least: see mluop_piece; 0: what `grain` says of them */
  size_t scratch_bytes;  /* that each thread needs: see mluop_reserve, which sets what follows */
  void *scratch;         /* thread t of the job works in scratch + t * scratch_stride */
  size_t scratch_stride; /* a multiple of 64 */
};

/* Runs a job to its end, in the floating-point state that a program starts with. If the call is
   interrupted (mluop_is_stopped), items are left undone: nothing may depend on them. What an item
   computes must not depend on the range it came in: that makes results independent of the number of
   threads. */
void mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job);

/* The most threads that a job with this handle is run by: at least 1. */
int mluop_num_threads(mluOpHandle_t handle);

/* Costs are times of one thread, in picoseconds. */
enum { MLUOP_NANOSECOND = 1000, MLUOP_SHARE_COST = 20000 * MLUOP_NANOSECOND };
static const int64_t MLUOP_PIECE_COST = (int64_t)4000000 * MLUOP_NANOSECOND;

/* Items that are worth waking a thread for: as many as take MLUOP_SHARE_COST, but one at least. */
static inline int64_t mluop_grain(int64_t item_cost) {
  return mluop_max(1, MLUOP_SHARE_COST / mluop_max(1, item_cost));
}

/* Items that are worth a start of the kernel, and that take no longer than an interrupt may. */
static inline int64_t mluop_piece(int64_t item_cost) {
  return mluop_max(1, MLUOP_PIECE_COST / mluop_max(1, item_cost));
}

/* The threads that a job is run by, at most. */
static inline int64_t mluop_workers(mluOpHandle_t handle, const struct mluop_job *job) {
  return mluop_min(mluop_num_threads(handle), mluop_div_up(job->count, job->grain));
}

/* job.c: scratch memory for a job: `shared` bytes, which are returned, and scratch_bytes for each
   of its threads. Threads are MLUOP_THREAD_GAP apart, by memory that nobody touches: prefetches of
   the CPU run ahead of what a thread reads, and would take lines away that the next one writes.
   NULL without memory. */
enum { MLUOP_THREAD_GAP = 1 << 16 };

void *mluop_reserve(mluOpHandle_t handle, size_t shared, struct mluop_job *job);

/* The ways to do an operator are a list, read from top to bottom: the first is taken that can do
   the call and pays. The last one, without conditions, does every call. Conditions see what is
   called and the machine: instruction set, threads, caches. */
typedef bool mluop_condition(const void *args, mluOpHandle_t machine);

struct mluop_way {
  const char *name;
  mluop_condition *can, *pays; /* NULL: always */
  /* Sets the plan in `args`, and count, grain, schedule, run and scratch_bytes of the job. */
  void (*plan)(void *args, mluOpHandle_t machine, struct mluop_job *job);
  mluop_kernel *const *kernel;
};

/* Takes a way, and plans a job of it. */
void mluop_plan(mluOpHandle_t handle, const char *operator_name, const struct mluop_way *ways,
                void *args, struct mluop_job *job);

/* For tests: MLUOP_CPU_KERNEL="thing_forward=general;thing_backward=small" takes the ways
   with these names wherever they can do the call, whether they pay or not. */
mluOpStatus_t mluop_read_forced_ways(const char *api, mluOpHandle_t handle);

#endif /* MLUOP_CORE_INTERNAL_H_ */
