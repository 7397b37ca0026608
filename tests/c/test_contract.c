/* SPDX-License-Identifier: Apache-2.0 */
/* Rule tables: each kind of rule, what it says when it does not hold, and the order of rules. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core/contract.h"

enum { A, B, SPARE };

static mluOpHandle_t handle;
static int64_t aligned_memory[1 << 9];
static char *const memory = (char *)aligned_memory;

static mluOpTensorDescriptor_t tensor(mluOpTensorLayout_t layout, mluOpDataType_t dtype, int n,
                                      const int64_t *dims) {
  mluOpTensorDescriptor_t desc = NULL;
  OK(mluOpCreateTensorDescriptor(&desc));
  OK(mluOpSetTensorDescriptor_v2(desc, layout, dtype, n, dims));
  return desc;
}

static mluOpTensorDescriptor_t nhwc(int64_t n, int64_t h, int64_t w, int64_t c) {
  return tensor(MLUOP_LAYOUT_NHWC, MLUOP_DTYPE_FLOAT, 4, (const int64_t[]){n, h, w, c});
}

/* A call of two tensors, 2 x 3 x 4 x 10 and 2 x 6 x 8 x 5, and four scalars. */
static struct mluop_call valid_call(void) {
  return (struct mluop_call){
      .api = "api",
      .handle = handle,
      .tensors = {[A] = {"a", nhwc(2, 3, 4, 10), memory, .output = false},
                  [B] = {"b", nhwc(2, 6, 8, 5), memory + 2048, .output = true}},
      .scalars = {mluop_integer("scale", 2), mluop_integer("group", 5),
                  mluop_integer("huge", INT64_MAX),
                  mluop_integers("pad", (const int[]){3, -1, 0, 7}, 4)}};
}

static void release(struct mluop_call *call) {
  for (int i = 0; i < MLUOP_MAX_TENSORS; i++) {
    if (call->tensors[i].desc != NULL) OK(mluOpDestroyTensorDescriptor(call->tensors[i].desc));
  }
}

/* The status of one rule, which is followed by one that always holds. */
static mluOpStatus_t walk(struct mluop_call *call, struct mluop_rule rule) {
  const struct mluop_rule rules[] = {rule, {.check = CHECK_HANDLE}, {.check = CHECK_END}};
  mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
  const bool holds = mluop_contract_holds(call, rules, &status);
  CHECK(holds == (status == MLUOP_STATUS_SUCCESS));
  return status;
}

#define HOLDS(...) OK(walk(&call, (struct mluop_rule){__VA_ARGS__}))
#define FAILS(message, ...)                                                          \
  (CHECK_EQ(MLUOP_STATUS_NOT_SUPPORTED,                                              \
            walk(&call, (struct mluop_rule){__VA_ARGS__, .status = NOT_SUPPORTED})), \
   CHECK_TEXT("[api] " message, mluOpCpuGetLastErrorMessage()))

