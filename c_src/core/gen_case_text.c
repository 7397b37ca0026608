/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gen_case.h"
#include "core/half.h"

/* A case in the text form of Protocol Buffers: see docs/cases.md. */

/* "MLUOP_LAYOUT_NHWC" is LAYOUT_NHWC in a case. */
static const char *bare(const char *enumerator) { return enumerator + strlen("MLUOP_"); }

/* -------------------------------------------------------------------------------- parameters */

/* Behind the operator's name, `gen_case` names the block of its parameters, and then the scalars
   that have another name in a case, or none: "thing thing_param size=max_size extent=". */
static const char *other_name(const struct mluop_call *call, const char *scalar) {
  const size_t length = strlen(scalar);
  for (const char *at = strchr(call->gen_case, ' '); at != NULL; at = strchr(at, ' ')) {
    at++;
    if (strncmp(at, scalar, length) == 0 && at[length] == '=') return at + length + 1;
  }
  return NULL;
}

static void write_name(FILE *file, const char *other, const char *scalar) {
  if (other != NULL) {
    fprintf(file, "%.*s", (int)strcspn(other, " "), other);
    return;
  }
  for (; *scalar != '\0'; scalar++) {
    const bool upper = *scalar >= 'A' && *scalar <= 'Z';
    fputc(upper ? *scalar - 'A' + 'a' : *scalar, file);
  }
}

static void write_real(FILE *file, double value) {
  if (isfinite(value)) {
    fprintf(file, "%.9g", value); /* nine digits are every float exactly */
  } else {
    fputs(value != value ? "nan" : value > 0 ? "inf" : "-inf", file);
  }
}

static void write_scalar(FILE *file, const struct mluop_call *call,
                         const struct mluop_scalar *scalar) {
  const char *other = other_name(call, scalar->name);
  if (other != NULL && (*other == ' ' || *other == '\0')) return;
  for (int i = 0; i < scalar->count; i++) {
    fputs("  ", file);
    write_name(file, other, scalar->name);
    fputs(": ", file);
    if (scalar->is_real) {
      write_real(file, (double)scalar->as.real);
    } else {
      const int64_t value = scalar->count > 1 ? scalar->as.array[i] : scalar->as.integer;
      fprintf(file, "%" PRId64, value);
    }
    fputc('\n', file);
  }
}

static void write_parameters(FILE *file, const struct mluop_call *call) {
  const char *block = call->gen_case + mluop_case_name_length(call);
  if (*block == '\0') return;
  block++;
  fprintf(file, "%.*s {\n", (int)strcspn(block, " "), block);
  for (int i = 0; i < MLUOP_MAX_SCALARS && call->scalars[i].name != NULL; i++) {
    write_scalar(file, call, &call->scalars[i]);
  }
  fputs("}\n", file);
}

/* ------------------------------------------------------------------------------------ values */

static bool is_floating(mluOpDataType_t dtype) {
  return dtype == MLUOP_DTYPE_HALF || dtype == MLUOP_DTYPE_FLOAT || dtype == MLUOP_DTYPE_DOUBLE ||
         dtype == MLUOP_DTYPE_BFLOAT16;
}

/* The bits of an element, the sign of an integer carried on. */
static int64_t element_of(const void *data, mluOpDataType_t dtype, int64_t i) {
  const size_t size = mluop_dtype_size(dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)data + (size_t)i * size, size); /* both CPUs are little-endian */
  switch (dtype) {
    case MLUOP_DTYPE_INT8:
      return (int8_t)bits;
    case MLUOP_DTYPE_INT16:
      return (int16_t)bits;
    case MLUOP_DTYPE_INT32:
      return (int32_t)bits;
    default:
      return (int64_t)bits;
  }
}

static double real_of(const void *data, mluOpDataType_t dtype, int64_t i) {
  const uint64_t bits = (uint64_t)element_of(data, dtype, i);
  double value;
  switch (dtype) {
    case MLUOP_DTYPE_HALF:
      return (double)mluop_half_to_float((uint16_t)bits);
    case MLUOP_DTYPE_BFLOAT16:
      return (double)mluop_float_of_bits((uint32_t)bits << 16);
    case MLUOP_DTYPE_FLOAT:
      return (double)mluop_float_of_bits((uint32_t)bits);
    default:
      memcpy(&value, &bits, sizeof(value));
      return value;
  }
}

/* The field of a tensor that holds integers of this type. */
static const char *integer_field(mluOpDataType_t dtype) {
  switch (dtype) {
    case MLUOP_DTYPE_INT64:
      return "value_l";
    case MLUOP_DTYPE_UINT64:
      return "value_ul";
    case MLUOP_DTYPE_UINT32:
      return "value_ui";
    default:
      return "value_i";
  }
}

