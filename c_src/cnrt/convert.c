/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/half.h"
#include "runtime.h"

cnrtRet_t cnrtConvertHalfToFloat(float *f, uint16_t h) {
  if (f == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  *f = mluop_half_to_float(h);
  return cnrtSuccess;
}

cnrtRet_t cnrtConvertFloatToHalf(uint16_t *h, float f) {
  if (h == NULL) return cnrt_result(cnrtErrorArgsInvalid);
  *h = mluop_float_to_half(f);
  return cnrtSuccess;
}

/* Bytes of a type that can be converted, or 0. */
static size_t type_size(cnrtDataType_t type) {
  if (type == CNRT_FLOAT32) return sizeof(float);
  return type == CNRT_FLOAT16 ? sizeof(uint16_t) : 0;
}

cnrtRet_t cnrtCastDataType(void *src, cnrtDataType_t src_type, void *dst, cnrtDataType_t dst_type,
                           int count, cnrtQuantizedParam_t param) {
  if (src == NULL || dst == NULL || count < 0) return cnrt_result(cnrtErrorArgsInvalid);
  if (param != NULL || type_size(src_type) == 0 || type_size(dst_type) == 0) {
    return cnrt_result(cnrtErrorNotSupport);
  }
  if (src_type == dst_type) {
    memmove(dst, src, (size_t)count * type_size(src_type));
  } else if (src_type == CNRT_FLOAT32) {
    const float *from = src;
    uint16_t *to = dst;
    for (int i = 0; i < count; i++) to[i] = mluop_float_to_half(from[i]);
  } else {
    const uint16_t *from = src;
    float *to = dst;
    for (int i = 0; i < count; i++) to[i] = mluop_half_to_float(from[i]);
  }
  return cnrtSuccess;
}
