/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

/* The last error belongs to its thread. */
__extension__ static __thread cnrtRet_t last_error = cnrtSuccess;

cnrtRet_t cnrt_result(cnrtRet_t result) {
  if (result != cnrtSuccess) last_error = result;
  return result;
}

cnrtRet_t cnrtPeekAtLastError(void) { return last_error; }

cnrtRet_t cnrtGetLastError(void) {
  const cnrtRet_t error = last_error;
  last_error = cnrtSuccess;
  return error;
}

static const struct error {
  cnrtRet_t code;
  const char *name;
  const char *text;
} errors[] = {
    {cnrtSuccess, "cnrtSuccess", "success"},
    {cnrtErrorArgsInvalid, "cnrtErrorArgsInvalid", "invalid argument"},
    {cnrtErrorNoMem, "cnrtErrorNoMem", "out of memory"},
    {cnrtErrorNoDevice, "cnrtErrorNoDevice", "no such device"},
    {cnrtErrorSys, "cnrtErrorSys", "error of the operating system"},
    {cnrtErrorNotReady, "cnrtErrorNotReady", "not ready"},
    {cnrtErrorNotSupport, "cnrtErrorNotSupport", "not supported"},
    {cnrtErrorInit, "cnrtErrorInit", "not initialised"},
    {cnrtErrorDeviceInvalid, "cnrtErrorDeviceInvalid", "invalid device"},
    {cnrtErrorUnknown, "cnrtErrorUnknown", "unknown error"},
};

static const struct error *find_error(cnrtRet_t code) {
  enum { COUNT = sizeof(errors) / sizeof(errors[0]) };
  for (int i = 0; i < COUNT - 1; i++) {
    if (errors[i].code == code) return &errors[i];
  }
  return &errors[COUNT - 1];
}

const char *cnrtGetErrorName(cnrtRet_t error_code) { return find_error(error_code)->name; }
const char *cnrtGetErrorStr(cnrtRet_t error_code) { return find_error(error_code)->text; }
