/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_LANES_H_
#define MLUOP_FAMILIES_PSAMASK_LANES_H_

/* Distribute is a transpose. For an image and a target row th, with p the number of a pixel:

     y[th * W + tw][p]  <->  x[p][start(p, th) + tw],  begin(p) <= tw < end(p)

   where start(p, th) is the mask position of target (th, 0). VL pixels by VL targets are a tile,
   transposed in registers: it is read in runs along one side and written in runs along the other.
   p, th and tw count within one image. */

#include "families/psamask/job.h"
#include "families/psamask/window.h"
#include "vector/simd.h"

/* The mask rows of up to VL pixels in a row. */
struct lanes {
  int64_t count;
  int64_t at[VL];              /* of target (0, 0) in the masks of the image; may be outside */
  int64_t begin[VL], end[VL];  /* targets tw that the mask reaches; none for lanes not in use */
  int64_t first[VL], last[VL]; /* targets th, first to last - 1 */
  int64_t all_begin, all_end;  /* tw that all reach */
  int64_t any_begin, any_end;  /* tw that any reaches */
  int64_t all_first, all_last; /* th */
  int64_t any_first, any_last;
};

static inline void set_lanes(struct lanes *l, const struct psamask_args *a, int64_t p,
                             int64_t count) {
  const int64_t mask = a->h_mask * a->w_mask;
  int64_t h = p / a->W, w = p % a->W;
  l->count = count;
  l->all_begin = l->all_first = 0;
  l->any_begin = l->all_end = a->W;
  l->any_first = l->all_last = a->H;
  l->any_end = l->any_last = 0;
  for (int64_t i = 0; i < count; i++) {
    const struct window rows = window_of(h, a->H, a->h_mask);
    const struct window cols = window_of(w, a->W, a->w_mask);
    l->at[i] = (p + i) * mask + rows.origin * a->w_mask + cols.origin;
    l->begin[i] = cols.begin;
    l->end[i] = cols.end;
    l->first[i] = rows.begin;
    l->last[i] = rows.end;
    l->all_begin = larger(l->all_begin, cols.begin);
    l->all_end = smaller(l->all_end, cols.end);
    l->any_begin = smaller(l->any_begin, cols.begin);
    l->any_end = larger(l->any_end, cols.end);
    l->all_first = larger(l->all_first, rows.begin);
    l->all_last = smaller(l->all_last, rows.end);
    l->any_first = smaller(l->any_first, rows.begin);
    l->any_last = larger(l->any_last, rows.end);
    if (++w == a->W) {
      w = 0;
      h++;
    }
  }
  for (int64_t i = count; i < VL; i++) {
    l->at[i] = 0;
    l->begin[i] = l->end[i] = l->first[i] = l->last[i] = 0;
  }
}

/* Goes over the pixels of an image; `at` is where target (0, 0) would be in its masks. */
struct pixel {
  int64_t p, w, at;
};

static inline struct pixel pixel_at(int64_t p, const struct psamask_args *a) {
  const int64_t h = p / a->W, w = p % a->W;
  const int64_t row = window_of(h, a->H, a->h_mask).origin;
  const int64_t column = window_of(w, a->W, a->w_mask).origin;
  return (struct pixel){p, w, p * a->h_mask * a->w_mask + row * a->w_mask + column};
}

MLUOP_INLINE void next_pixel(struct pixel *pixel, const struct psamask_args *a) {
  pixel->p++;
  pixel->at += a->h_mask * a->w_mask - 1;
  if (++pixel->w == a->W) {
    pixel->w = 0;
    pixel->at += a->W - a->w_mask;
  }
}

static inline void skip_pixels(struct pixel *pixel, int64_t count, const struct psamask_args *a) {
  pixel->p += count;
  pixel->w += count;
  pixel->at += count * (a->h_mask * a->w_mask - 1);
  for (; pixel->w >= a->W; pixel->w -= a->W) pixel->at += a->W - a->w_mask;
}

MLUOP_INLINE void store_tile(const vf rows[VL], float *out, int64_t pitch, int64_t height,
                             int64_t width) {
  if (height == VL && width == VL) {
    for (int j = 0; j < VL; j++) vf_store(out + j * pitch, rows[j]);
    return;
  }
  for (int j = 0; j < VL; j++) {
    if (j < height) vf_store_part(out + j * pitch, rows[j], larger(0, width));
  }
}

#endif /* MLUOP_FAMILIES_PSAMASK_LANES_H_ */
