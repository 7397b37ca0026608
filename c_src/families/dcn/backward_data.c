/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "families/dcn/column_gradients.h"
#include "families/dcn/columns.h"
#include "families/dcn/kernels.h"
#include "families/dcn/places.h"

/* ------------------------------------------------------------------------- pixels of a block */

/* Whether one of so many samples has a corner in a slab. */
static int reaches(const struct dcn_samples *b, size_t at, size_t count,
                   const struct dcn_slab *slab) {
  for (size_t end = at + count; at < end; at++) {
    for (int k = 0; k < 4; k++) {
      const int64_t corner = b->places[at / DCN_LANES].at[k][at % DCN_LANES];
      if (corner >= slab->begin && corner < slab->end) return 1;
    }
  }
  return 0;
}

/* Finds the pixels of a block that a slab needs: all that are at home there, else those that reach
   it. Returns how many. */
static int64_t choose_pixels(const struct dcn_samples *b, const struct dcn_slab *slab, int home,
                             int32_t *chosen) {
  const size_t each = (size_t)(b->range.taps * b->range.groups);
  int64_t count = 0;
  for (int32_t r = 0; r < b->range.pixels.count; r++) {
    chosen[count] = r;
    count += home || reaches(b, (size_t)r * each, each, slab);
  }
  return count;
}

/* ------------------------------------------------------------------------ gradients of samples */

/* What a sample adds to grad_input, and what its coordinates are needed for. */
struct scatter {
  float *to[4]; /* nowhere for a corner outside of the slab or of weight 0 */
  vf weight[4]; /* with the mask */
  vf ly, lx, hy, hx;
};

MLUOP_INLINE struct scatter scatter_at(const struct dcn_places *p, size_t lane,
                                       const struct dcn_slab *slab, float *map, float *nowhere) {
  struct scatter scatter;
  for (int k = 0; k < 4; k++) {
    const int64_t at = p->at[k][lane];
    const float weight = p->weight[k][lane];
    scatter.to[k] = at < slab->begin || at >= slab->end || weight == 0.0f ? nowhere : map + at;
    scatter.weight[k] = vf_set(weight * p->mask[lane]);
  }
  scatter.ly = vf_set(p->ly[lane]);
  scatter.lx = vf_set(p->lx[lane]);
  scatter.hy = vf_set(1.0f - p->ly[lane]);
  scatter.hx = vf_set(1.0f - p->lx[lane]);
  return scatter;
}

/* Channels [i, i + count): adds to grad_input, and to the sums for mask, y and x. */
MLUOP_INLINE void add_channels(const struct dcn_sample *sample, const struct scatter *scatter,
                               const float *grads, int64_t i, int64_t count, vf sum[3],
                               int is_half) {
  vf v[4], to[4];
  const vf grad = count == VL ? vf_load(grads + i) : vf_load_part(grads + i, count);
  for (int k = 0; k < 4; k++) {
    const float *from = scatter->to[k] + i;
    v[k] = dcn_corner(sample, k, i, count, is_half);
    to[k] =
        vf_fma(scatter->weight[k], grad, count == VL ? vf_load(from) : vf_load_part(from, count));
  }
  for (int k = 0; k < 4; k++) {
    if (count == VL) {
      vf_store(scatter->to[k] + i, to[k]);
    } else {
      vf_store_part(scatter->to[k] + i, to[k], count);
    }
  }
  sum[0] = vf_fma(grad, dcn_blend(sample, v), sum[0]);
  sum[1] = vf_fma(grad, vf_fma(scatter->lx, v[3] - v[1], scatter->hx * (v[2] - v[0])), sum[1]);
  sum[2] = vf_fma(grad, vf_fma(scatter->ly, v[3] - v[2], scatter->hy * (v[1] - v[0])), sum[2]);
}

/* `partial` receives the sums for mask, y and x. */
MLUOP_INLINE void add_sample(const struct dcn_sample *sample, const struct scatter *scatter,
                             float mask, const float *grads, int64_t count, float *partial,
                             int is_half) {
  vf sum[3] = {vf_set(0.0f), vf_set(0.0f), vf_set(0.0f)};
  int64_t i = 0;
  for (; i + VL <= count; i += VL) add_channels(sample, scatter, grads, i, VL, sum, is_half);
  if (i < count) add_channels(sample, scatter, grads, i, count - i, sum, is_half);
  float sums[4];
  vf_store_sums4(sums, sum[0], sum[1], sum[2], sum[0]);
  partial[0] = sums[0];
  partial[1] = mask * sums[1];
  partial[2] = mask * sums[2];
}

