/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_CARAFE_NCHW_H_
#define MLUOP_FAMILIES_CARAFE_NCHW_H_

/* An output in NCHW. That of the windows in turn is stored to scratch memory, which stays in the
   second-level cache, as NHWC; from there it goes into planes. */

#include "families/carafe/pack.h"
#include "layout/kernels.h"

static const float *planes_input(const struct walk *s) {
  return (const float *)s->scratch + carafe_weight_floats(s->args);
}

/* Where the output of a slice is stored. Pixels in scratch memory have the channels in turn only;
   store.h counts from the first one of a group on. */
static struct pixels output_of(const struct walk *s, int64_t slice, int64_t group) {
  const struct carafe_args *a = s->args;
  if (a->plan.planes == NULL) return pixels_in(s, slice, group, a->output, a->C);
  const int64_t first = (group - s->groups.begin) * a->C - s->channel;
  const int64_t pixel = a->plan.planes->from.pitch;
  const float *output = planes_input(s);
  char *at = (char *)((uintptr_t)output + (uintptr_t)(first * a->plan.planes->size));
  return pixels_at(s, slice, at, pixel, (s->windows.end - s->windows.begin) * a->S * pixel);
}

/* Rows of pixels under whole rows of windows follow each other in a plane, too: they are one. */
static void put_into_planes(const struct walk *s) {
  const struct carafe_args *a = s->args;
  const int64_t pixels = (s->windows.end - s->windows.begin) * a->S, row = a->S * a->W;
  const int64_t rows = pixels == row ? a->S : 1, channel = s->groups.begin * a->C + s->channel;
  const int64_t at = first_pixel(s, s->row, s->windows.begin) - s->n * a->H * a->S * row;
  struct layout_args part = *a->plan.planes;
  part.input = (const char *)planes_input(s);
  part.output = (char *)a->output + at * part.size;
  part.output += (s->n * a->G * a->C + channel) * part.to.pitch;
  part.lines = a->S / rows;
  part.from.line = pixels * part.from.pitch;
  part.to.line = row * part.size;
  part.rows.count = pixels * rows;
  part.rows.blocks = mluop_max(1, part.rows.count / part.rows.step);
  part.columns.count = (s->groups.end - s->groups.begin) * channels_of(s);
  part.columns.blocks = mluop_max(1, part.columns.count / part.columns.step);
  const int64_t blocks = part.lines * part.rows.blocks * part.columns.blocks;
  MLUOP_VARIANT(layout_convert)(&part, 0, blocks, NULL);
}

#endif /* MLUOP_FAMILIES_CARAFE_NCHW_H_ */