static void rules_about_tensors(void) {
  struct mluop_call call = valid_call();
  const int64_t zero[] = {0, 3};
  call.tensors[SPARE] = (struct mluop_tensor){
      "spare", tensor(MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 2, zero), NULL, .output = false};
  const unsigned both = MLUOP_BIT(A) | MLUOP_BIT(B), spare = MLUOP_BIT(SPARE);
  HOLDS(.check = CHECK_DESC, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_RANK, .tensors = both, .value = 4);
  FAILS("spare has 2 dims, expected 4", .check = CHECK_RANK, .tensors = MLUOP_ALL, .value = 4);
  HOLDS(.check = CHECK_LAYOUT, .tensors = both, .value = MLUOP_LAYOUT_NHWC);
  FAILS("spare: layout is MLUOP_LAYOUT_NC, expected MLUOP_LAYOUT_NHWC", .check = CHECK_LAYOUT,
        .tensors = MLUOP_ALL, .value = MLUOP_LAYOUT_NHWC);
  HOLDS(.check = CHECK_DTYPE, .tensors = both, .value = MLUOP_DTYPE_FLOAT);
  FAILS("spare: dtype is MLUOP_DTYPE_HALF, expected MLUOP_DTYPE_FLOAT", .check = CHECK_DTYPE,
        .tensors = MLUOP_ALL, .value = MLUOP_DTYPE_FLOAT);
  HOLDS(.check = CHECK_FLOATING, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_SAME_DTYPE, .tensors = both, .value = A);
  FAILS("spare: dtype is MLUOP_DTYPE_HALF, expected MLUOP_DTYPE_FLOAT, the dtype of a",
        .check = CHECK_SAME_DTYPE, .tensors = MLUOP_ALL, .value = A);
  HOLDS(.check = CHECK_EMPTY, .tensors = both);
  FAILS("spare is empty, expected 1 element or more", .check = CHECK_EMPTY, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_DATA, .tensors = both);
  FAILS("spare is NULL", .check = CHECK_DATA, .tensors = spare);
  OK(mluOpSetTensorDescriptorDim_v2(call.tensors[SPARE].desc, 2,
                                    (const int64_t[]){1, (INT64_C(1) << 31) - 1}));
  HOLDS(.check = CHECK_ELEMENTS, .tensors = MLUOP_ALL);
  OK(mluOpSetTensorDescriptorDim_v2(call.tensors[SPARE].desc, 1,
                                    (const int64_t[]){INT64_C(1) << 31}));
  FAILS("spare has 2147483648 elements, expected fewer than 2^31", .check = CHECK_ELEMENTS,
        .tensors = MLUOP_ALL);
  OK(mluOpSetTensorDescriptor(call.tensors[SPARE].desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_INT32, 1,
                              (const int[]){1}));
  FAILS("spare: dtype is MLUOP_DTYPE_INT32, expected MLUOP_DTYPE_HALF or MLUOP_DTYPE_FLOAT",
        .check = CHECK_FLOATING, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_CONTIGUOUS, .tensors = MLUOP_ALL);
  OK(mluOpSetTensorDescriptorEx(call.tensors[SPARE].desc, MLUOP_LAYOUT_NC, MLUOP_DTYPE_HALF, 1,
                                (const int[]){2}, (const int[]){2}));
  FAILS("spare is not contiguous: stride of dim 0 is 2, expected 1", .check = CHECK_CONTIGUOUS,
        .tensors = MLUOP_ALL);
  release(&call);
}

static void data_is_aligned_to_its_element(void) {
  static const mluOpDataType_t dtypes[] = {MLUOP_DTYPE_INT8, MLUOP_DTYPE_HALF, MLUOP_DTYPE_FLOAT,
                                           MLUOP_DTYPE_INT32};
  static const size_t sizes[] = {1, 2, 4, 4};
  struct mluop_call call = valid_call();
  for (int i = 0; i < 4; i++) {
    OK(mluOpSetTensorDescriptor(call.tensors[B].desc, MLUOP_LAYOUT_NC, dtypes[i], 1,
                                (const int[]){8}));
    for (size_t start = 0; start < 8; start++) {
      call.tensors[B].data = (char *)aligned_memory + start;
      char message[160];
      snprintf(
          message, sizeof(message),
          "[api] b is not aligned: its address is a multiple of %zu plus %zu, expected a multiple "
          "of %zu, the size of an element",
          sizes[i], start % sizes[i], sizes[i]);
      const struct mluop_rule rule = {
          .check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_BIT(B)};
      if (start % sizes[i] == 0) {
        OK(walk(&call, rule));
      } else {
        CHECK_EQ(MLUOP_STATUS_BAD_PARAM, walk(&call, rule));
        CHECK_TEXT(message, mluOpCpuGetLastErrorMessage());
      }
    }
  }
  call.tensors[A].data = NULL;
  FAILS("a is NULL", .check = CHECK_DATA, .tensors = MLUOP_ALL);
  release(&call);
}

