/* SPDX-License-Identifier: Apache-2.0 */
/* Soft selection: the candidate with the highest score is selected, and the scores of all others
   decay by their IoU with it. Candidates stay in the order of their numbers, so that the first of
   the highest scores is the right one. One pass over the candidates does the decay and finds the
   best of each block for the next selection. */
#include "families/nms/select.h"

/* The score of a candidate that is out: scores are higher. */
#define OUT (-HUGE_SCORE)
#define HUGE_SCORE mluop_float_of_bits(0x7f800000u)

struct soft_candidates {
  struct nms_list list;
  float *score;
  int32_t *number, *label;
  int32_t *best; /* of each block, the highest of its scores, as a signed number of that order */
};

/* e^x for x <= 0, within 2 units in the last place, by operations that are rounded alike on every
   CPU: e^x = 2^n * e^r with |r| <= ln(2)/2. The high part of ln(2) has so few bits that its product
   with n is exact. The result is scaled in two steps, the second of which alone may round. */
MLUOP_INLINE float soft_exp(float x) {
  const float at = x >= -150.0f ? x : -150.0f;
  const int32_t n = (int32_t)(at * 1.44269504f - 0.5f);
  const float count = (float)n;
  const float r = (at - count * 0.693359375f) - count * -2.12194440e-4f;
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

MLUOP_INLINE float decayed(float score, float iou, enum nms_method method, float threshold,
                           float sigma) {
  if (method == NMS_LINEAR) return iou >= threshold ? score * (1.0f - iou) : score;
  const float weight = soft_exp(-(iou * iou) / (2.0f * sigma));
  return iou == iou ? score * weight : score;
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

/* The scores of a block after a selection; returns how many candidates are left in it. */
MLUOP_INLINE int64_t decay_block(struct soft_candidates *c, int64_t first,
                                 const struct soft_selected *by, const struct nms_rule *rule,
                                 enum nms_method method) {
  const struct nms_list *list = &c->list;
  const float extra = rule->extra, threshold = rule->iou_threshold, sigma = rule->sigma;
  const float limit = rule->confidence_threshold;
  int32_t best = INT32_MIN, left = 0;
  for (int64_t i = first; i < first + NMS_BLOCK; i++) {
    const struct nms_box box = {list->x1[i], list->y1[i], list->x2[i], list->y2[i]};
    const float iou = nms_iou(by->box, by->area, box, list->area[i], extra);
    const float before = c->score[i];
    const float after = decayed(before, iou, method, threshold, sigma);
    const float score = c->label[i] == by->label ? after : before;
    const float kept = score > limit ? score : OUT;
    c->score[i] = kept;
    left += kept > OUT;
    const int32_t rank = score_rank(kept);
    best = rank > best ? rank : best;
  }
  c->best[first / NMS_BLOCK] = best;
  return left;
}

static void rank_block(struct soft_candidates *c, int64_t first) {
  int32_t best = INT32_MIN;
  for (int64_t i = first; i < first + NMS_BLOCK; i++) {
    const int32_t rank = score_rank(c->score[i]);
    best = rank > best ? rank : best;
  }
  c->best[first / NMS_BLOCK] = best;
}

/* The place of the first of the highest scores, or -1 if no candidate is left. */
static int64_t find_best(const struct soft_candidates *c) {
  const int64_t blocks = nms_whole_blocks(c->list.count) / NMS_BLOCK;
  int64_t where = 0;
  for (int64_t b = 1; b < blocks; b++) {
    if (c->best[b] > c->best[where]) where = b;
  }
  if (blocks == 0 || c->best[where] == score_rank(OUT)) return -1;
  int64_t i = where * NMS_BLOCK;
  while (score_rank(c->score[i]) != c->best[where]) i++;
  return i;
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
  for (int64_t i = 0; i < c->list.count; i += NMS_BLOCK) rank_block(c, i);
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
  for (int64_t i = 0; i < end; i += NMS_BLOCK) rank_block(c, i);
}

static void decay(struct soft_candidates *c, const struct soft_selected *by,
                  const struct nms_rule *rule) {
  int64_t left = 0;
  for (int64_t i = 0; i < c->list.count; i += NMS_BLOCK) {
    left += rule->method == NMS_LINEAR ? decay_block(c, i, by, rule, NMS_LINEAR)
                                       : decay_block(c, i, by, rule, NMS_GAUSSIAN);
  }
  if (left * 2 < c->list.count) compact(c);
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
  return taken;
}

int64_t MLUOP_VARIANT(nms_select_soft)(const struct nms_set *set, char *memory) {
  const int64_t room = nms_whole_blocks(set->form->n);
  struct soft_candidates c;
  nms_take_list(&memory, &c.list, room);
  c.score = nms_take(&memory, room * (int64_t)sizeof(*c.score));
  c.number = nms_take(&memory, room * (int64_t)sizeof(*c.number));
  c.label = nms_take(&memory, room * (int64_t)sizeof(*c.label));
  c.best = nms_take(&memory, room / NMS_BLOCK * (int64_t)sizeof(*c.best));
  collect(&c, set);
  int64_t count = 0;
  while (count < set->rule->limit) {
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
