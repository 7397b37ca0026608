/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_TESTS_FUZZ_FUZZ_H_
#define MLUOP_TESTS_FUZZ_FUZZ_H_

/* Fuzzing of operators. tests/<family>/fuzz.c says how an input becomes a valid call of each
   operator of the family; all else is common:

   - One or two defects are added to one input out of five: descriptors, data, numbers.
   - Each tensor lies between forbidden pages, against one of them, and outputs and scratch memory
     are full of a pattern. Instruction set, way, size of the cache, threads and how a job is cut
     are choices of the input (MLUOP_CPU_ISA, MLUOP_CPU_CACHE_BYTES).
   - A call that fails leaves its outputs as they were. A valid one succeeds; made a second time,
     with another pattern, other threads and other cuts, it gives the same bits; and it gives the
     values of the plain loop. No call changes an input.
   - One call out of eight is captured as a test case, which is read back; another one is made a
     third time, and ended early. */

#include "input.h"
#include "mlu_op.h"
#include "mlu_op_cpu.h"

enum {
  FUZZ_MOST_TENSORS = 10,
  FUZZ_MOST_NUMBERS = 16,
  FUZZ_ARENA_BYTES = 1 << 18,               /* of a tensor, at most */
  FUZZ_MOST_ELEMENTS = FUZZ_ARENA_BYTES / 8 /* so that a type of 8 bytes fits, too */
};

enum fuzz_role {
  FUZZ_VALUES, /* an input of random values */
  FUZZ_OWN,    /* an input that the operator's `fill` sets */
  FUZZ_OUTPUT
};

struct fuzz_tensor {
  enum fuzz_role role;
  bool absent;  /* optional, and neither descriptor nor data is given */
  bool ignored; /* by this call, whatever it is */
  mluOpTensorLayout_t layout;
  mluOpDataType_t dtype;
  int rank;
  int64_t dims[MLUOP_DIM_MAX], strides[MLUOP_DIM_MAX];
  bool strided; /* else packed */
  int64_t count, bytes;
  int64_t held; /* elements in memory: all, or none if it is huge, or never looked at */
  /* For the library, and in float32 for the plain loop. */
  mluOpTensorDescriptor_t desc, plain_desc;
  void *data, *plain;
  mluOpTensorDescriptor_t made; /* desc, unless a defect has made that NULL */
  size_t place;                 /* where its bytes begin in its arena */
  void *memory;                 /* ... as an address: data, unless a defect has moved that */
};

struct fuzz {
  struct fuzz_input in;
  int count;
  struct fuzz_tensor t[FUZZ_MOST_TENSORS];
  int p_count, r_count;
  int p[FUZZ_MOST_NUMBERS];   /* integers of the call, in the order of fuzz_add_int */
  float r[FUZZ_MOST_NUMBERS]; /* its other numbers, in the order of fuzz_add_float */
  void *workspace;
  size_t workspace_size;
  bool no_object; /* the operator's descriptor is NULL */
  bool bad_data;  /* `fill` has put something in that the call must refuse */
  bool no_plain;  /* the plain loop is not made for these numbers */
  bool wild;      /* as `no_plain`, and instruction sets may differ: sums overflow, or not */
  bool any;       /* nothing is known about the status */
  bool invalid;   /* arithmetic on this data may be invalid, as 0 / 0 is */
  bool mixed;     /* where an infinity is expected there may be a NaN, and the other way round */
  double scale;   /* of terms that may cancel: the largest, or how many */
};

/* What is the same in results of the plain loop, and on other instruction sets. */
enum fuzz_likeness {
  FUZZ_NEAR,    /* sums of products: as near as the contract says */
  FUZZ_NUMBERS, /* every bit, but those of a NaN */
  FUZZ_BITS
};

struct fuzz_operator {
  const char *name;
  /* Adds tensors and numbers of a valid call. */
  void (*make)(struct fuzz *f);
  /* Sets what is in tensors of FUZZ_OWN, by fuzz_set; may be NULL. Their shapes may be bent. */
  void (*fill)(struct fuzz *f);
  mluOpStatus_t (*run)(mluOpHandle_t handle, struct fuzz *f);
  void (*plain)(struct fuzz *f); /* NULL: there is none */
  /* Checks what was to be left alone in outputs and makes it 0; NULL: all is written. */
  void (*settle)(struct fuzz *f);
  enum fuzz_likeness likeness;
};

/* Makes and checks the call of an input; the list of operators ends with an empty one. Each target
   has such a list, fuzz_FAMILY. */
void fuzz_one(const struct fuzz_operator *operators, const uint8_t *data, size_t size);

/* Calls so far that were not refused. */
extern long fuzz_computed;

/* Which of the first bytes decide: operator, instruction set, and how it is done (0: as the plan
   says; else by way number `byte` of its list, modulo their number, if that can). */
enum { FUZZ_OPERATOR_BYTE, FUZZ_ISA_BYTE, FUZZ_WAY_BYTE = 3 };

#define FUZZ_DESC(i) (f->t[i].desc)
#define FUZZ_DATA(i) (f->t[i].data)
#define FUZZ_BOTH(i) f->t[i].desc, f->t[i].data
#define FUZZ_PLAIN(i) f->t[i].plain_desc, f->t[i].plain