static void rules_about_null_pointers(void) {
  struct mluop_call call = valid_call();
  call.objects[0] = (struct mluop_object){.name = "thing_desc", .pointer = memory};
  call.objects[1] = (struct mluop_object){.name = "workspace_size"};
  FAILS("workspace_size is NULL", .check = CHECK_OBJECT);
  HOLDS(.check = CHECK_OBJECT, .text = "thing_desc");
  FAILS("workspace_size is NULL", .check = CHECK_OBJECT, .text = "workspace_size");
  call.objects[1].pointer = memory;
  HOLDS(.check = CHECK_OBJECT);
  call.tensors[SPARE] = (struct mluop_tensor){"spare", NULL, NULL, .optional = true};
  HOLDS(.check = CHECK_DESC, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_DATA, .tensors = MLUOP_ALL);
  call.tensors[SPARE].optional = false;
  FAILS("spare_desc is NULL", .check = CHECK_DESC, .tensors = MLUOP_ALL);
  call.handle = NULL;
  FAILS("handle is NULL", .check = CHECK_HANDLE);
  release(&call);
}

static void rules_about_scalars(void) {
  struct mluop_call call = valid_call();
  HOLDS(.check = CHECK_MIN, .text = "scale", .value = 2);
  FAILS("scale is 2, expected at least 3", .check = CHECK_MIN, .text = "scale", .value = 3);
  HOLDS(.check = CHECK_MAX, .text = "scale", .value = 2);
  FAILS("scale is 2, expected at most 1", .check = CHECK_MAX, .text = "scale", .value = 1);
  HOLDS(.check = CHECK_EQUAL, .text = "group", .value = 5);
  FAILS("group is 5, expected 4", .check = CHECK_EQUAL, .text = "group", .value = 4);
  HOLDS(.check = CHECK_ODD, .text = "group");
  FAILS("scale is 2, expected an odd number", .check = CHECK_ODD, .text = "scale");
  call.scalars[0] = mluop_integer("scale", -3);
  HOLDS(.check = CHECK_ODD, .text = "scale");
  HOLDS(.check = CHECK_EQUAL, .text = "never_set", .value = 0);
  FAILS("never_set is 0, expected at least 1", .check = CHECK_MIN, .text = "never_set", .value = 1);
  release(&call);
}

static void rules_about_real_numbers(void) {
  struct mluop_call call = {.api = "api", .handle = handle};
  mluop_add_scalar(&call, mluop_real("sigma", 0.5));
  HOLDS(.check = CHECK_MIN, .text = "sigma", .value = 0);
  FAILS("sigma is 0.5, expected at least 1", .check = CHECK_MIN, .text = "sigma", .value = 1);
  HOLDS(.check = CHECK_MAX, .text = "sigma", .value = 1);
  FAILS("sigma is 0.5, expected at most 0", .check = CHECK_MAX, .text = "sigma", .value = 0);
  FAILS("sigma is 0.5, expected 0", .check = CHECK_EQUAL, .text = "sigma", .value = 0);
  HOLDS(.check = CHECK_NUMBER, .text = "sigma");
  CHECK(mluop_real_of(&call, "sigma") == 0.5);
  call.scalars[0] = mluop_real("sigma", NAN);
  FAILS("sigma is nan, expected a number", .check = CHECK_NUMBER, .text = "sigma");
  FAILS("sigma is nan, expected at least 0", .check = CHECK_MIN, .text = "sigma", .value = 0);
  FAILS("sigma is nan, expected at most 0", .check = CHECK_MAX, .text = "sigma", .value = 0);
  call.scalars[0] = mluop_real("sigma", -INFINITY);
  HOLDS(.check = CHECK_NUMBER, .text = "sigma");
  FAILS("sigma is -inf, expected at least 0", .check = CHECK_MIN, .text = "sigma", .value = 0);
}

