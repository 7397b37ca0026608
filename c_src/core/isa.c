/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Which instruction sets this CPU runs. One function for each name in MLUOP_ISAS, which CMake
   writes from c_src/cmake/isa.cmake, best first; a build may have fewer. */
#define ASKED_FOR_OR_NOT __attribute__((unused))

#if defined(__x86_64__)
#include <cpuid.h>

/* Clang's and old GCC's __builtin_cpu_supports do not know F16C. The operating system saves its
   registers wherever it saves those of AVX2. */
static ASKED_FOR_OR_NOT bool has_f16c(void) {
#if defined(__clang__) || __GNUC__ < 11
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (unsigned)bit_F16C) != 0;
#else
  return __builtin_cpu_supports("f16c");
#endif
}

static ASKED_FOR_OR_NOT bool runs_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2") && has_f16c();
}

static ASKED_FOR_OR_NOT bool runs_avx512(void) {
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

#if defined(__aarch64__)
static ASKED_FOR_OR_NOT bool runs_neon(void) { return true; }
#else
static ASKED_FOR_OR_NOT bool runs_baseline(void) { return true; }
#endif

#define ENTRY(isa, floats, runs) {#isa, floats, runs##_##isa},

static const struct {
  const char *name;
  int vector_floats;
  bool (*runs)(void);
} isas[] = {MLUOP_ISAS(ENTRY, runs)};

enum { ISA_COUNT = sizeof(isas) / sizeof(isas[0]) };

mluOpStatus_t mluop_choose_isa(const char *api, mluOpHandle_t handle) {
  const char *wanted = getenv("MLUOP_CPU_ISA");
  if (wanted != NULL && *wanted == '\0') wanted = NULL;
  for (int i = 0; i < ISA_COUNT; i++) {
    if (wanted != NULL && strcmp(wanted, isas[i].name) != 0) continue;
    if (!isas[i].runs()) continue;
    handle->isa = i;
    handle->isa_name = isas[i].name;
    handle->vector_floats = isas[i].vector_floats;
    handle->isa_is_asked = wanted != NULL;
    return MLUOP_STATUS_SUCCESS;
  }
  return mluop_fail(
      MLUOP_STATUS_ARCH_MISMATCH, api,
      "MLUOP_CPU_ISA is \"%s\", expected one that this CPU and this build support: %s",
      wanted != NULL ? wanted : "", mluOpCpuGetSupportedIsas());
}

/* The baseline has vectors of 4, but cannot fuse multiplications and additions. */
enum { LEAST_VECTOR_FLOATS = 8 };

int mluop_isa_for_run(mluOpHandle_t handle, int64_t floats) {
  const int next = handle->isa + 1;
  if (floats == 0 || handle->isa_is_asked || next == ISA_COUNT) return handle->isa;
  const int next_floats = isas[next].vector_floats;
  return next_floats >= LEAST_VECTOR_FLOATS && floats <= next_floats ? next : handle->isa;
}

const char *mluOpCpuGetSupportedIsas(void) {
  /* Since better sets imply the lesser ones, the answer is a tail of the list of all: an empty one
     where a build with few of them meets a CPU that has none of these. */
#define SPACED(isa, floats, separator) separator #isa
  static const char all[] = MLUOP_ISAS(SPACED, " ");
  size_t skipped = 0;
  for (int i = 0; i < ISA_COUNT && !isas[i].runs(); i++) skipped += strlen(isas[i].name) + 1;
  return all + skipped + (all[skipped] == ' ');
}
