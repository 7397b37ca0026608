/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/half.h"
#include "families/nms/call.h"
#include "families/nms/kernels.h"

/* Sets that are selected from at a time share this much memory for their results, for each box of
   an image and besides. */
enum { RESULT_BYTES_PER_BOX = 16, RESULT_BYTES = 1 << 18 };

/* What all threads together may have for each box, and each one of them besides: see docs. */
enum { BYTES_PER_BOX = 200, BYTES_PER_THREAD = 1 << 19 };

enum { BOX_COST = 80 * MLUOP_NANOSECOND };

/* A list of boxes ends with a whole block of 64; at most that, and a line, for each array. */
enum { SET_BYTES_PER_BOX = 124, SET_BYTES = 16384 };

static int64_t set_bytes(const struct nms_call *call) {
  return call->form.n * SET_BYTES_PER_BOX + SET_BYTES;
}

/* Sets in a wave of jobs, and the threads that work on them, within the memory above. */
static int64_t sets_at_once(const struct nms_call *call, int64_t room, int64_t sets) {
  const int64_t bytes = call->form.n * RESULT_BYTES_PER_BOX + RESULT_BYTES;
  return mluop_max(1, mluop_min(sets, bytes / (room * 8 + 8)));
}

static int64_t threads_at_once(const struct nms_call *call, int64_t threads) {
  const int64_t bytes = call->form.n * BYTES_PER_BOX + threads * BYTES_PER_THREAD;
  return mluop_max(1, mluop_min(threads, bytes / (set_bytes(call) + MLUOP_THREAD_GAP)));
}

/* Items that a thread takes at a time. Where there is no memory for all threads, so many that only
   some find any. */
static int64_t grain_of(const struct nms_call *call, int64_t count, int64_t threads) {
  const int64_t grain = mluop_grain(call->form.n * BOX_COST);
  const int64_t some = threads_at_once(call, threads);
  return mluop_max(grain, mluop_div_up(count, some < threads ? some : threads * 8));
}

static void store_number(const struct nms_call *call, int64_t at, float value) {
  if (call->form.boxes_half) {
    ((uint16_t *)call->output)[at] = mluop_float_to_half(value);
  } else {
    ((float *)call->output)[at] = value;
  }
}

/* Number `k` of a box as it was given, bit for bit. */
static void copy_number(const struct nms_call *call, int64_t at, int64_t box, int64_t k) {
  const struct nms_form *form = &call->form;
  const int64_t from = form->planes ? k * form->n + box : box * 4 + k;
  if (form->boxes_half) {
    ((uint16_t *)call->output)[at] = ((const uint16_t *)call->boxes)[from];
  } else {
    ((uint32_t *)call->output)[at] = ((const uint32_t *)call->boxes)[from];
  }
}

/* Result number `at` of the whole call. */
static void write_result(const struct nms_call *call, int64_t at, int64_t set, int32_t box,
                         float score) {
  int32_t *const numbers = call->output;
  switch (call->mode) {
    case MLUOP_NMS_OUTPUT_TARGET_INDICES:
      numbers[at] = box;
      return;
    case MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS:
      numbers[at * 3] = (int32_t)(set / call->form.classes);
      numbers[at * 3 + 1] = (int32_t)(set % call->form.classes);
      numbers[at * 3 + 2] = box;
      return;
    default: {
      const int64_t row = call->mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 ? at * 5 : at;
      const int64_t step =
          call->mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 ? 1 : call->plane;
      store_number(call, row, score);
      for (int64_t k = 0; k < 4; k++) copy_number(call, row + (k + 1) * step, box, k);
    }
  }
}