static void write_values(FILE *file, const struct mluop_tensor *tensor,
                         enum mluop_case_values how) {
  const mluOpDataType_t dtype = tensor->desc->dtype;
  for (int64_t i = 0; i < tensor->desc->element_num && !ferror(file); i++) {
    const int64_t element = element_of(tensor->data, dtype, i);
    if (!is_floating(dtype) && dtype == MLUOP_DTYPE_UINT64) {
      fprintf(file, "  value_ul: %" PRIu64 "\n", (uint64_t)element);
    } else if (!is_floating(dtype)) {
      fprintf(file, "  %s: %" PRId64 "\n", integer_field(dtype), element);
    } else if (how == MLUOP_VALUES_BITS) {
      fprintf(file, "  value_h: \"%" PRIx64 "\"\n", (uint64_t)element);
    } else {
      fputs("  value_f: ", file);
      write_real(file, real_of(tensor->data, dtype, i));
      fputc('\n', file);
    }
  }
}

/* The raw elements, in a file beside the case, which names it. */
static bool write_raw(const struct mluop_case_file *to, const struct mluop_tensor *tensor,
                      int index) {
  const size_t stem = strlen(to->path) - strlen(".prototxt");
  char path[1792];
  snprintf(path, sizeof(path), "%.*s_data%d_%s", (int)stem, to->path, index,
           tensor->output ? "output" : "input");
  fprintf(to->file, "  path: \"%s\"\n", strrchr(path, '/') + 1);
  FILE *raw = fopen(path, "wbe");
  if (raw == NULL) return false;
  const size_t count = (size_t)tensor->desc->element_num;
  const bool written =
      fwrite(tensor->data, mluop_dtype_size(tensor->desc->dtype), count, raw) == count;
  if (fclose(raw) == 0 && written) return true;
  remove(path);
  return false;
}

/* ----------------------------------------------------------------------------------- tensors */

static void write_descriptor(FILE *file, const struct mluop_tensor *tensor) {
  const struct mluOpTensorStruct *desc = tensor->desc;
  fprintf(file, "%s {\n  id: \"%s\"\n  shape {\n", tensor->output ? "output" : "input",
          tensor->name);
  if (desc->dim_nb == 0) fprintf(file, "    dims: %" PRId64 "\n", desc->element_num); /* a scalar */
  for (int i = 0; i < desc->dim_nb; i++) fprintf(file, "    dims: %" PRId64 "\n", desc->dims[i]);
  if (!mluop_tensor_contiguous(desc)) {
    for (int i = 0; i < desc->dim_nb; i++) {
      fprintf(file, "    dim_stride: %" PRId64 "\n", desc->strides[i]);
    }
  }
  fprintf(file, "  }\n  layout: %s\n  dtype: %s\n", bare(mluop_layout_name(desc->layout)),
          bare(mluop_dtype_name(desc->dtype)));
}

static bool write_tensor(const struct mluop_case_file *to, const struct mluop_tensor *tensor,
                         int index) {
  const enum mluop_case_values how = tensor->output ? to->outputs : to->inputs;
  bool written = true;
  write_descriptor(to->file, tensor);
  if (how == MLUOP_VALUES_NONE && !tensor->output) {
    /* Numbers from 0 to 1 are valid in every operator, as indices and as regions too. */
    fputs(
        "  random_data {\n    seed: 233\n    distribution: UNIFORM\n    lower_bound: 0\n"
        "    upper_bound: 1\n  }\n",
        to->file);
  } else if (how != MLUOP_VALUES_NONE && to->path != NULL) {
    written = write_raw(to, tensor, index);
  } else if (how != MLUOP_VALUES_NONE) {
    write_values(to->file, tensor, how);
  }
  fputs("}\n", to->file);
  return written;
}

bool mluop_write_case_tensors(const struct mluop_case_file *to, const struct mluop_call *call,
                              bool outputs) {
  for (int i = 0; i < MLUOP_MAX_TENSORS && call->tensors[i].name != NULL; i++) {
    const struct mluop_tensor *tensor = &call->tensors[i];
    if (tensor->desc == NULL || tensor->output != outputs) continue;
    if (!write_tensor(to, tensor, i)) return false;
  }
  return true;
}

void mluop_write_case(const struct mluop_case_file *to, const struct mluop_call *call) {
  static const char *const modes[] = {"ROUND_TO_EVEN", "ROUND_HALF_UP", "ROUND_OFF_ZERO"};
  fprintf(to->file, "op_name: \"%.*s\"\n", (int)mluop_case_name_length(call), call->gen_case);
  write_parameters(to->file, call);
  fprintf(to->file, "handle_param {\n  round_mode: %s\n}\n", modes[call->handle->round_mode]);
}