/* Declares a plain loop of a family, which is built under a name of its own. */
#define PLAIN(name) extern __typeof__(mluOp##name) plain##name

/* HALF or FLOAT. */
mluOpDataType_t fuzz_dtype(struct fuzz *f);

/* Elements that the largest tensors of a call may have: few for most inputs, so that they are fast.
 */
int64_t fuzz_room(struct fuzz *f);

/* Each adds something to the call; the first returns the tensor, whose unused dims are -1. */
struct fuzz_tensor *fuzz_add(struct fuzz *f, enum fuzz_role role, mluOpTensorLayout_t layout,
                             mluOpDataType_t dtype, const int64_t dims[4]);
void fuzz_add_int(struct fuzz *f, int value);
void fuzz_add_float(struct fuzz *f, float value);

#define FUZZ_DIMS(...) ((const int64_t[4]){__VA_ARGS__})

/* Sets element i of a tensor of HALF, FLOAT or INT32, and of its plain twin; of any other type,
   nothing. */
void fuzz_set(struct fuzz_tensor *tensor, int64_t i, double value);

/* Element i as the plain loop sees it. */
double fuzz_get(const struct fuzz_tensor *tensor, int64_t i);

/* Whether every element is a number and not infinite. */
bool fuzz_finite(const struct fuzz_tensor *tensor);

/* Whether all numbers are moderate, so that no operation on them overflows or is invalid. */
bool fuzz_tame(const struct fuzz *f);

/* Rows that end with a box: corners on and around the map, seldom far away, infinite, NaN. With
   five numbers in a row, the first is an image: if `images` is exceeded, bad_data is set. */
void fuzz_fill_boxes(struct fuzz *f, struct fuzz_tensor *boxes, int row, int images, int h, int w);

/* Whether bytes [from, to) of an output are still the pattern, and that they become 0. */
void fuzz_settle(struct fuzz_tensor *tensor, int64_t from, int64_t to);

/* ---------------------------------------------------------------- between files of the frame */

/* memory.c: the tensors' memory. */
void fuzz_place(struct fuzz *f, uint32_t choices); /* gives each tensor its place */
void fuzz_release(struct fuzz *f);
void fuzz_prefill(struct fuzz *f, int run); /* outputs become the pattern of that run */
bool fuzz_untouched(const struct fuzz *f);  /* outputs still are */
bool fuzz_zeros(const struct fuzz_tensor *tensor);
void fuzz_keep(struct fuzz *f);               /* outputs, to compare later ones with */
bool fuzz_same(const struct fuzz *f);         /* as those kept, to the bit */
void fuzz_check_around(const struct fuzz *f); /* no byte beside a tensor, and no input, changed */
void fuzz_fill(void *memory, size_t bytes, int run);

/* compare.c: whether outputs are those of the plain loop, or those kept. */
bool fuzz_equals_plain(const struct fuzz *f, enum fuzz_likeness likeness);
bool fuzz_equals_kept(const struct fuzz *f, enum fuzz_likeness likeness);
const void *fuzz_kept(int tensor);

/* capture.c: test cases (MLUOP_GEN_CASE). What is written of the call between these two must be
   that call; nothing is written of one that is refused. */
void fuzz_begin_capture(uint32_t choices);
void fuzz_end_capture(const struct fuzz *f, mluOpStatus_t status, bool empty);
void fuzz_logged(const char *message); /* by the library */
extern struct mluop_case_settings fuzz_case_settings;

/* interrupt.c: the call once more, which ends early. */
void fuzz_interrupt(mluOpHandle_t handle, struct fuzz *f, const struct fuzz_operator *op,
                    uint32_t choices);

/* wraps.c: how the library's jobs are run. */
struct fuzz_way {
  int run;           /* whose pattern scratch memory gets */
  uint32_t choice;   /* of a way to do the operator */
  int parts;         /* that a job is cut into */
  uint32_t cuts;     /* where, and in which order they are done */
  bool real_threads; /* every item wakes a thread */
};
extern struct fuzz_way fuzz_way;
extern bool fuzz_rule_failed; /* once it is set to false */

/* The way that was last taken since it was not the plan's choice, as MLUOP_CPU_KERNEL names it. */
const char *fuzz_taken_way(void);

/* A way that no call has taken so, of the lists that calls have chosen from; NULL: there is none.
 */
const char *fuzz_untaken_way(void);

/* Whether a kernel has raised a floating-point flag, other than that a result was rounded. Scratch
   memory, outputs and the stack are full of signalling NaNs when it begins: computing on one raises
   the flag of invalid operations, which tame data never does. So no lane of a vector computes on
   memory that nobody wrote. Only looked at if `fuzz_flags_count`: compilers may compute what they
   then throw away. */
extern bool fuzz_raised, fuzz_flags_count;

/* bend.c: adds the defects that the input asks for, before and after tensors have their memory;
   returns how many. */
int fuzz_bend(struct fuzz *f, struct fuzz_input *in);
void fuzz_bend_pointers(struct fuzz *f);

#endif /* MLUOP_TESTS_FUZZ_FUZZ_H_ */
