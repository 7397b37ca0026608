/* SPDX-License-Identifier: Apache-2.0 */
/* Hard selection: a candidate is kept unless its IoU with a box that was kept before exceeds the
   threshold. Candidates come in the order of preference; each is decided once. */
#include "families/nms/cells.h"

/* Candidates around one object meet one of the best boxes early. So the list of all kept boxes
   comes first; cells pay when it takes so many vectors for each of the last candidates. All that
   are left get a slot then, so there must be as much to keep. */
enum { CANDIDATES_JUDGED = 64, VECTORS_PER_CANDIDATE = 28, CANDIDATES_PER_KEPT = 8 };

/* Below any. */
#define LEAST_IOU -3e38f

struct kept_list {
  struct nms_list boxes;
  int32_t *labels;
  bool look_at_each; /* see boxes_suppress */
};

/* Boxes that were kept: all of them, the best first; those that have no cell; those that have one,
   in their slots. */
struct kept_boxes {
  bool has_cells, cells_only;
  int64_t candidates, vectors; /* compared by the list, since they were last judged */
  struct nms_cells cells;
  struct kept_list all, without_cell, slots;
};

/* Whether one of `count` boxes suppresses the candidate. */
static int one_suppresses(const struct kept_list *kept, int64_t first, int64_t count,
                          const struct nms_candidate_box *c, const struct nms_rule *rule) {
  const struct nms_list *list = &kept->boxes;
  for (int64_t i = first; i < first + count; i++) {
    const struct nms_box box = {list->x1[i], list->y1[i], list->x2[i], list->y2[i]};
    const float iou = nms_iou(box, list->area[i], c->box, c->area, rule->extra);
    if (iou > rule->iou_threshold && kept->labels[i] == c->label) return 1;
  }
  return 0;
}

/* What VL boxes and a candidate share, and cover together. */
struct overlap {
  vf shared, joined;
};

MLUOP_INLINE struct overlap find_overlap(const struct nms_list *list, int64_t i,
                                         const struct nms_candidate_box *c, float extent) {
  const vf x1 = vf_max(vf_load(list->x1 + i), vf_set(c->box.x1));
  const vf y1 = vf_max(vf_load(list->y1 + i), vf_set(c->box.y1));
  const vf x2 = vf_min(vf_load(list->x2 + i), vf_set(c->box.x2));
  const vf y2 = vf_min(vf_load(list->y2 + i), vf_set(c->box.y2));
  const vf extra = vf_set(extent), zero = vf_set(0.0f);
  const vf shared = vf_max((x2 - x1) + extra, zero) * vf_max((y2 - y1) + extra, zero);
  return (struct overlap){shared, (vf_load(list->area + i) + vf_set(c->area)) - shared};
}

/* Whether boxes `first` to `end` - 1 suppress the candidate, `step` at a time. The last step may go
   on behind them: what is there matches nothing, unless the threshold is below 0. What a step
   shares is first compared with a product that is below what the threshold needs, by far more than
   its rounding: that saves most divisions. */
MLUOP_INLINE int boxes_suppress(const struct kept_list *kept, int64_t first, int64_t end,
                                int64_t step, const struct nms_candidate_box *c,
                                const struct nms_rule *rule, int64_t *vectors) {
  const vf limit = vf_set(0.999f * rule->iou_threshold), threshold = vf_set(rule->iou_threshold);
  for (int64_t i = first; i < end; i += step) {
    *vectors += step / VL;
    vf excess = vf_set(-1.0f), iou = vf_set(LEAST_IOU);
    for (int64_t k = 0; k < step; k += VL) {
      const struct overlap o = find_overlap(&kept->boxes, i + k, c, rule->extra);
      excess = vf_max(o.shared - limit * o.joined, excess);
    }
    if (!vm_any(vf_at_least(excess, vf_set(0.0f)))) continue;
    for (int64_t k = 0; k < step; k += VL) {
      const struct overlap o = find_overlap(&kept->boxes, i + k, c, rule->extra);
      iou = vf_max(o.shared / o.joined, iou);
    }
    if (!vm_any(vf_greater(iou, threshold))) continue;
    if (!kept->look_at_each || one_suppresses(kept, i, end - i < step ? end - i : step, c, rule)) {
      return 1;
    }
  }
  return 0;
}

