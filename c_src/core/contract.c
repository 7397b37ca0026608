/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"

#include <inttypes.h>
#include <string.h>

/* The first element count that no operator accepts. */
static const int64_t element_limit = INT64_C(1) << 31;

/* The tensors that rules look at: optional ones that are absent are left out. */
static unsigned present(const struct mluop_call *call) {
  unsigned found = 0;
  for (int i = 0; i < MLUOP_MAX_TENSORS && call->tensors[i].name != NULL; i++) {
    if (call->tensors[i].desc != NULL || !call->tensors[i].optional) found |= MLUOP_BIT(i);
  }
  return found;
}

/* ---------------------------------------------------------------------- rules about tensors */

static bool fail(mluOpStatus_t *status, mluOpStatus_t value) {
  *status = value;
  return false;
}

static bool check_same_dtype(const struct mluop_call *call, const struct mluop_rule *rule,
                             const struct mluop_tensor *tensor, mluOpStatus_t *status) {
  const struct mluop_tensor *other = &call->tensors[rule->value];
  if (tensor->desc->dtype == other->desc->dtype) return true;
  return fail(status,
              mluop_fail(rule->status, call->api, "%s: dtype is %s, expected %s, the dtype of %s",
                         tensor->name, mluop_dtype_name(tensor->desc->dtype),
                         mluop_dtype_name(other->desc->dtype), other->name));
}

static bool check_contiguous(const struct mluop_call *call, const struct mluop_rule *rule,
                             const struct mluop_tensor *tensor, mluOpStatus_t *status) {
  int64_t expected;
  const int dim = mluop_strided_dim(tensor->desc, &expected);
  if (dim < 0) return true;
  return fail(status,
              mluop_fail(rule->status, call->api,
                         "%s is not contiguous: stride of dim %d is %" PRId64 ", expected %" PRId64,
                         tensor->name, dim, tensor->desc->strides[dim], expected));
}

static bool check_data(const struct mluop_call *call, const struct mluop_rule *rule,
                       const struct mluop_tensor *tensor, mluOpStatus_t *status) {
  if (tensor->data == NULL) {
    return fail(status, mluop_fail(rule->status, call->api, "%s is NULL", tensor->name));
  }
  /* Kernels read and write elements, some of them by whole cache lines from where an element is. */
  const size_t size = mluop_dtype_size(tensor->desc->dtype);
  const size_t remainder = (uintptr_t)tensor->data & (size - 1);
  if (remainder == 0) return true;
  return fail(status, mluop_fail(rule->status, call->api,
                                 "%s is not aligned: its address is a multiple of %zu plus %zu, "
                                 "expected a multiple of %zu, the size of an element",
                                 tensor->name, size, remainder, size));
}

static bool check_tensor(const struct mluop_call *call, const struct mluop_rule *rule,
                         const struct mluop_tensor *tensor, mluOpStatus_t *status) {
  const struct mluOpTensorStruct *desc = tensor->desc;
  const mluOpStatus_t error = rule->status;
  const char *api = call->api, *name = tensor->name;
  switch (rule->check) {
    case CHECK_DESC:
      return desc != NULL || fail(status, mluop_fail(error, api, "%s_desc is NULL", name));
    case CHECK_EMPTY:
      if (desc->element_num != 0) return true;
      return fail(status,
                  error == SUCCESS
                      ? SUCCESS
                      : mluop_fail(error, api, "%s is empty, expected 1 element or more", name));
    case CHECK_RANK:
      return desc->dim_nb == rule->value ||
             fail(status, mluop_fail(error, api, "%s has %d %s, expected %" PRId64, name,
                                     desc->dim_nb, mluop_dims(desc->dim_nb), rule->value));
    case CHECK_LAYOUT:
      return desc->layout == (mluOpTensorLayout_t)rule->value ||
             fail(status, mluop_fail(error, api, "%s: layout is %s, expected %s", name,
                                     mluop_layout_name(desc->layout),
                                     mluop_layout_name((mluOpTensorLayout_t)rule->value)));
    case CHECK_CONTIGUOUS:
      return check_contiguous(call, rule, tensor, status);
    case CHECK_DTYPE:
      return desc->dtype == (mluOpDataType_t)rule->value ||
             fail(status, mluop_fail(error, api, "%s: dtype is %s, expected %s", name,
                                     mluop_dtype_name(desc->dtype),
                                     mluop_dtype_name((mluOpDataType_t)rule->value)));
    case CHECK_FLOATING:
      return desc->dtype == MLUOP_DTYPE_HALF || desc->dtype == MLUOP_DTYPE_FLOAT ||
             fail(status,
                  mluop_fail(error, api, "%s: dtype is %s, expected %s or %s", name,
                             mluop_dtype_name(desc->dtype), mluop_dtype_name(MLUOP_DTYPE_HALF),
                             mluop_dtype_name(MLUOP_DTYPE_FLOAT)));
    case CHECK_SAME_DTYPE:
      return check_same_dtype(call, rule, tensor, status);
    case CHECK_ELEMENTS:
      return desc->element_num < element_limit ||
             fail(status,
                  mluop_fail(error, api, "%s has %" PRId64 " elements, expected fewer than 2^31",
                             name, desc->element_num));
    case CHECK_GIVEN:
      return tensor->data != NULL || fail(status, mluop_fail(error, api, "%s is NULL", name));
    default: /* CHECK_DATA */
      return check_data(call, rule, tensor, status);
  }
}

