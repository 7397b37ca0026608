/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_PSAMASK_PIXELS_H_
#define MLUOP_FAMILIES_PSAMASK_PIXELS_H_

/* Distribute is a transpose. For an image and a target row th, with p the number of a pixel:

     y[th * W + tw][p]  <->  x[p][start(p, th) + tw],  begin(p) <= tw < end(p)

   where start(p, th) is the mask position of target (th, 0). VL pixels by VL targets are a tile,
   transposed in registers: it is read in runs along one side and written in runs along the other.
   p, th and tw count within one image. */

#include "families/psamask/job.h"
#include "families/psamask/window.h"
#include "vector/simd.h"

/* The mask rows of up to VL pixels in a row. */
struct pixel_vector {
  int64_t count;
  int64_t at[VL]; /* of target (0, 0) in the masks of the image; may be outside */
  int64_t begin[VL],
      end[VL]; /* targets tw that the mask reaches; none for pixels that are missing */
  int64_t first[VL], last[VL]; /* targets th, first to last - 1 */
  int64_t all_begin, all_end;  /* tw that all reach */
  int64_t any_begin, any_end;  /* tw that any reaches */
  int64_t all_first, all_last; /* th */
  int64_t any_first, any_last;
};

static inline void set_pixels(struct pixel_vector *v, const struct psamask_args *a, int64_t p,
                              int64_t count) {
  const int64_t mask = a->h_mask * a->w_mask;
  int64_t h = p / a->W, w = p % a->W;
  v->count = count;
  v->all_begin = v->all_first = 0;
  v->any_begin = v->all_end = a->W;
  v->any_first = v->all_last = a->H;
  v->any_end = v->any_last = 0;
  for (int64_t i = 0; i < count; i++) {
    const struct window rows = window_of(h, a->H, a->h_mask);
    const struct window cols = window_of(w, a->W, a->w_mask);
    v->at[i] = (p + i) * mask + rows.origin * a->w_mask + cols.origin;
    v->begin[i] = cols.begin;
    v->end[i] = cols.end;
    v->first[i] = rows.begin;
    v->last[i] = rows.end;
    v->all_begin = larger(v->all_begin, cols.begin);
    v->all_end = smaller(v->all_end, cols.end);
    v->any_begin = smaller(v->any_begin, cols.begin);
    v->any_end = larger(v->any_end, cols.end);
    v->all_first = larger(v->all_first, rows.begin);
    v->all_last = smaller(v->all_last, rows.end);
    v->any_first = smaller(v->any_first, rows.begin);
    v->any_last = larger(v->any_last, rows.end);
    if (++w == a->W) {
      w = 0;
      h++;
    }
  }
  for (int64_t i = count; i < VL; i++) {
    v->at[i] = 0;
    v->begin[i] = v->end[i] = v->first[i] = v->last[i] = 0;
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

#endif /* MLUOP_FAMILIES_PSAMASK_PIXELS_H_ */
