/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_CORE_CONTRACT_H_
#define MLUOP_CORE_CONTRACT_H_

/* The checks of an operator are a table of rules. They are walked in order; the first one that does
   not hold decides the status and the message. */

#include "core/internal.h"

enum {
  MLUOP_MAX_TENSORS = 10,
  MLUOP_MAX_SCALARS = 12,
  MLUOP_MAX_OBJECTS = 4,
  MLUOP_MAX_NUMBERS = 4 /* of an array */
};

/* A set of tensors of a call: MLUOP_BIT(index) | ... */
#define MLUOP_BIT(tensor) (1u << (tensor))
#define MLUOP_ALL 0xffffu /* every tensor that the call has */

struct mluop_tensor {
  const char *name; /* as the caller knows it; its descriptor is called <name>_desc */
  mluOpTensorDescriptor_t desc;
  const void *data;
  bool output;
  bool optional; /* absent when its descriptor is NULL: then no rule looks at it */
};

/* An argument that is a number, or a short array of integers such as pad[4]. Made by mluop_integer,
   mluop_real and mluop_integers. */
struct mluop_scalar {
  const char *name;
  int count; /* of numbers: 1, if it is no array */
  bool is_real;
  union {
    int64_t integer;
    float real; /* converted nowhere: a CPU that flushes subnormal numbers leaves it as it is */
    int array[MLUOP_MAX_NUMBERS];
  } as;
};

/* A pointer argument that is neither handle nor tensor: what a Create function made, or memory. */
struct mluop_object {
  const char *name;
  const void *pointer;
  enum { MLUOP_MEMORY, MLUOP_PARAMETERS } kind; /* PARAMETERS: a struct mluop_parameters */
  bool output;                                  /* memory that is written */
  size_t bytes;                                 /* of memory: what CHECK_OVERLAP looks at */
};

/* The arguments of one API call, in the words of its rules. Inputs stand in the order of the API's
   parameters, and so do outputs. */
struct mluop_call {
  const char *api;
  /* How a case of it is written: the operator's name, the name of the block of its parameters, and
     scalars that have another name there, or none, since checks have computed them: "thing_forward
     thing_param size=max_size extent=". NULL: a call that is not captured. */
  const char *gen_case;
  mluOpHandle_t handle;
  struct mluop_tensor
      tensors[MLUOP_MAX_TENSORS]; /* looked at in this order; unused ones have no name */
  struct mluop_scalar scalars[MLUOP_MAX_SCALARS];
  struct mluop_object objects[MLUOP_MAX_OBJECTS];
  const void *workspace;
  size_t workspace_size;   /* what the caller gave */
  size_t workspace_needed; /* may be set by a CHECK_FUNCTION before CHECK_WORKSPACE */
  int64_t letters[26];     /* extents bound by CHECK_SHAPE; read them with mluop_extent */
  uint32_t letters_bound;
  int8_t letters_from[26]; /* the tensor that each was bound by, counted from 1; 0: by none */
  int64_t captured_at;     /* microseconds, part of the name of the case; 0: there is none */
  long outputs_at;         /* where outputs begin in the case */
};

struct mluop_rule;

/* A rule of its own kind. True if it holds; otherwise it has stored the status to return, by
   mluop_fail for an error, or MLUOP_STATUS_SUCCESS to end the call early. */
typedef bool mluop_rule_function(struct mluop_call *call, const struct mluop_rule *rule,
                                 mluOpStatus_t *status);

enum mluop_check {
  CHECK_END,        /* ends the table */
  CHECK_HANDLE,     /* the handle is not NULL */
  CHECK_OBJECT,     /* no object, or the object named `text`, is NULL; the values of parameters
                       become scalars of the call */
  CHECK_SET,        /* parameters have been set */
  CHECK_DESC,       /* descriptors are not NULL */
  CHECK_EMPTY,      /* no tensor is empty; with status SUCCESS an empty one ends the call */
  CHECK_RANK,       /* tensors have `value` dims */
  CHECK_LAYOUT,     /* tensors have the layout `value` */
  CHECK_CONTIGUOUS, /* tensors have no gaps */
  CHECK_DTYPE,      /* tensors have the data type `value` */
  CHECK_FLOATING,   /* tensors are half or float */
  CHECK_SAME_DTYPE, /* tensors have the data type of tensor `value` */
  CHECK_SHAPE,      /* extents are those that `text` says, see below */
  CHECK_ELEMENTS,   /* fewer than 2^31 elements */
  CHECK_GIVEN,      /* data pointers are not NULL */
  CHECK_DATA,       /* data pointers are not NULL, and aligned to their elements */
  CHECK_COMPLETE,   /* optional tensors have descriptor and data, or none of them */
  CHECK_TOGETHER,   /* optional tensors are there if tensor `value` is, and only then */
  CHECK_MIN,        /* the scalar named `text` (of an array each number) is at least `value` */
  CHECK_MAX,        /* ... at most `value` */
  CHECK_ODD,        /* ... odd */
  CHECK_EQUAL,      /* ... equal to `value` */
  CHECK_NUMBER,     /* ... not NaN */
  CHECK_WORKSPACE,  /* the workspace is there and large enough */
  CHECK_OVERLAP,    /* no output shares bytes with another tensor or the workspace, nor does the
                       workspace with an input where `value` is not 0: the last rule of an operator,
                       behind which a call begins, and is captured */
  CHECK_FUNCTION    /* what `function` says */
};