static void add_to_list(struct kept_list *kept, const struct nms_candidate_box *c) {
  const int64_t at = kept->boxes.count;
  nms_append(&kept->boxes, c->box, c->area);
  if (at % NMS_BLOCK == 0) memset(kept->labels + at, 0, NMS_BLOCK * sizeof(*kept->labels));
  kept->labels[at] = c->label;
}

/* How many vectors of slots there are in a range, but for those where cells begin again. */
static int64_t vectors_of_range(const struct nms_cells *cells, const struct nms_range *range) {
  int64_t vectors = 0;
  for (int32_t row = 0; row < range->rows; row++) {
    const uint32_t first = nms_cell_below(cells, range, row);
    const uint32_t end = first + (uint32_t)range->columns;
    const int32_t last = cells->begin[end < cells->count ? end : cells->count];
    vectors += (last - cells->begin[first] + VL - 1) / VL;
  }
  return vectors;
}

static int cells_suppress(struct kept_boxes *kept, const struct nms_range *range,
                          const struct nms_candidate_box *c, const struct nms_rule *rule) {
  const struct nms_cells *cells = &kept->cells;
  for (int32_t row = 0; row < range->rows; row++) {
    const uint32_t first = nms_cell_below(cells, range, row);
    uint32_t end = first + (uint32_t)range->columns;
    if (end > cells->count) {
      const int32_t again = cells->begin[end - cells->count];
      if (boxes_suppress(&kept->slots, 0, again, VL, c, rule, &kept->vectors)) return 1;
      end = cells->count;
    }
    if (boxes_suppress(&kept->slots, cells->begin[first], cells->begin[end], VL, c, rule,
                       &kept->vectors)) {
      return 1;
    }
  }
  return 0;
}

static int list_suppresses(const struct kept_list *kept, const struct nms_candidate_box *c,
                           const struct nms_rule *rule, int64_t *vectors) {
  return boxes_suppress(kept, 0, kept->boxes.count, NMS_BLOCK, c, rule, vectors);
}

/* Whether now is the time for cells, with so many candidates left and boxes to keep. */
static bool cells_pay(struct kept_boxes *kept, const struct nms_rule *rule, int64_t left,
                      int64_t to_keep) {
  if (kept->has_cells || rule->iou_threshold < nms_cells_threshold) return false;
  if (kept->cells_only) return true;
  if (kept->candidates < CANDIDATES_JUDGED) return false;
  const bool slow = kept->vectors > VECTORS_PER_CANDIDATE * kept->candidates;
  kept->candidates = kept->vectors = 0;
  return slow && to_keep > left / CANDIDATES_PER_KEPT;
}

/* By cells if that is shorter than the list. */
static int is_suppressed(struct kept_boxes *kept, const struct nms_candidate_box *c,
                         const struct nms_rule *rule) {
  struct nms_range range;
  const int64_t vectors = kept->all.boxes.count / VL;
  const bool by_cells =
      kept->has_cells && nms_has_cell(&kept->cells, c) && nms_find_range(&kept->cells, c, &range) &&
      (kept->cells_only ||
       (range.rows < vectors && vectors_of_range(&kept->cells, &range) < vectors));
  kept->candidates++;
  if (!by_cells) return list_suppresses(&kept->all, c, rule, &kept->vectors);
  return cells_suppress(kept, &range, c, rule) ||
         list_suppresses(&kept->without_cell, c, rule, &kept->vectors);
}

static void put_in_cell(struct kept_boxes *kept, int32_t number,
                        const struct nms_candidate_box *c) {
  const int32_t slot = kept->cells.slot[number];
  if (slot < 0) {
    add_to_list(&kept->without_cell, c);
    return;
  }
  nms_put(&kept->slots.boxes, slot, c->box, c->area);
  kept->slots.labels[slot] = c->label;
}