static void rules_about_arrays_look_at_each_number(void) {
  struct mluop_call call = valid_call();
  HOLDS(.check = CHECK_MIN, .text = "pad", .value = -1);
  FAILS("pad[1] is -1, expected at least 0", .check = CHECK_MIN, .text = "pad", .value = 0);
  HOLDS(.check = CHECK_MAX, .text = "pad", .value = 7);
  FAILS("pad[3] is 7, expected at most 6", .check = CHECK_MAX, .text = "pad", .value = 6);
  CHECK_EQ(-1, mluop_integer_of(&call, "pad[1]"));
  CHECK_EQ(7, mluop_integer_of(&call, "pad[3]"));
  int64_t value;
  CHECK(!mluop_find_integer(&call, "pad[4]", &value));
  CHECK(!mluop_find_integer(&call, "scale[1]", &value));
  CHECK(!mluop_find_integer(&call, "scales", &value));
  CHECK(!mluop_find_integer(&call, "scal", &value));
  CHECK(mluop_find_integer(&call, "scale*H", &value) && value == 2);
  CHECK(mluop_find_integer(&call, "pad[3] W", &value) && value == 7);
  const struct mluop_scalar missing = mluop_integers("stride", NULL, 2);
  CHECK_EQ(0, missing.as.array[1]);
  release(&call);
}

static void a_call_takes_no_more_scalars_than_fit(void) {
  struct mluop_call call = valid_call();
  for (int i = 4; i < MLUOP_MAX_SCALARS; i++) mluop_add_scalar(&call, mluop_integer("other", i));
  mluop_add_scalar(&call, mluop_integer("late", 1));
  int64_t value;
  CHECK(!mluop_find_integer(&call, "late", &value));
  CHECK_EQ(0, call.objects[0].name != NULL);
  release(&call);
}

/* What Set kept is there for the rules of every later call. */
static void parameters_become_scalars_of_the_call(void) {
  mluOpStatus_t status;
  CHECK(mluop_create_parameters("api", "thing_desc", NULL, &status) == NULL);
  CHECK_EQ(MLUOP_STATUS_BAD_PARAM, status);
  CHECK_TEXT("[api] thing_desc is NULL", mluOpCpuGetLastErrorMessage());
  CHECK_EQ(MLUOP_STATUS_BAD_PARAM, mluop_destroy_parameters("api", "thing_desc", NULL));
  CHECK_TEXT("[api] thing_desc is NULL", mluOpCpuGetLastErrorMessage());
  struct mluop_parameters *parameters = mluop_create_parameters("api", "d", memory, &status);
  OK(status);

  struct mluop_call call = {
      .api = "api",
      .handle = handle,
      .objects = {{.name = "thing_desc", .pointer = parameters, .kind = MLUOP_PARAMETERS}}};
  HOLDS(.check = CHECK_OBJECT);
  FAILS("thing_desc has not been set", .check = CHECK_SET);
  struct mluop_call set = {.scalars = {mluop_integer("group", 3),
                                       mluop_integers("pad", (const int[]){1, 2}, 2),
                                       mluop_real("sigma", 0.25)}};
  mluop_set_parameters(parameters, &set);
  HOLDS(.check = CHECK_SET);
  HOLDS(.check = CHECK_OBJECT);
  HOLDS(.check = CHECK_EQUAL, .text = "group", .value = 3);
  CHECK_EQ(2, mluop_integer_of(&call, "pad[1]"));
  CHECK(mluop_real_of(&call, "sigma") == 0.25);
  OK(mluop_destroy_parameters("api", "thing_desc", parameters));
}

