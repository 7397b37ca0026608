/* SPDX-License-Identifier: Apache-2.0 */
/* Hard selection: a candidate is kept unless its IoU with a box that was kept before exceeds the
   threshold. Candidates come in the order of preference; each is decided once. */
#include "families/nms/grid.h"
#include "families/nms/select.h"

/* Candidates meet the best boxes first, and most of those around one object meet one early: up to
   so many blocks for each candidate, the list takes no longer than a look into the grid. */
enum { BLOCKS_PER_CANDIDATE = VL, CANDIDATES_JUDGED = 64 };

/* Boxes that were kept: in a list, until it takes too long. Then in the grid, but for those that it
   can say nothing of, and unless the threshold is too small for it. */
struct kept_boxes {
  int may_have_grid, has_grid;
  int64_t candidates, blocks; /* compared since they were last counted */
  struct nms_grid grid;
  struct nms_list list;
  int32_t *labels; /* of the list */
};

static int block_suppresses(const struct kept_boxes *kept, int64_t first,
                            const struct nms_candidate_box *c, const struct nms_rule *rule) {
  const struct nms_list *list = &kept->list;
  const float extra = rule->extra, threshold = rule->iou_threshold, area = c->area;
  const struct nms_box box = c->box;
  const int32_t label = c->label;
  const int32_t count = (int32_t)(list->count - first);
  int found = 0;
  for (int32_t k = 0; k < NMS_BLOCK; k++) {
    const int64_t i = first + k;
    const struct nms_box other = {list->x1[i], list->y1[i], list->x2[i], list->y2[i]};
    const float iou = nms_iou(other, list->area[i], box, area, extra);
    found |= (iou > threshold) & (kept->labels[i] == label) & (k < count);
  }
  return found;
}

static int list_suppresses(struct kept_boxes *kept, const struct nms_candidate_box *c,
                           const struct nms_rule *rule) {
  kept->candidates++;
  for (int64_t i = 0; i < kept->list.count; i += NMS_BLOCK) {
    kept->blocks++;
    if (block_suppresses(kept, i, c, rule)) return 1;
  }
  return 0;
}

/* A box that does not fit the grid is compared with all that is in it. */
static int all_in_grid_suppress(const struct nms_grid *grid, const struct nms_candidate_box *c,
                                const struct nms_rule *rule) {
  for (int32_t i = 0; i < grid->count; i++) {
    const struct nms_candidate_box *kept = &grid->boxes[i];
    const float iou = nms_iou(kept->box, kept->area, c->box, c->area, rule->extra);
    if (kept->label == c->label && iou > rule->iou_threshold) return 1;
  }
  return 0;
}

static int is_suppressed(struct kept_boxes *kept, int fits, const struct nms_candidate_box *c,
                         const struct nms_rule *rule) {
  if (fits) {
    if (nms_grid_suppresses(&kept->grid, c, rule)) return 1;
  } else if (kept->has_grid && all_in_grid_suppress(&kept->grid, c, rule)) {
    return 1;
  }
  return list_suppresses(kept, c, rule);
}

static void add_to_list(struct kept_boxes *kept, const struct nms_candidate_box *c) {
  const int64_t at = kept->list.count;
  nms_append(&kept->list, c->box, c->area);
  if (at % NMS_BLOCK == 0) memset(kept->labels + at, 0, NMS_BLOCK * sizeof(*kept->labels));
  kept->labels[at] = c->label;
}

static void take_from_list(struct nms_list *list, int32_t *labels, int64_t i) {
  const int64_t last = --list->count;
  list->x1[i] = list->x1[last];
  list->y1[i] = list->y1[last];
  list->x2[i] = list->x2[last];
  list->y2[i] = list->y2[last];
  list->area[i] = list->area[last];
  labels[i] = labels[last];
}

/* What fits goes from the list to the grid. */
static void start_grid(struct kept_boxes *kept, const struct nms_rule *rule) {
  struct nms_list *list = &kept->list;
  nms_grid_start(&kept->grid, rule->iou_threshold);
  kept->has_grid = 1;
  for (int64_t i = list->count - 1; i >= 0; i--) {
    const struct nms_box box = {list->x1[i], list->y1[i], list->x2[i], list->y2[i]};
    const struct nms_candidate_box c = {box, list->area[i], kept->labels[i]};
    if (!nms_fits_grid(c.box, c.area, rule->extra)) continue;
    nms_grid_add(&kept->grid, &c, rule->extra);
    take_from_list(list, kept->labels, i);
  }
}

static void judge_list(struct kept_boxes *kept, const struct nms_rule *rule) {
  if (kept->has_grid || kept->candidates < CANDIDATES_JUDGED) return;
  if (kept->may_have_grid && kept->blocks > BLOCKS_PER_CANDIDATE * kept->candidates) {
    start_grid(kept, rule);
  }
  kept->candidates = kept->blocks = 0;
}

/* True if the candidate was kept. */
static int keep(struct kept_boxes *kept, const struct nms_candidate_box *c,
                const struct nms_rule *rule) {
  judge_list(kept, rule);
  const int fits = kept->has_grid && nms_fits_grid(c->box, c->area, rule->extra);
  if (is_suppressed(kept, fits, c, rule)) return 0;
  if (fits) {
    nms_grid_add(&kept->grid, c, rule->extra);
  } else {
    add_to_list(kept, c);
  }
  return 1;
}

/* Room for `most` boxes to be kept. */
static void start(struct kept_boxes *kept, const struct nms_rule *rule, int64_t most,
                  bool grid_at_once, char *memory) {
  kept->may_have_grid = rule->iou_threshold >= nms_grid_threshold;
  kept->has_grid = 0;
  kept->candidates = kept->blocks = 0;
  nms_take_list(&memory, &kept->list, most);
  kept->labels = nms_take(&memory, nms_whole_blocks(most) * (int64_t)sizeof(*kept->labels));
  if (!kept->may_have_grid) return;
  struct nms_grid *grid = &kept->grid;
  grid->bits = nms_grid_bits(most);
  grid->heads = nms_take(&memory, (int64_t)sizeof(*grid->heads) << grid->bits);
  grid->boxes = nms_take(&memory, most * (int64_t)sizeof(*grid->boxes));
  grid->entries = (struct nms_entry *)memory;
  if (grid_at_once) start_grid(kept, rule);
}

int64_t MLUOP_VARIANT(nms_select_hard)(const struct nms_set *set, char *memory) {
  const struct nms_rule *rule = set->rule;
  const int64_t n = set->form->n;
  struct nms_candidate *a = nms_take(&memory, n * (int64_t)sizeof(*a));
  struct nms_candidate *b = nms_take(&memory, n * (int64_t)sizeof(*b));
  const int64_t candidates =
      nms_find_candidates(set->form, set->scores, rule->confidence_threshold, a);
  const struct nms_candidate *order = nms_sort_candidates(a, b, candidates);
  const int64_t most = candidates < rule->limit ? candidates : rule->limit;
  struct kept_boxes kept;
  start(&kept, rule, most, set->grid_at_once, memory);
  int64_t count = 0;
  for (int64_t i = 0; i < candidates && count < most && !nms_ends(set, i); i++) {
    const int32_t number = order[i].box;
    const struct nms_box box = nms_read_box(set->form, set->boxes, number);
    const struct nms_candidate_box c = {box, nms_area(box, rule->extra), nms_label(set, number)};
    if (!keep(&kept, &c, rule)) continue;
    set->kept[count] = number;
    set->scores_out[count] = mluop_load_as(set->scores, number, set->form->scores_half);
    count++;
  }
  return count;
}
