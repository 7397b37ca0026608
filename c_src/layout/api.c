/* SPDX-License-Identifier: Apache-2.0 */
#include "core/contract.h"
#include "layout/plan.h"

enum { INPUT, OUTPUT };

enum {
  BYTE_COST = 60, /* in picoseconds */
  LINE_BYTES = 64,
  SMALL_IMAGE = 256 << 10, /* bytes: one that finds room in the second cache ... */
  SHORT_ROW = 512,         /* ... with rows of this many at most */
  SHORTEST_ROW = 256,      /* ... or of this many, for strips */
  COLUMN = 512,            /* bytes of each column in a block of strips */
  FEW_ROWS = 64,           /* whose lines find room in the second cache wherever they are */
  STORES = 128,            /* about as many as a core has under way */
  LONG = 16,               /* lines, of a row or of a column */
  BLOCK_ROWS = 128,        /* of a block of tiles */
  WHOLE_ROW = 4096         /* elements: as good as whole */
};

/* Of memory that a tensor and its gaps may take, far beyond what there is. */
static const int64_t MOST_ELEMENTS = INT64_C(1) << 56;

static bool check_layouts(struct mluop_call *call, const struct mluop_rule *rule,
                          mluOpStatus_t *status) {
  const mluOpTensorLayout_t from = call->tensors[INPUT].desc->layout;
  const mluOpTensorLayout_t to = call->tensors[OUTPUT].desc->layout;
  const bool known = from == MLUOP_LAYOUT_NCHW || from == MLUOP_LAYOUT_NHWC;
  if (!known) {
    *status = mluop_fail(rule->status, call->api, "input: layout is %s, expected NCHW or NHWC",
                         mluop_layout_name(from));
    return false;
  }
  const mluOpTensorLayout_t other =
      from == MLUOP_LAYOUT_NCHW ? MLUOP_LAYOUT_NHWC : MLUOP_LAYOUT_NCHW;
  if (to == other) return true;
  *status =
      mluop_fail(rule->status, call->api, "output: layout is %s, expected %s because input is %s",
                 mluop_layout_name(to), mluop_layout_name(other), mluop_layout_name(from));
  return false;
}

static bool check_size(struct mluop_call *call, const struct mluop_rule *rule,
                       mluOpStatus_t *status) {
  const mluOpDataType_t dtype = call->tensors[INPUT].desc->dtype;
  const size_t size = mluop_dtype_size(dtype);
  if (size == 2 || size == 4) return true;
  *status =
      mluop_fail(rule->status, call->api, "input: dtype is %s, expected a type of 2 or 4 bytes",
                 mluop_dtype_name(dtype));
  return false;
}

/* Of a tensor of 4 dims, as if those of one element were packed. */
struct strides {
  int64_t of[4];
};

static struct strides strides_of(const struct mluOpTensorStruct *desc) {
  struct strides strides;
  int64_t packed = 1;
  for (int i = 3; i >= 0; i--) {
    strides.of[i] = desc->dims[i] == 1 ? packed : desc->strides[i];
    packed = desc->dims[i] * strides.of[i];
  }
  return strides;
}

/* Images may be parts of larger ones, but each element has memory of its own. */
static bool check_strides(struct mluop_call *call, const struct mluop_rule *rule,
                          mluOpStatus_t *status) {
  for (int t = INPUT; t <= OUTPUT; t++) {
    const struct mluOpTensorStruct *desc = call->tensors[t].desc;
    int64_t taken = 1; /* by an element of the dim, in elements */
    for (int i = 3; i >= 0 && desc->element_num > 0; i--) {
      const int64_t dim = desc->dims[i], stride = desc->strides[i];
      if (dim == 1) continue;
      if (stride < taken || (i == 3 && stride != 1)) {
        *status = mluop_fail(rule->status, call->api,
                             "%s: stride of dim %d is %lld, expected %lld%s", call->tensors[t].name,
                             i, (long long)stride, (long long)taken, i == 3 ? "" : " or more");
        return false;
      }
      if (__builtin_mul_overflow(dim, stride, &taken) || taken > MOST_ELEMENTS) {
        *status = mluop_fail(rule->status, call->api,
                             "%s: dim %d is %lld and its stride %lld, expected a product of at "
                             "most 2^56",
                             call->tensors[t].name, i, (long long)dim, (long long)stride);
        return false;
      }
    }
  }
  return true;
}

static const struct mluop_rule rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_RANK, .status = BAD_PARAM, .tensors = MLUOP_ALL, .value = 4},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_layouts},
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_size},
    {.check = CHECK_SAME_DTYPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .value = INPUT},
    {.check = CHECK_END}};

static const struct mluop_rule nchw_rules[] = {
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT), .text = "N C H W"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "N H W C"},
    {.check = CHECK_END}};

static const struct mluop_rule nhwc_rules[] = {
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(INPUT), .text = "N H W C"},
    {.check = CHECK_SHAPE, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT), .text = "N C H W"},
    {.check = CHECK_END}};