/* Two optional tensors, of which a call has both or none. */
static void optional_tensors_come_complete_and_together(void) {
  struct mluop_call call = valid_call();
  call.tensors[A].optional = call.tensors[B].optional = true;
  const struct mluop_tensor a = call.tensors[A], b = call.tensors[B];
  HOLDS(.check = CHECK_COMPLETE, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_TOGETHER, .tensors = MLUOP_ALL, .value = A);
  call.tensors[B].data = NULL;
  FAILS("b is NULL, but b_desc is given", .check = CHECK_COMPLETE, .tensors = MLUOP_ALL);
  HOLDS(.check = CHECK_COMPLETE, .tensors = MLUOP_BIT(A));
  call.tensors[B] = (struct mluop_tensor){"b", NULL, b.data, .optional = true};
  FAILS("b is given, but b_desc is NULL", .check = CHECK_COMPLETE, .tensors = MLUOP_ALL);
  call.tensors[B].data = NULL;
  HOLDS(.check = CHECK_COMPLETE, .tensors = MLUOP_ALL);
  FAILS("b is NULL, but a is given", .check = CHECK_TOGETHER, .tensors = MLUOP_ALL, .value = A);
  call.tensors[A] = (struct mluop_tensor){"a", NULL, NULL, .optional = true};
  HOLDS(.check = CHECK_TOGETHER, .tensors = MLUOP_ALL, .value = A);
  call.tensors[B] = b;
  FAILS("b is given, but a is NULL", .check = CHECK_TOGETHER, .tensors = MLUOP_ALL, .value = A);
  call.tensors[B].optional = false;
  HOLDS(.check = CHECK_TOGETHER, .tensors = MLUOP_ALL, .value = A);
  call.tensors[A] = a;
  release(&call);
}

#define B_IS "; b is [2,6,8,5]"
#define A_IS(c) "; a is [2,3,4,10], read as [N,H,W,C]: N=2, H=3, W=4, C=" #c
#define SHAPE(which, words) .check = CHECK_SHAPE, .tensors = MLUOP_BIT(which), .text = words

static void shapes_bind_and_compare(void) {
  struct mluop_call call = valid_call();
  HOLDS(SHAPE(A, "N H W group*C"));
  CHECK_EQ(2, mluop_extent(&call, 'N'));
  CHECK_EQ(3, mluop_extent(&call, 'H'));
  CHECK_EQ(4, mluop_extent(&call, 'W'));
  CHECK_EQ(2, mluop_extent(&call, 'C'));
  HOLDS(SHAPE(B, "N scale*H scale*W 5"));
  HOLDS(SHAPE(B, "2 H*C W*2 group"));
  FAILS("b: dim 1 is 6, expected 3 (H)" B_IS A_IS(2), SHAPE(B, "N H W C"));
  FAILS("b: dim 3 is 5, expected 10 (scale*group)" B_IS, SHAPE(B, "N scale*H scale*W scale*group"));
  FAILS("b: dim 0 is 2, expected 7" B_IS, SHAPE(B, "7 H W C"));
  FAILS("b: dim 3 is 5, expected a multiple of 2 (scale*K)" B_IS,
        SHAPE(B, "N scale*H scale*W scale*K"));
  FAILS("b: dim 0 is 2, expected another value (scale*huge)" B_IS, SHAPE(B, "scale*huge H W C"));
  FAILS("b: dim 2 is 8, expected 7" B_IS ": R=2, S=6", SHAPE(B, "R S 7 5"));
  release(&call);
}

/* "group|C" is all channels, not those of a group. */
static void letters_that_a_number_divides(void) {
  struct mluop_call call = valid_call();
  FAILS("a: dim 1 is 3, expected a multiple of 2 (scale); a is [2,3,4,10], read as [N,H,W,C]: N=2",
        SHAPE(A, "N scale|H W C"));
  HOLDS(SHAPE(A, "N H W group|C"));
  CHECK_EQ(10, mluop_extent(&call, 'C'));
  HOLDS(SHAPE(A, "N H W scale|C"));
  FAILS(
      "a: dim 3 is 10, expected a multiple of 7 (pad[3]); a is [2,3,4,10], read as [N,H,W,C]: "
      "N=2, H=3, W=4, C=10",
      SHAPE(A, "N H W pad[3]|C"));
  FAILS("b: dim 3 is 5, expected 10 (C)" B_IS A_IS(10), SHAPE(B, "N 6 8 group|C"));
  FAILS("b: dim 3 is 5, expected 10 (C)" B_IS A_IS(10), SHAPE(B, "N 6 8 C"));
  call.scalars[0] = mluop_integer("scale", 0);
  FAILS("b: dim 1 is 6, expected a multiple of 0 (scale)" B_IS, SHAPE(B, "N scale|K 8 5"));
  release(&call);
}

