/* SPDX-License-Identifier: Apache-2.0 */
#include "families/carafe/plan.h"

#include "families/carafe/general.h"
#include "families/carafe/kernels.h"
#include "families/carafe/small_channels.h"
#include "layout/plan.h"

/* Of a multiply-add, in picoseconds. */
enum { PRODUCT_COST = 19 };

static int64_t evenly(int64_t n, int64_t most) { return mluop_div_up(n, mluop_div_up(n, most)); }

/* Blocks of many rows, since each needs K - 1 rows beside its own. */
static int64_t block_rows(const struct carafe_args *a, mluOpHandle_t machine) {
  const int64_t share = mluop_div_up(a->N * a->H, mluop_num_threads(machine));
  return evenly(a->H, mluop_max(mluop_max(4 * (a->K - 1), share), 1));
}

/* Items of the job are counted with those below the map. `floats`: of a pixel in an item. */
static void plan_items(const struct carafe_args *a, int64_t floats, size_t scratch_bytes,
                       struct mluop_job *job) {
  const int64_t cost = a->plan.columns * floats * a->S * a->S * a->K * a->K * PRODUCT_COST;
  const int64_t parts = a->output != NULL ? mluop_div_up(a->C, a->plan.channels) : 1;
  job->count = a->N * mluop_div_up(a->H, a->plan.rows) * mluop_div_up(a->W, a->plan.columns) *
               mluop_div_up(a->G, a->plan.groups) * parts * a->plan.rows;
  job->grain = mluop_grain(cost);
  job->schedule = MLUOP_STATIC;
  job->scratch_bytes = scratch_bytes;
  job->piece = mluop_max(a->K / 4, mluop_piece(cost)); /* rows: each start packs K - 1 more */
}

enum { SMALL_BYTES = 1 << 19, SMALL_COLUMNS = 8, MOST_SMALL_CHANNELS = 64 };

/* small_channels: `floats` of each position of a row of a block take about so many bytes. */
static void plan_small(struct carafe_args *a, mluOpHandle_t machine, int64_t floats, int64_t bytes,
                       struct mluop_job *job) {
  struct mluop_arena arena = {NULL, 0};
  const int64_t beside = a->K - 1, positions = bytes / (floats * (int64_t)sizeof(float));
  const int64_t pitch = carafe_small_pitch(a, a->plan.groups, machine->vector_floats);
  a->plan.channels = a->C;
  a->plan.rows = block_rows(a, machine);
  a->plan.columns =
      evenly(a->W, mluop_max(positions / pitch - beside, mluop_max(beside, SMALL_COLUMNS)));
  a->plan.windows = a->plan.columns + beside;
  carafe_small_layout(&arena, a, machine->vector_floats);
  plan_items(a, a->plan.groups * a->C, arena.used, job);
}

/* Forward. */

enum { FORWARD_COLUMNS = 16, RING_BYTES = 1 << 19 };

/* Channels of several groups that are done together: the more, the less of each pixel of the mask
   is left out. */
enum { MOST_CHANNELS = 1024, FEW_CHANNELS = 32 };

/* Window centres of a row that are done together, and floats of their weights, about. */
enum { FORWARD_WINDOWS = 64, WEIGHT_FLOATS = 1 << 16 };

static int64_t forward_windows(const struct carafe_args *a) {
  const int64_t fit = WEIGHT_FLOATS / (a->S * a->S * a->plan.groups * a->K * a->K);
  const int64_t windows = mluop_max(1, mluop_min(fit, FORWARD_WINDOWS));
  return a->S == 1 ? mluop_div_up(windows, CARAFE_TILE) * CARAFE_TILE : windows;
}

/* -1 unless vectors can be whole lines of the output: store.h. Those of 16 bytes lie within lines
   wherever NumPy's arrays begin, and have no stores of parts. */
static int64_t rotation_of(const struct carafe_args *a, mluOpHandle_t machine) {
  const int rotates = machine->vector_floats > 4;
  const uintptr_t line = sizeof(float) * (uintptr_t)(rotates ? CARAFE_PAD : machine->vector_floats);
  const uintptr_t off = a->plan.planes != NULL ? 0 : (uintptr_t)a->output % line;
  if (off % (rotates ? sizeof(float) : line) != 0) return -1;
  if (a->C % carafe_line_elements(a) != 0) return -1;
  if (a->is_half && machine->vector_floats < CARAFE_PAD) return -1;
  return (int64_t)off / (a->is_half ? 2 : 4);
}

