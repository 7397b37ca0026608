/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_CONTRACT_H_
#define MLUOP_CORE_CONTRACT_H_

/* The checks of an operator are a table of rules. They are walked in order; the first one that does
   not hold decides the status and the message. */

#include "core/internal.h"

enum { MLUOP_MAX_TENSORS = 6, MLUOP_MAX_SCALARS = 6 };

/* A set of tensors of a call: MLUOP_BIT(index) | ... */
#define MLUOP_BIT(tensor) (1u << (tensor))
#define MLUOP_ALL 0xffu /* every tensor that the call has */

struct mluop_tensor {
  const char *name; /* as the caller knows it; its descriptor is called <name>_desc */
  mluOpTensorDescriptor_t desc;
  const void *data;
  bool output;
  bool optional; /* absent when its descriptor is NULL: then no rule looks at it */
};

struct mluop_scalar {
  const char *name;
  int64_t value;
};

/* The arguments of one API call, in the words of its rules. */
struct mluop_call {
  const char *api;
  mluOpHandle_t handle;
  struct mluop_tensor
      tensors[MLUOP_MAX_TENSORS]; /* looked at in this order; unused ones have no name */
  struct mluop_scalar scalars[MLUOP_MAX_SCALARS];
  const char *object_name; /* a pointer argument that is neither handle nor tensor */
  const void *object;
  const void *workspace;
  size_t workspace_size;   /* what the caller gave */
  size_t workspace_needed; /* may be set by a CHECK_FUNCTION before CHECK_WORKSPACE */
  int64_t letters[26];     /* extents bound by CHECK_SHAPE; read them with mluop_extent */
  uint32_t letters_bound;
};

struct mluop_rule;

/* A rule of its own kind. True if it holds; otherwise it has stored the status to return, by
   mluop_fail for an error, or MLUOP_STATUS_SUCCESS to end the call early. */
typedef bool mluop_rule_function(struct mluop_call *call, const struct mluop_rule *rule,
                                 mluOpStatus_t *status);

enum mluop_check {
  CHECK_END,        /* ends the table */
  CHECK_HANDLE,     /* the handle is not NULL */
  CHECK_OBJECT,     /* `object` is not NULL */
  CHECK_DESC,       /* descriptors are not NULL */
  CHECK_EMPTY,      /* no tensor is empty; with status SUCCESS an empty one ends the call */
  CHECK_RANK,       /* tensors have `value` dims */
  CHECK_LAYOUT,     /* tensors have the layout `value` */
  CHECK_CONTIGUOUS, /* tensors are packed */
  CHECK_DTYPE,      /* tensors have the data type `value` */
  CHECK_FLOATING,   /* tensors are half or float */
  CHECK_SAME_DTYPE, /* tensors have the data type of tensor `value` */
  CHECK_SHAPE,      /* extents are those that `text` says, see below */
  CHECK_ELEMENTS,   /* fewer than 2^31 elements */
  CHECK_DATA,       /* data pointers are not NULL, and aligned to their elements */
  CHECK_MIN,        /* the scalar named `text` is at least `value` */
  CHECK_MAX,        /* ... at most `value` */
  CHECK_ODD,        /* ... odd */
  CHECK_EQUAL,      /* ... equal to `value` */
  CHECK_WORKSPACE,  /* the workspace is there and large enough */
  CHECK_OVERLAP,    /* no output shares bytes with another tensor or the workspace */
  CHECK_FUNCTION    /* what `function` says */
};

/* CHECK_SHAPE: `text` has one word per dim. A word is a product, written with '*', of numbers,
   names of scalars and capital letters. A letter is bound where it first occurs, by exact division
   if it has factors, and compared from then on. Every tensor of the rule must have this shape. */
struct mluop_rule {
  enum mluop_check check;
  mluOpStatus_t status;
  unsigned tensors;
  const char *text;
  int64_t value;
  mluop_rule_function *function;
};

#define BAD_PARAM MLUOP_STATUS_BAD_PARAM
#define NOT_SUPPORTED MLUOP_STATUS_NOT_SUPPORTED
#define SUCCESS MLUOP_STATUS_SUCCESS

/* True if every rule holds. Otherwise *status is what the API function returns. */
bool mluop_contract_holds(struct mluop_call *call, const struct mluop_rule *rules,
                          mluOpStatus_t *status);

/* contract_shape.c: CHECK_SHAPE for one tensor. */
bool mluop_check_shape(struct mluop_call *call, const struct mluop_rule *rule,
                       const struct mluop_tensor *tensor, mluOpStatus_t *status);

/* NULL if the call has no such scalar. */
const struct mluop_scalar *mluop_find_scalar(const struct mluop_call *call, const char *name,
                                             size_t length);

static inline int64_t mluop_extent(const struct mluop_call *call, char letter) {
  return call->letters[letter - 'A'];
}

static inline bool mluop_is_half(const struct mluop_call *call, int tensor) {
  return call->tensors[tensor].desc->dtype == MLUOP_DTYPE_HALF;
}

/* The status of a call whose kernels found no memory to work in; leaves the message. */
mluOpStatus_t mluop_no_scratch(const struct mluop_call *call, size_t bytes);

#endif /* MLUOP_CORE_CONTRACT_H_ */