/* A tensor of many dims has a message that is cut off. */
static void messages_about_shapes_have_an_end(void) {
  struct mluop_call call = valid_call();
  int64_t dims[64];
  for (int i = 0; i < 64; i++) dims[i] = 1;
  dims[0] = INT64_MAX;
  OK(mluOpSetTensorDescriptor_v2(call.tensors[B].desc, MLUOP_LAYOUT_NCHW, MLUOP_DTYPE_FLOAT, 64,
                                 dims));
  CHECK_EQ(MLUOP_STATUS_BAD_PARAM,
           walk(&call, (struct mluop_rule){SHAPE(B, "7"), .status = BAD_PARAM}));
  CHECK(strncmp(mluOpCpuGetLastErrorMessage(),
                "[api] b: dim 0 is 9223372036854775807, expected 7; b is [9223372036854775807,1,1,",
                81) == 0);
  release(&call);
}

static void shapes_with_zeros(void) {
  struct mluop_call call = valid_call();
  call.scalars[0] = mluop_integer("scale", 0);
  const int64_t dims[] = {0, 3, 0, 10};
  OK(mluOpSetTensorDescriptorDim_v2(call.tensors[A].desc, 4, dims));
  HOLDS(SHAPE(A, "N H W C"));
  CHECK_EQ(0, mluop_extent(&call, 'N'));
  FAILS("b: dim 3 is 5, expected a multiple of 0 (scale*K)" B_IS, SHAPE(B, "2 6 8 scale*K"));
  release(&call);
}

/* The height that a convolution leaves of `a`: no product, so it gets a name. */
static bool name_height(struct mluop_call *call, const struct mluop_rule *rule,
                        mluOpStatus_t *status) {
  const int64_t rest = mluop_extent(call, 'H') + 2 * mluop_integer_of(call, "pad[0]") - rule->value;
  if (rest < 0) {
    *status = mluop_fail(rule->status, call->api, "a: too low");
    return false;
  }
  mluop_add_scalar(call, mluop_integer("ho", rest / 2 + 1));
  return true;
}

static void shapes_with_extents_that_are_no_products(void) {
  struct mluop_call call = valid_call();
  HOLDS(SHAPE(A, "N H W C"));
  FAILS("a: too low", .check = CHECK_FUNCTION, .function = name_height, .value = 10);
  HOLDS(.check = CHECK_FUNCTION, .function = name_height, .value = 2);
  FAILS("b: dim 1 is 6, expected 4 (ho)" B_IS, SHAPE(B, "N ho 8 5"));
  FAILS("b: dim 2 is 8, expected 28 (ho*pad[3])" B_IS, SHAPE(B, "N 6 ho*pad[3] 5"));
  HOLDS(SHAPE(B, "N 6 2*ho 5"));
  release(&call);
}

static void empty_tensors_may_end_a_call(void) {
  struct mluop_call call = valid_call();
  OK(mluOpSetTensorDescriptorDim(call.tensors[B].desc, 1, (const int[]){0}));
  const struct mluop_rule rules[] = {
      {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_ALL},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "scale", .value = 99},
      {.check = CHECK_END}};
  mluOpStatus_t status = MLUOP_STATUS_INTERNAL_ERROR;
  CHECK(!mluop_contract_holds(&call, rules, &status));
  CHECK_EQ(MLUOP_STATUS_SUCCESS, status);
  release(&call);
}

static void the_first_rule_that_fails_decides(void) {
  struct mluop_call call = valid_call();
  const struct mluop_rule rules[] = {
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "scale", .value = 1},
      {.check = CHECK_MAX, .status = NOT_SUPPORTED, .text = "scale", .value = 1},
      {.check = CHECK_MIN, .status = BAD_PARAM, .text = "scale", .value = 99},
      {.check = CHECK_END}};
  mluOpStatus_t status;
  CHECK(!mluop_contract_holds(&call, rules, &status));
  CHECK_EQ(MLUOP_STATUS_NOT_SUPPORTED, status);
  release(&call);
}