static bool check_tensors(const struct mluop_call *call, const struct mluop_rule *rule,
                          unsigned tensors, mluOpStatus_t *status) {
  for (unsigned left = rule->tensors & tensors; left != 0; left &= left - 1) {
    if (!check_tensor(call, rule, &call->tensors[__builtin_ctz(left)], status)) return false;
  }
  return true;
}

/* A rule about tensors that may be absent. */
static bool check_optional(const struct mluop_call *call, const struct mluop_rule *rule,
                           mluOpStatus_t *status) {
  const struct mluop_tensor *other = &call->tensors[rule->value];
  for (int i = 0; i < MLUOP_MAX_TENSORS && call->tensors[i].name != NULL; i++) {
    const struct mluop_tensor *tensor = &call->tensors[i];
    if ((rule->tensors & MLUOP_BIT(i)) == 0 || !tensor->optional) continue;
    const bool complete = rule->check == CHECK_COMPLETE;
    const bool here = complete ? tensor->data != NULL : tensor->desc != NULL;
    const bool there = complete ? tensor->desc != NULL : other->desc != NULL;
    if (here == there) continue;
    return fail(status,
                mluop_fail(rule->status, call->api, "%s is %s, but %s%s is %s", tensor->name,
                           here ? "given" : "NULL", complete ? tensor->name : other->name,
                           complete ? "_desc" : "", there ? "given" : "NULL"));
  }
  return true;
}

/* --------------------------------------------------------------------- rules about pointers */

static bool check_workspace(const struct mluop_call *call, const struct mluop_rule *rule,
                            mluOpStatus_t *status) {
  if (call->workspace == NULL && call->workspace_size > 0) {
    return fail(status,
                mluop_fail(rule->status, call->api, "workspace is NULL, but workspace_size is %zu",
                           call->workspace_size));
  }
  if (call->workspace_size < call->workspace_needed) {
    return fail(status,
                mluop_fail(rule->status, call->api, "workspace_size is %zu, expected at least %zu",
                           call->workspace_size, call->workspace_needed));
  }
  return true;
}

/* No object, or not the one that the rule names, is NULL. */
static bool check_objects(struct mluop_call *call, const struct mluop_rule *rule,
                          mluOpStatus_t *status) {
  for (int i = 0; i < MLUOP_MAX_OBJECTS && call->objects[i].name != NULL; i++) {
    const struct mluop_object *object = &call->objects[i];
    if (rule->text != NULL && strcmp(rule->text, object->name) != 0) continue;
    const struct mluop_parameters *parameters = object->pointer;
    if (rule->check == CHECK_OBJECT && object->pointer == NULL) {
      return fail(status, mluop_fail(rule->status, call->api, "%s is NULL", object->name));
    }
    if (object->kind != MLUOP_PARAMETERS) continue;
    if (rule->check == CHECK_SET && !parameters->is_set) {
      return fail(status, mluop_fail(rule->status, call->api, "%s has not been set", object->name));
    }
    if (rule->check == CHECK_OBJECT) {
      mluop_add_scalars(call, parameters->scalars, MLUOP_MAX_SCALARS);
    }
  }
  return true;
}

struct bytes {
  const char *name;
  uintptr_t begin;
  size_t size;
};

static bool overlap(const struct bytes *a, const struct bytes *b) {
  if (a->size == 0 || b->size == 0) return false;
  return a->begin < b->begin ? b->begin - a->begin < a->size : a->begin - b->begin < b->size;
}

/* Bytes from the first element to the end of the last one. */
static size_t reach(const struct mluOpTensorStruct *desc) {
  if (desc->element_num == 0) return 0;
  int64_t elements = 1;
  for (int i = 0; i < desc->dim_nb; i++) elements += (desc->dims[i] - 1) * desc->strides[i];
  return (size_t)elements * mluop_dtype_size(desc->dtype);
}