/* CHECK_SHAPE: `text` has one word per dim. A word is a product, written with '*', of numbers,
   names of scalars (of an array with the index, pad[0]) and capital letters. A letter is bound
   where it first occurs, by exact division if it has factors, and compared from then on. "group|C"
   is a letter that must be a multiple of group. Every tensor of the rule must have this shape. An
   extent that is not a product gets a name: a CHECK_FUNCTION before computes it, and adds it to the
   scalars of the call by mluop_add_scalar. */
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

/* contract_shape.c: CHECK_SHAPE for these tensors. */
bool mluop_check_shapes(struct mluop_call *call, const struct mluop_rule *rule, unsigned tensors,
                        mluOpStatus_t *status);

/* contract_scalar.c */
static inline struct mluop_scalar mluop_integer(const char *name, int64_t value) {
  return (struct mluop_scalar){.name = name, .count = 1, .as.integer = value};
}

static inline struct mluop_scalar mluop_real(const char *name, float value) {
  return (struct mluop_scalar){.name = name, .count = 1, .is_real = true, .as.real = value};
}

/* NULL is an array of zeros: an object of the same name tells. */
struct mluop_scalar mluop_integers(const char *name, const int *array, int count);

/* Those of an array with names. */
void mluop_add_scalars(struct mluop_call *call, const struct mluop_scalar *scalars, int count);

static inline void mluop_add_scalar(struct mluop_call *call, struct mluop_scalar scalar) {
  mluop_add_scalars(call, &scalar, 1);
}

/* Returns where the name ends, NULL if the call has no such number. The name ends with its text or
   before a '*', a '|' or a space; that of an array has an index of one digit: pad[0]. */
const char *mluop_find_integer(const struct mluop_call *call, const char *name, int64_t *value);

/* The number, or the numbers, of a scalar that the call has. */
int64_t mluop_integer_of(const struct mluop_call *call, const char *name);
const int *mluop_integers_of(const struct mluop_call *call, const char *name);
float mluop_real_of(const struct mluop_call *call, const char *name);

/* CHECK_MIN to CHECK_NUMBER. What was never set counts as 0. */
bool mluop_check_scalar(const struct mluop_call *call, const struct mluop_rule *rule,
                        mluOpStatus_t *status);

/* parameters.c: descriptors of operators, mluOpXxxDescriptor_t. Each is a struct whose only member
   is a struct mluop_parameters, so that a pointer to one is a pointer to the other. They belong to
   their caller: no function but Set and Destroy changes them. */
struct mluop_parameters {
  bool is_set;
  struct mluop_scalar scalars[MLUOP_MAX_SCALARS]; /* those of the Set function */
};

/* What Create stores in *where; NULL if that cannot be, and *status is what to return. */
void *mluop_create_parameters(const char *api, const char *name, const void *where,
                              mluOpStatus_t *status);
mluOpStatus_t mluop_destroy_parameters(const char *api, const char *name, void *parameters);

/* Keeps the scalars of a Set call in its first object, once its rules hold. */
void mluop_set_parameters(void *parameters, const struct mluop_call *call);

/* gen_case.c: what operators are called with becomes a test case, if that is asked for. */
extern int mluop_gen_case_mode; /* 0, or see enum mluop_case_mode */

void mluop_begin_case(struct mluop_call *call);
void mluop_end_case(const struct mluop_call *call);

/* The status of a call that has been interrupted; leaves the message. */
mluOpStatus_t mluop_fail_interrupted(const struct mluop_call *call);

/* What an operator returns once its outputs are written: they go into its case, if there is one. */
static inline mluOpStatus_t mluop_end_call(const struct mluop_call *call, mluOpStatus_t status) {
  if (status != SUCCESS) return status;
  if (mluop_is_stopped(&call->handle->interrupt)) return mluop_fail_interrupted(call);
  if (call->captured_at != 0) mluop_end_case(call);
  return SUCCESS;
}

static inline int64_t mluop_extent(const struct mluop_call *call, char letter) {
  return call->letters[letter - 'A'];
}

static inline bool mluop_is_half(const struct mluop_call *call, int tensor) {
  return call->tensors[tensor].desc->dtype == MLUOP_DTYPE_HALF;
}

/* The bytes of all its tensors. */
int64_t mluop_tensor_bytes(const struct mluop_call *call);

/* The status of a call whose kernels found no memory to work in; leaves the message. */
mluOpStatus_t mluop_no_scratch(const struct mluop_call *call);

#endif /* MLUOP_CORE_CONTRACT_H_ */
