/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_FLOAT_STATE_H_
#define MLUOP_CORE_FLOAT_STATE_H_

/* The floating-point state that a program starts with: rounding to nearest, subnormal numbers as
   they are, no exception interrupts. Each thread has a state of its own, and the application may
   have changed that of some. Whatever computes with floats does it between these two functions. */

#include <stdint.h>

struct mluop_float_state {
  uint64_t control, flags;
};

#if defined(__x86_64__)

#include <xmmintrin.h>

/* Control and flags are one register here. */
static inline struct mluop_float_state mluop_floats(void) {
  return (struct mluop_float_state){_mm_getcsr(), 0};
}

static inline struct mluop_float_state mluop_enter_floats(void) {
  const struct mluop_float_state found = mluop_floats();
  _mm_setcsr(0x1f80);
  return found;
}

static inline void mluop_leave_floats(struct mluop_float_state found) {
  _mm_setcsr((unsigned)found.control);
}

#elif defined(__aarch64__)

static inline struct mluop_float_state mluop_floats(void) {
  struct mluop_float_state found;
  __asm__ volatile("mrs %0, fpcr" : "=r"(found.control));
  __asm__ volatile("mrs %0, fpsr" : "=r"(found.flags));
  return found;
}

static inline struct mluop_float_state mluop_enter_floats(void) {
  const struct mluop_float_state found = mluop_floats();
  __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)) : "memory");
  return found;
}

static inline void mluop_leave_floats(struct mluop_float_state found) {
  __asm__ volatile("msr fpcr, %0" : : "r"(found.control) : "memory");
  __asm__ volatile("msr fpsr, %0" : : "r"(found.flags) : "memory");
}

#else
#error "no floating-point state known for this processor"
#endif

#endif /* MLUOP_CORE_FLOAT_STATE_H_ */
