/* SPDX-License-Identifier: Apache-2.0 */
/* Soft selection: the candidate with the highest score is selected, and the scores of all others
   decay by their IoU with it. Candidates stay in the order of their numbers, so that the first of
   the highest scores is the right one. One pass over the candidates does the decay and finds the
   best of each block for the next selection. Blocks that the selected box does not touch stay as
   they are: an IoU of 0 changes no score. */
#include "families/nms/select.h"

/* The score of a candidate that is out: scores are higher. */
#define OUT (-HUGE_SCORE)
#define HUGE_SCORE mluop_float_of_bits(0x7f800000u)

/* Few enough that many blocks are not touched. */
enum { SOFT_BLOCK = 16 };

struct soft_candidates {
  struct nms_list list;
  int64_t left; /* how many are not out */
  float *score;
  int32_t *number, *label;
  int32_t *best; /* of each block, the highest of its scores, as a signed number of that order */
};

/* e^x for -150 <= x <= 0, within 2 units in the last place, by operations that are rounded alike on
   every CPU: e^x = 2^n * e^r with |r| <= ln(2)/2. The high part of ln(2) has so few bits that its
   product with n is exact. The result is scaled in two steps, the second of which alone may round.
 */
MLUOP_INLINE float soft_exp(float x) {
  const int32_t n = (int32_t)(x * 1.44269504f - 0.5f);
  const float count = (float)n;
  const float r = (x - count * 0.693359375f) - count * -2.12194440e-4f;
  float sum = 1.0f / 5040.0f;
  sum = sum * r + 1.0f / 720.0f;
  sum = sum * r + 1.0f / 120.0f;
  sum = sum * r + 1.0f / 24.0f;
  sum = sum * r + 1.0f / 6.0f;
  sum = sum * r + 0.5f;
  const float power = ((sum * r) * r + r) + 1.0f;
  const float scale = mluop_float_of_bits((uint32_t)(n + 100 + 127) << 23);
  return power * scale * 7.8886091e-31f; /* 2^-100 */
}

/* A signed number that is larger for a higher score. */
MLUOP_INLINE int32_t score_rank(float score) {
  const uint32_t bits = mluop_bits_of_float(score + 0.0f);
  return (int32_t)(bits ^ ((bits >> 31) != 0 ? 0x7fffffffu : 0u));
}

/* What a selected box does to the others. */
struct soft_selected {
  struct nms_box box;
  float area, score;
  int32_t number, label;
};

static void rank_block(struct soft_candidates *c, int64_t first) {
  int32_t best = INT32_MIN;
  for (int64_t i = first; i < first + SOFT_BLOCK; i++) {
    const int32_t rank = score_rank(c->score[i]);
    best = rank > best ? rank : best;
  }
  c->best[first / SOFT_BLOCK] = best;
}

/* How many candidates of a block are not out. */
static int32_t count_left(const float *scores) {
  int32_t left = 0;
  for (int64_t k = 0; k < SOFT_BLOCK; k++) left += scores[k] != OUT;
  return left;
}

/* Whether the selected box and one of a block have an area in common. */
MLUOP_INLINE int touches_block(const struct nms_list *list, int64_t first, struct nms_box box,
                               float extra) {
  int touched = 0;
  for (int64_t i = first; i < first + SOFT_BLOCK; i++) {
    const float w = (nms_smaller(box.x2, list->x2[i]) - nms_larger(box.x1, list->x1[i])) + extra;
    const float h = (nms_smaller(box.y2, list->y2[i]) - nms_larger(box.y1, list->y1[i])) + extra;
    touched |= (w > 0.0f) & (h > 0.0f);
  }
  return touched;
}

/* What the scores of a block are multiplied by: 1 where the IoU is NaN. Each loop is so simple that
   compilers make vectors of it. */
MLUOP_INLINE void find_decay(float decay[SOFT_BLOCK], const struct nms_list *list, int64_t first,
                             const struct soft_selected *by, const struct nms_rule *rule) {
  for (int64_t k = 0; k < SOFT_BLOCK; k++) {
    const int64_t i = first + k;
    const struct nms_box box = {list->x1[i], list->y1[i], list->x2[i], list->y2[i]};
    const float iou = nms_iou(by->box, by->area, box, list->area[i], rule->extra);
    decay[k] = iou == iou ? iou : 0.0f;
  }
  if (rule->method == NMS_LINEAR) {
    for (int64_t k = 0; k < SOFT_BLOCK; k++) {
      decay[k] = decay[k] >= rule->iou_threshold ? 1.0f - decay[k] : 1.0f;
    }
    return;
  }
  const float divisor = 2.0f * rule->sigma;
  for (int64_t k = 0; k < SOFT_BLOCK; k += VL) {
    const vf iou = vf_load(decay + k);
    vf_store(decay + k, vf_max(-(iou * iou) / vf_set(divisor), vf_set(-150.0f)));
  }
  for (int64_t k = 0; k < SOFT_BLOCK; k++) decay[k] = soft_exp(decay[k]);
}