/* Planes get whole rows, if a ring of them fits, and their output: then items have fewer channels.
 */
static int64_t most_channels(const struct carafe_args *a, int64_t most) {
  const int64_t row = mluop_max((a->W + a->K - 1) * carafe_slots(a), a->W * a->S * a->S);
  const int64_t fit = RING_BYTES / (row * (int64_t)sizeof(float)) - 2 * CARAFE_PAD;
  if (a->plan.planes == NULL) return most;
  return mluop_min(most, mluop_max(fit / FEW_CHANNELS, 1) * FEW_CHANNELS);
}

/* Of `fit` columns, those whose output and weights fit, too. Unless these are all, they end with a
   line of a plane. */
static int64_t plane_columns(const struct carafe_args *a, int64_t fit) {
  const int64_t weights = a->is_half ? a->plan.groups * a->K * a->K : 0;
  const int64_t floats = a->S * a->S * mluop_max(carafe_pixel_floats(a), weights);
  const int64_t both = mluop_min(fit, RING_BYTES / (floats * (int64_t)sizeof(float)));
  const int64_t columns = evenly(a->W, mluop_max(both, FORWARD_COLUMNS));
  return mluop_min(a->W, mluop_div_up(columns, 2 * CARAFE_PAD) * 2 * CARAFE_PAD);
}

/* What goes into planes at once is a matrix, or one for each row of pixels. It goes past the caches
   only in whole lines. */
static void plan_planes(const struct carafe_args *a, mluOpHandle_t machine) {
  const int64_t size = a->is_half ? 2 : 4, plane = a->S * a->H * a->S * a->W * size;
  const int64_t run = a->plan.columns < a->W ? a->S * a->W : a->S * a->S * a->W;
  const bool in_lines =
      ((uintptr_t)a->output | (uintptr_t)(run * size)) % (CARAFE_PAD * sizeof(float)) == 0;
  struct layout_args *planes = a->plan.planes;
  planes->size = (int)size;
  planes->from.pitch = carafe_pixel_floats(a) * (int64_t)sizeof(float);
  planes->to.pitch = plane;
  planes->rows.count = a->plan.windows * a->S * a->S;
  planes->columns.count = a->plan.groups * a->plan.channels;
  mluop_plan_layout(machine, planes, in_lines ? 2 * a->N * a->G * a->C * plane : 0);
}

/* An item has at most CARAFE_ITEM_CHANNELS channels of a group, in whole lines, or groups of
   MOST_CHANNELS together. A ring of the rows under the windows of a block stays in the second-level
   cache. */
static void plan_forward_general(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_args *a = args;
  struct mluop_arena arena = {NULL, 0};
  float *scratch;
  const int64_t parts = mluop_div_up(a->C, most_channels(a, CARAFE_ITEM_CHANNELS));
  const int64_t line = carafe_line_elements(a), most = most_channels(a, MOST_CHANNELS);
  a->plan.rows = block_rows(a, machine);
  a->plan.channels = parts > 1 ? mluop_div_up(mluop_div_up(a->C, parts), line) * line : a->C;
  a->plan.groups = parts > 1 ? 1 : mluop_min(a->G, mluop_max(1, most / carafe_padded(a->C)));
  const int64_t column = carafe_column_floats(a) * (int64_t)sizeof(float);
  const int64_t fit = RING_BYTES / column - (a->K - 1);
  a->plan.columns = a->plan.planes != NULL ? plane_columns(a, fit)
                                           : evenly(a->W, mluop_max(fit, FORWARD_COLUMNS));
  a->plan.windows = a->plan.planes != NULL ? a->plan.columns : forward_windows(a);
  a->plan.rotation = rotation_of(a, machine);
  carafe_lay_out_forward(&arena, a, &scratch);
  if (a->plan.planes != NULL) plan_planes(a, machine);
  plan_items(a, a->plan.groups * carafe_padded(a->plan.channels), arena.used, job);
}

static void plan_forward_small(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_args *a = args;
  a->plan.groups = evenly(a->G, mluop_max(CARAFE_ITEM_CHANNELS / a->C, CARAFE_PAD));
  plan_small(a, machine, carafe_small_slots(a) * a->C, SMALL_BYTES, job);
}

