/* SPDX-License-Identifier: Apache-2.0 */
#include "families/border_align/geometry.h"
#include "families/border_align/kernels.h"

/* The backward of few channels, where ordering borders and holding lines would take longer than
   adding the gradients up: the sums of a whole list are held, in double, and the borders come in
   the order of boxes. Points and weights of some gradients are found together, whatever border and
   channel they are of, without branches that would depend on the data. */

enum { LANES = BORDER_ALIGN_LANES };

struct gradients {
  float across[LANES], start[LANES], end[LANES], step[LANES], grad[LANES];
  int32_t channel[LANES];
  int32_t line[LANES], place[LANES]; /* the pixel before each point */
  float product[4][LANES];           /* for this pixel and those after it */
};

/* The sums of a list: pixels in the order of its lines, the channels of a pixel side by side.
   Behind the last line and the last place is one more, which gets zeros. */
struct list_sums {
  double *at;
  int64_t line, place; /* so far apart are lines, and places */
};

/* mluop_axis_at in each lane. Returns how far behind the first pixel of the pair the point is, and
   takes the gradient of points outside away. */
MLUOP_INLINE vf pair_at(vf at, int64_t extent, int32_t *low_at, vf *grad) {
  const vf zero = vf_set(0.0f);
  const vf end = vf_set((float)extent), last = vf_set((float)(extent - 1));
  const vf below = vf_select(vf_at_least(end, at), *grad, zero);
  *grad = vf_select(vf_at_least(at, vf_set(-1.0f)), below, zero);
  const vf above = vf_select(vf_greater(at, zero), at, zero);
  const vf clamped = vf_select(vf_at_least(end, above), above, zero);
  const vf low = vf_of_int(vi_truncate(clamped));
  const vm inner = vf_greater(last, low);
  vi_store(low_at, vi_truncate(vf_select(inner, low, last)));
  return vf_select(inner, clamped - low, zero);
}

/* A pixel of weight 0 gets nothing, not even of an infinite gradient; the first of a pair always
   has a weight. */
MLUOP_INLINE vf share(vf weight, vf grad) {
  return vf_select(vf_nonzero(weight), weight * grad, vf_set(0.0f));
}

MLUOP_INLINE void find_products(struct gradients *some, int64_t lane,
                                const struct border_list *list) {
  vf grad = vf_load(some->grad + lane);
  const vf one = vf_set(1.0f);
  const vf far_line = pair_at(vf_load(some->across + lane), list->lines, some->line + lane, &grad);
  const vf start = vf_load(some->start + lane);
  const vf stride = (vf_load(some->end + lane) - start) / vf_set((float)list->a->shape.pool_size);
  const vf at = start + stride * vf_load(some->step + lane);
  const vf far_place = pair_at(at, list->places, some->place + lane, &grad);
  const vf near_place = one - far_place;
  const vf low = (one - far_line) * grad, high = share(far_line, grad);
  vf_store(some->product[0] + lane, near_place * low);
  vf_store(some->product[1] + lane, share(far_place, low));
  vf_store(some->product[2] + lane, near_place * high);
  vf_store(some->product[3] + lane, share(far_place, high));
}

static void add_gradients(struct gradients *some, int64_t count, const struct list_sums *sums,
                          const struct border_list *list) {
  for (int64_t lane = 0; lane < LANES; lane += VL) find_products(some, lane, list);
  for (int64_t i = 0; i < count; i++) {
    double *const sum =
        sums->at + some->line[i] * sums->line + some->place[i] * sums->place + some->channel[i];
    sum[0] += (double)some->product[0][i];
    sum[sums->place] += (double)some->product[1][i];
    sum[sums->line] += (double)some->product[2][i];
    sum[sums->line + sums->place] += (double)some->product[3][i];
  }
}

MLUOP_INLINE void add_borders(const struct border_list *list, const struct list_sums *sums,
                              int is_half) {
  const struct border_align_args *a = list->a;
  struct gradients some;
  memset(&some, 0, sizeof(some));
  int64_t i = 0;
  for (int64_t k = 0; k < a->shape.K; k++) {
    const struct border border = border_of(list, k);
    const int64_t row = border_row(list, k);
    for (int64_t c = 0; c < a->shape.C; c++) {
      some.across[i] = border.across;
      some.start[i] = border.start;
      some.end[i] = border.end;
      some.step[i] = (float)a->argmax[row + c];
      some.grad[i] = mluop_load_as(a->rows, row + c, is_half);
      some.channel[i] = (int32_t)c;
      if (++i < LANES) continue;
      add_gradients(&some, i, sums, list);
      i = 0;
    }
  }
  add_gradients(&some, i, sums, list);
}

MLUOP_INLINE void do_list(const struct border_list *list, double *room, int is_half) {
  const struct border_align_args *a = list->a;
  const struct list_sums sums = {room, (list->places + 1) * a->shape.C, a->shape.C};
  memset(room, 0, (size_t)border_align_sums(&a->shape) * sizeof(*room));
  add_borders(list, &sums, is_half);
  for (int64_t line = 0; line < list->lines; line++) {
    for (int64_t c = 0; c < a->shape.C; c++) {
      const double *const from = room + line * sums.line + c;
      const int64_t to = list->origin + line * list->line_step + c;
      for (int64_t place = 0; place < list->places; place++) {
        mluop_store_as(a->map_out, to + place * list->place_step, (float)from[place * sums.place],
                       is_half);
      }
    }
  }
}

/* Item: a list, without its order. */
void MLUOP_VARIANT(border_align_backward_small)(const void *vargs, int64_t begin, int64_t end,
                                                void *memory) {
  const struct border_align_args *a = vargs;
  struct mluop_arena arena = {memory, 0};
  const struct border_align_scratch scratch = border_align_take(a, &arena);
  for (int64_t index = begin; index < end; index++) {
    const struct border_list list = border_list_of(a, index, 0);
    if (a->shape.is_half) {
      do_list(&list, scratch.sums, 1);
    } else {
      do_list(&list, scratch.sums, 0);
    }
  }
}