static const struct mluop_rule data_rules[] = {
    {.check = CHECK_FUNCTION, .status = BAD_PARAM, .function = check_strides},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* An image has the same memory in both layouts. */
static const struct mluop_rule in_place_rules[] = {
    {.check = CHECK_CONTIGUOUS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_ELEMENTS, .status = NOT_SUPPORTED, .tensors = MLUOP_ALL},
    {.check = CHECK_EMPTY, .status = SUCCESS, .tensors = MLUOP_BIT(INPUT)},
    {.check = CHECK_DATA, .status = BAD_PARAM, .tensors = MLUOP_BIT(OUTPUT)},
    {.check = CHECK_OVERLAP, .status = BAD_PARAM},
    {.check = CHECK_END}};

/* Whether the tensors are images in both layouts, and what `data` says holds. */
static bool contract_holds(struct mluop_call *call, const struct mluop_rule *data,
                           mluOpStatus_t *status) {
  if (!mluop_contract_holds(call, rules, status)) return false;
  const bool from_nhwc = call->tensors[INPUT].desc->layout == MLUOP_LAYOUT_NHWC;
  return mluop_contract_holds(call, from_nhwc ? nhwc_rules : nchw_rules, status) &&
         mluop_contract_holds(call, data, status);
}

/* Pixels of an image are the columns of a matrix in NCHW, its rows in NHWC. Where a row of pixels
   is as far from the next one as its pixels are, in both layouts, an image is one matrix. */
static struct layout_args plan(const struct mluop_call *call, const void *input, void *output) {
  const struct mluOpTensorStruct *from = call->tensors[INPUT].desc;
  const struct mluOpTensorStruct *to = call->tensors[OUTPUT].desc;
  const struct strides f = strides_of(from), t = strides_of(to);
  const bool from_nhwc = from->layout == MLUOP_LAYOUT_NHWC;
  const int64_t height = mluop_extent(call, 'H'), width = mluop_extent(call, 'W');
  const int64_t channels = mluop_extent(call, 'C'), size = (int64_t)mluop_dtype_size(from->dtype);
  /* Where the channels, the rows of pixels and the pixels are among the dims. */
  const int f_c = from_nhwc ? 3 : 1, f_h = from_nhwc ? 1 : 2, f_w = from_nhwc ? 2 : 3;
  const int t_c = from_nhwc ? 1 : 3, t_h = from_nhwc ? 2 : 1, t_w = from_nhwc ? 3 : 2;
  const bool whole = f.of[f_h] == width * f.of[f_w] && t.of[t_h] == width * t.of[t_w];
  const int64_t pixels = whole ? height * width : width;
  struct layout_args args = {
      .input = input,
      .output = output,
      .from = {size * f.of[from_nhwc ? f_w : f_c], size * f.of[f_h], size * f.of[0]},
      .to = {size * t.of[from_nhwc ? t_c : t_w], size * t.of[t_h], size * t.of[0]},
      .rows = {.count = from_nhwc ? pixels : channels},
      .columns = {.count = from_nhwc ? channels : pixels},
      .lines = whole ? 1 : height,
      .size = (int)size};
  args.packed =
      args.from.pitch == args.columns.count * size && args.to.pitch == args.rows.count * size;
  return args;
}

/* Equal parts of an extent, in whole lines, of at most so many elements; the last one has what is
   left over, too. */
static void cut(struct layout_extent *extent, int64_t most, int64_t line) {
  const int64_t lines = extent->count / line;
  const int64_t parts = mluop_max(1, mluop_div_up(lines * line, most));
  extent->step = mluop_max(1, mluop_div_up(lines, parts)) * line;
  extent->blocks = mluop_max(1, mluop_div_up(lines * line, extent->step));
}

/* In the caches. Tiles pay where neither lines of their columns nor of their rows push each other
   out of the first cache. Those of few rows may, as tiles side by side follow each other then.
   Strips pay where only the columns crowd, as they read lines of many rows again. Of small images
   with rows of up to four lines they took 0.83 to 1.05 of the time of tiles. */
static enum layout_way way_of(const struct layout_args *args) {
  const int64_t line = LINE_BYTES / args->size, pitch = args->from.pitch;
  const int64_t row = args->columns.count * args->size;
  if (row <= SHORTEST_ROW && row * args->rows.count <= SMALL_IMAGE) return LAYOUT_STRIPS;
  const bool rows_crowd = args->rows.count > FEW_ROWS && layout_crowded(pitch, line);
  if (!rows_crowd && !layout_crowded(args->to.pitch, line)) return LAYOUT_TILES;
  return layout_crowded(pitch, COLUMN / args->size) ? LAYOUT_DIAGONALS : LAYOUT_STRIPS;
}

/* Whether the result is written past the caches, in tiles. For small images with short rows that
   pays later, as tiles at the ends of their rows overlap. */
static bool is_far(mluOpHandle_t handle, const struct layout_args *args, int64_t moved) {
  const int64_t row = args->columns.count * args->size;
  const bool is_small =
      row <= SHORT_ROW && args->rows.count * row <= SMALL_IMAGE && mluop_num_threads(handle) > 1;
  return mluop_exceeds_caches(handle, is_small ? moved / 2 : moved);
}

static void cut_both(struct layout_args *args) {
  const int64_t size = args->size, line = LINE_BYTES / size;
  int64_t rows = BLOCK_ROWS, columns = 2 * line;
  if (args->way == LAYOUT_FAR) {
    rows = 4 * line;
    columns = 32 * line;
  } else if (args->way == LAYOUT_TILES && layout_crowded(args->from.pitch, line)) {
    rows = line;
    columns = 256;
  } else if (args->way == LAYOUT_STRIPS) {
    rows = COLUMN / size;
    columns = 4 * LAYOUT_SECTION / size;
  } else if (args->way == LAYOUT_DIAGONALS) {
    /* Threads share the longer side. */
    rows = LAYOUT_DIAGONAL * line;
    columns = args->rows.count > args->columns.count ? WHOLE_ROW : rows;
  }
  /* Few channels: more pixels of each. */
  if (args->way != LAYOUT_DIAGONALS && args->rows.count < rows) {
    columns = columns * rows / args->rows.count / line * line;
  }
  cut(&args->rows, rows, line);
  cut(&args->columns, columns, line);
}

/* Whether long rows are read from begin to end, as memory is read fastest, while a line of each of
   their columns is written. There must be room for these lines in the first cache, and a vector
   must be as long as one. Where columns do not begin with lines, each of these is written twice,
   which pays only if the rows of blocks crowd. Not of several images: what a core fetches ahead at
   the end of one image would be what another thread writes at the same place of the next one. */
static bool takes_whole_rows(mluOpHandle_t handle, const struct layout_args *args, int64_t moved) {
  const int64_t rows = args->rows.count, columns = args->columns.count;
  const int64_t at_least = LONG * LINE_BYTES / args->size;
  return handle->vector_floats * 4 == LINE_BYTES && rows >= at_least && columns >= at_least &&
         moved == 2 * rows * columns * args->size && !layout_crowded(args->to.pitch, STORES) &&
         (args->to.pitch % LINE_BYTES == 0 || layout_crowded(args->from.pitch, BLOCK_ROWS));
}

void mluop_plan_layout(mluOpHandle_t handle, struct layout_args *args, int64_t moved) {
  const bool far = is_far(handle, args, moved);
  const int64_t line = LINE_BYTES / args->size;
  args->stream = far && args->to.pitch % LINE_BYTES == 0;
  if (!far && takes_whole_rows(handle, args, moved)) {
    args->way = LAYOUT_WHOLE_ROWS;
    cut(&args->rows, line, line);
    cut(&args->columns, WHOLE_ROW, line);
  } else {
    args->way = far ? LAYOUT_FAR : way_of(args);
    cut_both(args);
  }
}

mluOpStatus_t mluOpCpuConvertLayout(mluOpHandle_t handle, const mluOpTensorDescriptor_t input_desc,
                                    const void *input, const mluOpTensorDescriptor_t output_desc,
                                    void *output) {
  struct mluop_call call = {
      .api = "mluOpCpuConvertLayout",
      .handle = handle,
      .tensors = {[INPUT] = {"input", input_desc, input, .output = false},
                  [OUTPUT] = {"output", output_desc, output, .output = true}}};
  mluOpStatus_t status;
  if (!contract_holds(&call, data_rules, &status)) return status;

  struct layout_args args = plan(&call, input, output);
  const int64_t moved = mluop_tensor_bytes(&call);
  mluop_plan_layout(handle, &args, moved);
  const int64_t count =
      mluop_extent(&call, 'N') * args.lines * args.rows.blocks * args.columns.blocks;
  const struct mluop_job job = {.kernel = layout_convert[handle->isa],
                                .args = &args,
                                .count = count,
                                .grain = mluop_grain(moved / count * BYTE_COST),
                                .schedule = MLUOP_STATIC};
  mluop_parallel_for(handle, &job);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}

mluOpStatus_t mluOpCpuConvertLayoutInPlace(mluOpHandle_t handle,
                                           const mluOpTensorDescriptor_t input_desc,
                                           const mluOpTensorDescriptor_t output_desc,
                                           void *output) {
  /* One memory, twice: none is an output that may overlap the other. */
  struct mluop_call call = {
      .api = "mluOpCpuConvertLayoutInPlace",
      .handle = handle,
      .tensors = {[INPUT] = {"input", input_desc, output, .output = false},
                  [OUTPUT] = {"output", output_desc, output, .output = false}}};
  mluOpStatus_t status;
  if (!contract_holds(&call, in_place_rules, &status)) return status;

  struct layout_args args = plan(&call, output, output);
  args.way = way_of(&args);
  cut_both(&args);
  struct mluop_job job = {.kernel = layout_convert_in_place[handle->isa],
                          .args = &args,
                          .count = mluop_extent(&call, 'N'),
                          .grain = mluop_grain(2 * args.to.image * BYTE_COST),
                          .schedule = MLUOP_STATIC,
                          .scratch_bytes = (size_t)args.to.image};
  if (mluop_reserve(handle, 0, &job) == NULL) return mluop_no_scratch(&call);
  mluop_parallel_for(handle, &job);
  return mluop_end_call(&call, MLUOP_STATUS_SUCCESS);
}