/* Empty lanes and tiles of one vector take longer than transposing. */
static bool fits_a_vector(const void *args, mluOpHandle_t machine) {
  const struct carafe_args *a = args;
  return machine->vector_floats >= 8 && a->C <= machine->vector_floats;
}

static bool stores_pixels(const void *args, mluOpHandle_t machine) {
  (void)machine;
  return ((const struct carafe_args *)args)->plan.planes == NULL;
}

static const struct mluop_way forward_ways[] = {
    {"small_channels", stores_pixels, fits_a_vector, plan_forward_small, carafe_forward_small},
    {"general", NULL, NULL, plan_forward_general, carafe_forward}};

/* Backward. */

enum { BACKWARD_COLUMNS = 8, BLOCK_BYTES = 1 << 22 };

/* Bytes of a slice of grad_output that stay near until their second reader. */
enum { SLICE_BYTES = 1 << 16, MIN_WINDOWS = 8, MOST_WINDOWS = 16 };

/* Columns are many, as windows beside a block contribute to it: what its rows need comes by in
   order, so that a share of the last cache is enough for it. Where a block begins does not depend
   on the number of threads. */
static void plan_backward_general(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_args *a = args;
  struct mluop_arena arena = {NULL, 0};
  const int64_t part = evenly(a->C, CARAFE_ITEM_CHANNELS), most = CARAFE_ITEM_CHANNELS;
  a->plan.rows = block_rows(a, machine);
  a->plan.channels = part < a->C ? carafe_padded(part) : a->C;
  a->plan.groups = part < a->C ? 1 : mluop_min(a->G, mluop_max(1, most / carafe_padded(a->C)));
  const int64_t pixel = a->plan.groups * carafe_padded(a->C) * (int64_t)sizeof(float);
  const int64_t fit = BLOCK_BYTES / ((2 * carafe_slots(a) + a->S * a->S) * pixel);
  a->plan.columns = evenly(a->W, mluop_max(fit - (a->K - 1), BACKWARD_COLUMNS));
  a->plan.windows =
      mluop_max(MIN_WINDOWS, mluop_min(SLICE_BYTES / (CARAFE_TILE * pixel), MOST_WINDOWS));
  carafe_lay_out_backward(&arena, a);
  plan_items(a, a->plan.groups * carafe_padded(a->C), arena.used, job);
}

static bool can_be_small(const void *args, mluOpHandle_t machine) {
  (void)machine;
  const struct carafe_args *a = args;
  return a->K <= CARAFE_SMALL_BACKWARD_K && a->C <= MOST_SMALL_CHANNELS &&
         a->K * a->S * a->S <= CARAFE_SUM_TERMS * CARAFE_TILE;
}

/* Vectors of positions have no lanes that are not used, and need no sums across lanes. */
static bool has_small_channels(const void *args, mluOpHandle_t machine) {
  const struct carafe_args *a = args;
  return a->C <= (a->G > 1 ? 2 * machine->vector_floats : 3 * machine->vector_floats / 2);
}

/* Where a column has vectors of groups, these are done one after the other, in the order of the
   mask. Else weights of a row of windows are kept, which stay in the second cache if positions are
   few: whole rows of some groups, or parts of rows. */
static void plan_backward_small(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  struct carafe_args *a = args;
  const int64_t taps = a->K * a->K, rings = 2 * carafe_small_slots(a) * a->C;
  const int spreads = carafe_small_spreads(a, machine->vector_floats);
  a->plan.groups =
      spreads ? evenly(a->G, mluop_max(CARAFE_ITEM_CHANNELS / a->C, CARAFE_PAD)) : a->G;
  plan_small(a, machine, spreads ? rings : CARAFE_TILE * (taps + a->C) + rings,
             spreads ? BLOCK_BYTES : SMALL_BYTES, job);
}

static const struct mluop_way backward_ways[] = {
    {"small_channels", can_be_small, has_small_channels, plan_backward_small,
     carafe_backward_small},
    {"general", NULL, NULL, plan_backward_general, carafe_backward}};

void mluop_carafe_plan(mluOpHandle_t handle, struct carafe_args *args, struct mluop_job *job) {
  if (args->output != NULL) {
    mluop_plan(handle, "carafe_forward", forward_ways, args, job);
  } else {
    mluop_plan(handle, "carafe_backward", backward_ways, args, job);
  }
}