static int is_outside(const struct dcn_places *p, size_t lane) {
  return (p->at[0][lane] & p->at[1][lane] & p->at[2][lane] & p->at[3][lane]) < 0;
}

/* Where the sums of a block of pixels go: only those of the slab where it is at home. */
struct sums {
  float *first;        /* of the first pixel, tap and deformable group */
  int64_t pixel, pair; /* from one to the next */
  int home;
};

/* Of `count` chosen pixels of a block. `from` and `to` are the images of input and grad_input. */
MLUOP_INLINE void add_rows(const struct dcn_samples *b, int64_t count, const struct dcn_slab *slab,
                           const struct sums *sums, int64_t columns, const void *from, float *to,
                           struct dcn_data_memory *m, int is_half) {
  const struct dcn_piece *const end = b->pieces + b->piece_count;
  const float *grads = m->columns;
  for (int64_t row = 0; row < count; row++, grads += columns) {
    size_t at = (size_t)m->chosen[row] * (size_t)b->piece_count;
    int64_t group = 0;
    float *sum = sums->first + m->chosen[row] * sums->pixel;
    for (const struct dcn_piece *piece = b->pieces; piece < end; piece++, at++) {
      const struct dcn_places *places = &b->places[at / DCN_LANES];
      const size_t lane = at % DCN_LANES;

      float unused[3], *partial = sums->home ? sum + group * sums->pair : unused;
      if (++group == b->range.groups) group = 0, sum += 3;
      partial[0] = partial[1] = partial[2] = 0.0f;
      if (sums->home ? is_outside(places, lane) : !reaches(b, at, 1, slab)) continue;
      const struct dcn_sample sample =
          dcn_sample_at(places, lane, mluop_at(from, piece->channel, is_half), is_half);
      const struct scatter scatter =
          scatter_at(places, lane, slab, to + piece->channel, m->nowhere);
      add_sample(&sample, &scatter, places->mask[lane], grads + piece->column, piece->count,
                 partial, is_half);
    }
  }
}

/* ------------------------------------------------------------------------------------- kernels */

static void clear(const struct dcn_args *a, const struct dcn_slice *slice,
                  const struct dcn_slab *slab, int64_t map) {
  for (int64_t at = slab->begin; at < slab->end; at += a->shape.C) {
    memset(a->sums + map + at + slice->first, 0, (size_t)slice->channels * sizeof(float));
  }
}

static void store_halves(const struct dcn_args *a, const struct dcn_slice *slice,
                         const struct dcn_slab *slab, int64_t map) {
  for (int64_t at = slab->begin; at < slab->end; at += a->shape.C) {
    const int64_t first = map + at + slice->first;
    dcn_narrow(a->data.grad_input, first, a->sums + first, slice->channels, 1);
  }
}

/* A block of pixels: first the gradients of its columns, then what follows from them. */
static void block_of_pixels(const struct dcn_args *a, const struct dcn_slice *slice,
                            const struct dcn_slab *slab, int64_t image, int64_t block,
                            struct dcn_data_memory *m) {
  const struct dcn_shape *s = &a->shape;
  const struct dcn_pixels pixels = dcn_pixels(a, image * a->plan.blocks + block);
  const int64_t map = image * s->H * s->W * s->C;
  struct dcn_samples *const b = &m->samples;
  struct sums sums = {.pixel = dcn_taps(s) * 3, .home = dcn_is_home(a, &pixels, slab)};
  for (int64_t tap = 0; tap < dcn_taps(s); tap += a->plan.taps) {
    const struct dcn_some_taps taps = dcn_taps_from(a, tap);
    const int64_t columns = taps.count * slice->channels;
    b->range = dcn_range(s, &pixels, slice->first, slice->channels, tap * slice->channels, columns);
    dcn_place_samples(a, &b->range, b->places);
    dcn_set_pieces(s, slice->first, slice->channels, tap * slice->channels, columns, b);
    const int64_t count = choose_pixels(b, slab, sums.home, m->chosen);
    if (count == 0) continue;
    MLUOP_VARIANT(dcn_column_gradients)(a, slice, taps, &pixels, count, m);
    sums.first = dcn_partials(a, image, block, slice->index + b->range.group) + tap * 3;
    sums.pair =
        dcn_partials(a, image, block, slice->index + b->range.group + 1) + tap * 3 - sums.first;
    if (s->is_half) {
      add_rows(b, count, slab, &sums, columns, mluop_at(a->data.input, map, 1), a->sums + map, m,
               1);
    } else {
      add_rows(b, count, slab, &sums, columns, mluop_at(a->data.input, map, 0), a->sums + map, m,
               0);
    }
  }
}

