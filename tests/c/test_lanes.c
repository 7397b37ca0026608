/* SPDX-License-Identifier: Apache-2.0 */
/* No lane of a vector computes on memory that nobody wrote. Scratch memory and the stack are full
   of signalling NaNs when a kernel begins: computing on one sets the flag of invalid operations,
   which finite data never does. The linker sends jobs and scratch memory through the functions
   below (--wrap). */
#define _POSIX_C_SOURCE 200809L
#include <fenv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core/internal.h"

enum { ROUNDS = 60, STACK_WORDS = 1 << 14 };

static const uint32_t signalling_nan = 0x7fa00000;

static int raised;
static void *poisoned;

static void fill(uint32_t *words, size_t count) {
  for (size_t i = 0; i < count; i++) words[i] = signalling_nan;
}

static __attribute__((noinline)) void poison_stack(void) {
  uint32_t words[STACK_WORDS];
  fill(words, STACK_WORDS);
  __asm__ volatile("" : : "r"(words) : "memory");
}

void *__wrap_mluop_scratch(mluOpHandle_t handle, size_t bytes);
void __wrap_mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job);

void *__wrap_mluop_scratch(mluOpHandle_t handle, size_t bytes) {
  (void)handle;
  free(poisoned);
  poisoned = NULL;
  const size_t whole = (bytes / 64 + 1) * 64;
  if (posix_memalign(&poisoned, 64, whole) != 0) return poisoned = NULL;
  fill(poisoned, whole / sizeof(uint32_t));
  return poisoned;
}

/* Two ranges on one thread, so that the second finds what the first has left. */
void __wrap_mluop_parallel_for(mluOpHandle_t handle, const struct mluop_job *job) {
  (void)handle;
  const int64_t half = job->count / 2;
  for (int part = 0; part < 2; part++) {
    const int64_t begin = part == 0 ? 0 : half, end = part == 0 ? half : job->count;
    if (begin == end) continue;
    poison_stack();
    feclearexcept(FE_ALL_EXCEPT);
    job->kernel(job->args, begin, end, job->scratch);
    raised |= fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  }
}

static mluOpHandle_t handle_for(const char *isa) {
  mluOpHandle_t handle = NULL;
  setenv("MLUOP_CPU_ISA", isa, 1);
  if (mluOpCreate(&handle) != MLUOP_STATUS_SUCCESS) return NULL; /* not on this CPU */
  OK(mluOpCpuSetNumThreads(handle, 1));
  return handle;
}

static void random_calls(mluOpHandle_t handle, const char *isa, const struct named_family *family) {
  static const mluOpDataType_t dtypes[] = {MLUOP_DTYPE_FLOAT, MLUOP_DTYPE_HALF};
  for (int i = 0; family->calls->values[i] != NULL; i++) {
    for (int round = 0; round < ROUNDS; round++) {
      raised = 0;
      family->calls->values[i](handle, dtypes[round % 2]);
      if (CHECK_EQ(0, raised)) continue;
      CHECK_TEXT(isa, family->name); /* says which */
      break;
    }
  }
}

/* A compiler may compute what it then throws away, and set the flag. GCC does so where it optimises
   less and adds the checks of sanitizers; Clang makes shifts of integers out of conversions of
   floats where the CPU has no such shifts. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const char *const isas[] = {NULL};
#elif defined(__clang__)
static const char *const isas[] = {"avx512", "avx2", "neon", NULL};
#else
static const char *const isas[] = {"avx512", "avx2", "baseline", "neon", NULL};
#endif

static void lanes_compute_on_what_was_written(void) {
  hostile_values = 0;
  for (int i = 0; isas[i] != NULL; i++) {
    mluOpHandle_t handle = handle_for(isas[i]);
    if (handle == NULL) continue;
    for (const struct named_family *family = families; family->name != NULL; family++) {
      random_calls(handle, isas[i], family);
    }
    OK(mluOpDestroy(handle));
  }
  free(poisoned);
  poisoned = NULL;
}

static const struct test tests[] = {TEST(lanes_compute_on_what_was_written)};
RUN_TESTS(tests)