/* Sizes are sane here: CHECK_ELEMENTS and a check of strides have gone before. */
static bool check_overlap(const struct mluop_call *call, const struct mluop_rule *rule,
                          unsigned tensors, mluOpStatus_t *status) {
  struct bytes all[MLUOP_MAX_TENSORS + MLUOP_MAX_OBJECTS + 1];
  int count = 0;
  unsigned outputs = 0;
  for (unsigned left = tensors; left != 0; left &= left - 1) {
    const struct mluop_tensor *tensor = &call->tensors[__builtin_ctz(left)];
    if (tensor->output) outputs |= 1u << count;
    all[count++] = (struct bytes){tensor->name, (uintptr_t)tensor->data, reach(tensor->desc)};
  }
  for (int i = 0; i < MLUOP_MAX_OBJECTS && call->objects[i].name != NULL; i++) {
    const struct mluop_object *object = &call->objects[i];
    if (object->output) outputs |= 1u << count;
    all[count++] = (struct bytes){object->name, (uintptr_t)object->pointer, object->bytes};
  }
  if (call->workspace != NULL) {
    if (rule->value != 0) outputs |= 1u << count;
    all[count++] = (struct bytes){"workspace", (uintptr_t)call->workspace, call->workspace_size};
  }
  for (int i = 0; i < count; i++) {
    if ((outputs >> i & 1u) == 0) continue;
    for (int j = 0; j < count; j++) {
      if (i == j || !overlap(&all[i], &all[j])) continue;
      return fail(status, mluop_fail(rule->status, call->api,
                                     "%s (%zu bytes) overlaps %s (%zu bytes), expected separate "
                                     "memory",
                                     all[i].name, all[i].size, all[j].name, all[j].size));
    }
  }
  return true;
}

/* Behind the last rule of an operator: its arguments have been accepted. */
static void accept(struct mluop_call *call) {
  mluop_begin_call(call->handle);
  if (__atomic_load_n(&mluop_gen_case_mode, __ATOMIC_RELAXED) != 0) mluop_begin_case(call);
}

static bool check_rule(struct mluop_call *call, const struct mluop_rule *rule, unsigned tensors,
                       mluOpStatus_t *status) {
  switch (rule->check) {
    case CHECK_HANDLE:
      return call->handle != NULL ||
             fail(status, mluop_fail(rule->status, call->api, "handle is NULL"));
    case CHECK_OBJECT:
    case CHECK_SET:
      return check_objects(call, rule, status);
    case CHECK_COMPLETE:
    case CHECK_TOGETHER:
      return check_optional(call, rule, status);
    case CHECK_MIN:
    case CHECK_MAX:
    case CHECK_ODD:
    case CHECK_EQUAL:
    case CHECK_NUMBER:
      return mluop_check_scalar(call, rule, status);
    case CHECK_SHAPE:
      return mluop_check_shapes(call, rule, rule->tensors & tensors, status);
    case CHECK_WORKSPACE:
      return check_workspace(call, rule, status);
    case CHECK_OVERLAP:
      if (!check_overlap(call, rule, tensors, status)) return false;
      accept(call);
      return true;
    case CHECK_FUNCTION:
      return rule->function(call, rule, status);
    default:
      return check_tensors(call, rule, tensors, status);
  }
}

bool mluop_contract_holds(struct mluop_call *call, const struct mluop_rule *rules,
                          mluOpStatus_t *status) {
  const unsigned tensors = present(call);
  *status = SUCCESS;
  for (const struct mluop_rule *rule = rules; rule->check != CHECK_END; rule++) {
    if (!check_rule(call, rule, tensors, status)) return false;
  }
  return true;
}

int64_t mluop_tensor_bytes(const struct mluop_call *call) {
  int64_t bytes = 0;
  for (int i = 0; i < MLUOP_MAX_TENSORS; i++) {
    const struct mluOpTensorStruct *desc = call->tensors[i].desc;
    if (desc != NULL) bytes += desc->element_num * (int64_t)mluop_dtype_size(desc->dtype);
  }
  return bytes;
}

mluOpStatus_t mluop_fail_interrupted(const struct mluop_call *call) {
  return mluop_fail(MLUOP_STATUS_EXECUTION_FAILED, call->api,
                    "interrupted, what the outputs hold is undefined");
}

mluOpStatus_t mluop_no_scratch(const struct mluop_call *call) {
  return mluop_fail(MLUOP_STATUS_ALLOC_FAILED, call->api, "not enough memory for temporary data");
}