static void take_kept_list(char **memory, struct kept_list *kept, const struct nms_set *set,
                           int64_t most) {
  kept->look_at_each = set->labels != NULL || set->rule->iou_threshold < 0.0f;
  nms_take_list(memory, &kept->boxes, most);
  kept->labels = nms_take(memory, nms_whole_blocks(most) * (int64_t)sizeof(*kept->labels));
}

/* From here on, boxes have cells: those in `all`, which were kept or are candidates still. */
static void start_cells(struct kept_boxes *kept, const struct nms_set *set,
                        const struct nms_candidate *all, int64_t count, char *memory) {
  struct nms_cells *cells = &kept->cells;
  const float threshold = set->rule->iou_threshold;
  const float reach =
      threshold < 0.5f ? 0.5f / threshold - 0.5f : nms_larger(1.0f - threshold, 0.0f);
  cells->reach = reach * 1.01f + 1e-3f;
  cells->extra = set->rule->extra;
  const int row_bits = nms_row_bits(count);
  cells->column_bits = row_bits + NMS_COLUMNS_PER_ROW_BITS;
  cells->count = (uint32_t)nms_cell_count(row_bits);
  cells->rows_per_unit = 1.0f / nms_typical_height(&kept->all.boxes, cells->extra);
  cells->columns_per_unit = cells->rows_per_unit * (float)(1 << NMS_COLUMNS_PER_ROW_BITS);
  cells->begin = nms_take(&memory, ((int64_t)cells->count + 1) * (int64_t)sizeof(*cells->begin));
  cells->slot = nms_take(&memory, set->form->n * (int64_t)sizeof(*cells->slot));
  take_kept_list(&memory, &kept->without_cell, set, count);
  take_kept_list(&memory, &kept->slots, set, count + VL);
  for (int64_t i = 0; i < count + VL; i++) nms_put(&kept->slots.boxes, i, nms_nothing, 1.0f);
  nms_give_slots(cells, set, all, count);
  kept->has_cells = true;
  for (int64_t i = 0; i < kept->all.boxes.count; i++) {
    const struct nms_candidate_box c = nms_candidate_box(set, set->kept[i]);
    put_in_cell(kept, set->kept[i], &c);
  }
}

int64_t MLUOP_VARIANT(nms_select_hard)(const struct nms_set *set, char *memory) {
  const struct nms_rule *rule = set->rule;
  const int64_t n = set->form->n;
  struct nms_candidate *a = nms_take(&memory, n * (int64_t)sizeof(*a));
  struct nms_candidate *b = nms_take(&memory, n * (int64_t)sizeof(*b));
  const int64_t candidates =
      nms_find_candidates(set->form, set->scores, rule->confidence_threshold, a);
  const int64_t most = candidates < rule->limit ? candidates : rule->limit;
  const struct nms_candidate *order = nms_sort_candidates(a, b, candidates);
  struct kept_boxes kept = {.cells_only = set->cells_only};
  take_kept_list(&memory, &kept.all, set, most);
  int64_t count = 0;
  for (int64_t i = 0; i < candidates && count < most && !nms_ends(set, i); i++) {
    if (cells_pay(&kept, rule, candidates - i, most - count)) {
      struct nms_candidate *const all = order == a ? b : a;
      for (int64_t k = 0; k < count; k++) all[k].box = set->kept[k];
      memcpy(all + count, order + i, (size_t)(candidates - i) * sizeof(*all));
      start_cells(&kept, set, all, count + candidates - i, memory);
    }
    const int32_t number = order[i].box;
    const struct nms_candidate_box c = nms_candidate_box(set, number);
    if (is_suppressed(&kept, &c, rule)) continue;
    add_to_list(&kept.all, &c);
    if (kept.has_cells) put_in_cell(&kept, number, &c);
    set->kept[count] = number;
    set->scores_out[count] = mluop_load_as(set->scores, number, set->form->scores_half);
    count++;
  }
  return count;
}