/* Zeros behind the results. */
static void pad(const struct nms_call *call, int64_t results) {
  if (call->padded <= results) return;
  const bool numbers = call->mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1 ||
                       call->mode == MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_2;
  const size_t element = numbers && call->form.boxes_half ? 2 : 4;
  const size_t behind = (size_t)(call->padded - results), first = (size_t)results;
  char *const output = call->output;
  switch (call->mode) {
    case MLUOP_NMS_OUTPUT_TARGET_INDICES:
      memset(output + first * 4, 0, behind * 4);
      return;
    case MLUOP_NMS_OUTPUT_TARGET_BATCH_AND_CLASS:
      memset(output + first * 12, 0, behind * 12);
      return;
    case MLUOP_NMS_OUTPUT_TARGET_CONFIDENCE_AND_POS_1:
      memset(output + first * 5 * element, 0, behind * 5 * element);
      return;
    default:
      for (size_t k = 0; k < 5; k++) {
        memset(output + (k * (size_t)call->plane + first) * element, 0, behind * element);
      }
  }
}

/* The results of a wave, in the order of its sets; returns how many there are with them. */
static int64_t write_results(const struct nms_call *call, const struct nms_args *args, int64_t sets,
                             int64_t results) {
  for (int64_t i = 0; i < sets; i++) {
    const int32_t *kept = args->kept + i * args->room;
    const float *scores = args->scores_out + i * args->room;
    for (int64_t k = 0; k < args->counts[i]; k++) {
      if (call->selected_scores != NULL) call->selected_scores[results] = scores[k];
      write_result(call, results++, args->first + i, kept[k], scores[k]);
    }
  }
  return results;
}

static bool is_hard(const void *vargs, mluOpHandle_t machine) {
  (void)machine;
  const struct nms_args *args = vargs;
  return args->rule->method == NMS_HARD && !args->form->rotated;
}

/* The kernel finds out where cells pay; tests of few boxes have them always. */
static bool never(const void *args, mluOpHandle_t machine) {
  (void)args;
  (void)machine;
  return false;
}

static void plan_cells(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  (void)machine;
  (void)job;
  ((struct nms_args *)args)->cells_only = true;
}

static void plan_sets(void *args, mluOpHandle_t machine, struct mluop_job *job) {
  (void)args;
  (void)machine;
  (void)job;
}

static const struct mluop_way ways[] = {{"cells", is_hard, never, plan_cells, nms_select},
                                        {"general", NULL, NULL, plan_sets, nms_select}};

/* Selects from all sets, wave by wave; returns how many results there are, or -1 without memory. */
static int64_t select_all(mluOpHandle_t handle, const struct nms_call *call, int64_t room) {
  const int64_t sets = call->images * call->form.classes;
  const int64_t wave = sets_at_once(call, room, sets);
  struct nms_args args = {.form = &call->form,
                          .rule = &call->rule,
                          .boxes = call->boxes,
                          .scores = call->scores,
                          .labels = call->labels,
                          .interrupt = &handle->interrupt,
                          .room = room};
  struct mluop_job job = {.count = wave,
                          .grain = grain_of(call, wave, mluop_num_threads(handle)),
                          .schedule = MLUOP_DYNAMIC,
                          .scratch_bytes = (size_t)set_bytes(call)};
  mluop_plan(handle, "nms", ways, &args, &job);
  char *memory = mluop_reserve(handle, (size_t)(wave * (room * 8 + 8)), &job);
  if (memory == NULL) return -1;
  args.counts = (int64_t *)(void *)memory;
  args.kept = (int32_t *)(void *)(memory + wave * 8);
  args.scores_out = (float *)(void *)(memory + wave * 8 + wave * room * 4);
  int64_t results = 0;
  for (; args.first < sets; args.first += wave) {
    job.count = mluop_min(wave, sets - args.first);
    mluop_parallel_for(handle, &job);
    if (mluop_is_stopped(&handle->interrupt)) return 0; /* counts may be what memory held before */
    results = write_results(call, &args, job.count, results);
  }
  return results;
}

bool nms_run(mluOpHandle_t handle, const struct nms_call *call) {
  const int64_t room = mluop_min(call->rule.limit, call->form.n);
  const bool any = call->images > 0 && call->form.classes > 0 && room > 0;
  const int64_t results = any ? select_all(handle, call, room) : 0;
  if (results < 0) return false;
  pad(call, results);
  *call->output_size = (int32_t)results;
  return true;
}