/* Item: a slice of a slab of an image of the wave. */
void MLUOP_VARIANT(dcn_backward_data)(const void *vargs, int64_t begin, int64_t end,
                                      void *scratch) {
  const struct dcn_args *a = vargs;
  const struct dcn_wave *wave = &a->wave;
  struct mluop_arena arena = {scratch, 0};
  struct dcn_data_memory m = dcn_data_memory(a, &arena);
  memset(m.nowhere, 0, (size_t)a->plan.slice * sizeof(float));
  for (int64_t item = begin; item < end; item++) {
    const struct dcn_slice slice = dcn_slice(a, item % dcn_slices(a));
    const int64_t rest = item / dcn_slices(a);
    const struct dcn_slab slab = dcn_slab(a, rest % a->plan.slabs);
    const int64_t image = wave->image + rest / a->plan.slabs;
    const int64_t map = image * a->shape.H * a->shape.W * a->shape.C;
    if (wave->begin == 0) clear(a, &slice, &slab, map);
    for (int64_t i = wave->begin; i < wave->end && !mluop_interrupted(a->interrupt); i++) {
      block_of_pixels(a, &slice, &slab, image, dcn_turn(a, &slice, i), &m);
    }
    const int last = wave->end == a->plan.blocks;
    if (last && a->shape.is_half) store_halves(a, &slice, &slab, map);
  }
}

/* Adds up what the slices have for a deformable group of a block of pixels, and stores it. */
static void finish_group(const struct dcn_args *a, int64_t image, int64_t block, int64_t d) {
  const struct dcn_shape *s = &a->shape;
  const int64_t taps = dcn_taps(s), shared = s->C / s->deformable_groups;
  const int64_t first = dcn_slice_of(a, d * shared), last = dcn_slice_of(a, (d + 1) * shared - 1);
  const struct dcn_pixels pixels = dcn_pixels(a, image * a->plan.blocks + block);
  float *sum = dcn_partials(a, image, block, first + d);
  for (int64_t slice = first + 1; slice <= last; slice++) {
    const float *more = dcn_partials(a, image, block, slice + d);
    for (int64_t i = 0; i < pixels.count * taps * 3; i++) sum[i] += more[i];
  }
  struct dcn_pixel pixel = dcn_first_pixel(a, &pixels);
  for (int64_t r = 0; r < pixels.count; r++, dcn_next_pixel(a, &pixel)) {
    int64_t at = (dcn_number(a, &pixels, &pixel) * s->deformable_groups + d) * taps;
    for (int64_t t = 0; t < taps; t++, at++, sum += 3) {
      mluop_store_as(a->data.grad_offset, at * 2, sum[1], s->is_half);
      mluop_store_as(a->data.grad_offset, at * 2 + 1, sum[2], s->is_half);
      if (a->data.grad_mask != NULL) mluop_store_as(a->data.grad_mask, at, sum[0], s->is_half);
    }
  }
}

/* Item: a block of pixels of the wave. */
void MLUOP_VARIANT(dcn_finish_data)(const void *vargs, int64_t begin, int64_t end, void *scratch) {
  const struct dcn_args *a = vargs;
  const int64_t blocks = a->wave.end - a->wave.begin;
  (void)scratch;
  for (int64_t item = begin; item < end; item++) {
    for (int64_t d = 0; d < a->shape.deformable_groups; d++) {
      finish_group(a, a->wave.image + item / blocks, a->wave.begin + item % blocks, d);
    }
  }
}