/* The scores of a block after a selection. */
static void decay_block(struct soft_candidates *c, int64_t first, const struct soft_selected *by,
                        const struct nms_rule *rule) {
  const float limit = rule->confidence_threshold;
  const int32_t label = by->label;
  float decay[SOFT_BLOCK];
  find_decay(decay, &c->list, first, by, rule);
  float *scores = c->score + first;
  const int32_t *labels = c->label + first;
  c->left -= count_left(scores);
  for (int64_t k = 0; k < SOFT_BLOCK; k++) {
    const float score = scores[k] * (labels[k] == label ? decay[k] : 1.0f);
    scores[k] = score > limit ? score : OUT;
  }
  c->left += count_left(scores);
  rank_block(c, first);
}

/* The place of the first of the highest scores, or -1 if no candidate is left. */
static int64_t find_best(const struct soft_candidates *c) {
  const int64_t blocks = nms_whole_blocks(c->list.count) / SOFT_BLOCK;
  int64_t where = 0;
  for (int64_t b = 1; b < blocks; b++) {
    if (c->best[b] > c->best[where]) where = b;
  }
  if (blocks == 0 || c->best[where] == score_rank(OUT)) return -1;
  int64_t i = where * SOFT_BLOCK;
  while (score_rank(c->score[i]) != c->best[where]) i++;
  return i;
}

static void rank_all(struct soft_candidates *c) {
  c->left = c->list.count;
  const int64_t end = nms_whole_blocks(c->left);
  for (int64_t i = 0; i < end; i += SOFT_BLOCK) rank_block(c, i);
}

static void collect(struct soft_candidates *c, const struct nms_set *set) {
  for (int64_t i = 0; i < set->form->n; i++) {
    const float score = mluop_load_as(set->scores, i, set->form->scores_half);
    if (!(score > set->rule->confidence_threshold)) continue;
    const struct nms_box box = nms_read_box(set->form, set->boxes, i);
    const int64_t at = c->list.count;
    nms_append(&c->list, box, nms_area(box, set->rule->extra));
    if (at % NMS_BLOCK == 0) {
      for (int64_t k = at; k < at + NMS_BLOCK; k++) {
        c->score[k] = OUT;
        c->label[k] = 0;
      }
    }
    c->score[at] = score;
    c->number[at] = (int32_t)i;
    c->label[at] = nms_label(set, (int32_t)i);
  }
  rank_all(c);
}

/* Candidates that are out take time in every pass: they go when they are half of all. */
static void compact(struct soft_candidates *c) {
  struct nms_list *list = &c->list;
  const int64_t count = list->count;
  int64_t to = 0;
  for (int64_t i = 0; i < count; i++) {
    if (c->score[i] == OUT) continue;
    list->x1[to] = list->x1[i];
    list->y1[to] = list->y1[i];
    list->x2[to] = list->x2[i];
    list->y2[to] = list->y2[i];
    list->area[to] = list->area[i];
    c->score[to] = c->score[i];
    c->number[to] = c->number[i];
    c->label[to] = c->label[i];
    to++;
  }
  list->count = to;
  const int64_t end = nms_whole_blocks(to);
  for (int64_t i = to; i < end; i++) c->score[i] = OUT;
  rank_all(c);
}

static void decay(struct soft_candidates *c, const struct soft_selected *by,
                  const struct nms_rule *rule) {
  for (int64_t i = 0; i < c->list.count; i += SOFT_BLOCK) {
    if (touches_block(&c->list, i, by->box, rule->extra)) decay_block(c, i, by, rule);
  }
  if (c->left * 2 < c->list.count) compact(c);
}

static struct soft_selected take(struct soft_candidates *c, int64_t at) {
  const struct nms_list *list = &c->list;
  const struct soft_selected taken = {
      .box = {list->x1[at], list->y1[at], list->x2[at], list->y2[at]},
      .area = list->area[at],
      .score = c->score[at],
      .number = c->number[at],
      .label = c->label[at]};
  c->score[at] = OUT;
  c->left--;
  rank_block(c, at / SOFT_BLOCK * SOFT_BLOCK);
  return taken;
}

int64_t MLUOP_VARIANT(nms_select_soft)(const struct nms_set *set, char *memory) {
  const int64_t room = nms_whole_blocks(set->form->n);
  struct soft_candidates c;
  nms_take_list(&memory, &c.list, room);
  c.score = nms_take(&memory, room * (int64_t)sizeof(*c.score));
  c.number = nms_take(&memory, room * (int64_t)sizeof(*c.number));
  c.label = nms_take(&memory, room * (int64_t)sizeof(*c.label));
  c.best = nms_take(&memory, room / SOFT_BLOCK * (int64_t)sizeof(*c.best));
  collect(&c, set);
  int64_t count = 0;
  while (count < set->rule->limit && !nms_ends(set, count)) {
    const int64_t at = find_best(&c);
    if (at < 0) break;
    const struct soft_selected selected = take(&c, at);
    set->kept[count] = selected.number;
    set->scores_out[count] = selected.score;
    count++;
    decay(&c, &selected, set->rule);
  }
  return count;
}