static void rules_about_the_workspace(void) {
  struct mluop_call call = valid_call();
  HOLDS(.check = CHECK_WORKSPACE);
  call.workspace_needed = 100;
  FAILS("workspace_size is 0, expected at least 100", .check = CHECK_WORKSPACE);
  call.workspace_size = 100;
  FAILS("workspace is NULL, but workspace_size is 100", .check = CHECK_WORKSPACE);
  call.workspace = memory;
  HOLDS(.check = CHECK_WORKSPACE);
  call.workspace_size = 99;
  FAILS("workspace_size is 99, expected at least 100", .check = CHECK_WORKSPACE);
  release(&call);
}

/* a has 960 bytes, b 1920. */
static void outputs_share_no_byte_with_others(void) {
  struct mluop_call call = valid_call();
  call.tensors[B].data = memory + 960;
  HOLDS(.check = CHECK_OVERLAP);
  call.tensors[B].data = memory + 959;
  FAILS("b (1920 bytes) overlaps a (960 bytes), expected separate memory", .check = CHECK_OVERLAP);
  call.tensors[B].data = memory;
  call.tensors[A].data = memory + 1920;
  HOLDS(.check = CHECK_OVERLAP);
  call.tensors[A].data = memory + 1919;
  FAILS("b (1920 bytes) overlaps a (960 bytes), expected separate memory", .check = CHECK_OVERLAP);
  call.tensors[B].output = false;
  HOLDS(.check = CHECK_OVERLAP);
  call.tensors[B].output = true;
  call.tensors[A].data = memory + 1920;
  call.workspace = memory + 1900;
  call.workspace_size = 30;
  FAILS("b (1920 bytes) overlaps workspace (30 bytes), expected separate memory",
        .check = CHECK_OVERLAP);
  call.workspace = memory + 1920;
  HOLDS(.check = CHECK_OVERLAP);
  FAILS("workspace (30 bytes) overlaps a (960 bytes), expected separate memory",
        .check = CHECK_OVERLAP, .value = 1);
  call.workspace_size = 0;
  HOLDS(.check = CHECK_OVERLAP, .value = 1);
  call.objects[0] =
      (struct mluop_object){.name = "size", .pointer = memory + 1919, .output = true, .bytes = 1};
  FAILS("b (1920 bytes) overlaps size (1 bytes), expected separate memory", .check = CHECK_OVERLAP);
  call.tensors[B].output = false;
  FAILS("size (1 bytes) overlaps b (1920 bytes), expected separate memory", .check = CHECK_OVERLAP);
  call.objects[0].output = false;
  HOLDS(.check = CHECK_OVERLAP);
  release(&call);
}

static bool refuse(struct mluop_call *call, const struct mluop_rule *rule, mluOpStatus_t *status) {
  *status = mluop_fail(rule->status, call->api, "refused");
  return false;
}

static void rules_of_their_own_kind(void) {
  struct mluop_call call = valid_call();
  FAILS("refused", .check = CHECK_FUNCTION, .function = refuse);
  release(&call);
}

static const struct test tests[] = {
    TEST(rules_about_tensors),
    TEST(rules_about_null_pointers),
    TEST(data_is_aligned_to_its_element),
    TEST(rules_about_scalars),
    TEST(rules_about_real_numbers),
    TEST(rules_about_arrays_look_at_each_number),
    TEST(a_call_takes_no_more_scalars_than_fit),
    TEST(parameters_become_scalars_of_the_call),
    TEST(optional_tensors_come_complete_and_together),
    TEST(shapes_bind_and_compare),
    TEST(letters_that_a_number_divides),
    TEST(messages_about_shapes_have_an_end),
    TEST(shapes_with_zeros),
    TEST(shapes_with_extents_that_are_no_products),
    TEST(empty_tensors_may_end_a_call),
    TEST(the_first_rule_that_fails_decides),
    TEST(rules_about_the_workspace),
    TEST(outputs_share_no_byte_with_others),
    TEST(rules_of_their_own_kind),
};

int main(int argc, char **argv) {
  OK(mluOpCreate(&handle));
  const int failed = run_tests(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
  OK(mluOpDestroy(handle));
  return failed;
}
