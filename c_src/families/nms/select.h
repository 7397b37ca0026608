/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_SELECT_H_
#define MLUOP_FAMILIES_NMS_SELECT_H_

#include "families/nms/boxes.h"
#include "families/nms/candidates.h"

/* What a kernel of nms works on, and where its results go. */
struct nms_set {
  const struct nms_form *form;
  const struct nms_rule *rule;
  const void *boxes, *scores; /* of this set */
  const int32_t *labels;
  struct mluop_interrupt *interrupt;
  bool cells_only; /* see nms_args */
  int32_t *kept;
  float *scores_out;
};

/* Whether the call ends after so many selections; counts of what follows do not matter. */
MLUOP_INLINE int nms_ends(const struct nms_set *set, int64_t selections) {
  return selections % NMS_QUESTION == 0 && mluop_interrupted(set->interrupt);
}

MLUOP_INLINE int32_t nms_label(const struct nms_set *set, int32_t box) {
  return set->labels != NULL ? set->labels[box] : 0;
}

/* Memory is taken from the front of what is left. */
MLUOP_INLINE void *nms_take(char **memory, int64_t bytes) {
  void *const taken = *memory;
  *memory += (bytes + 63) / 64 * 64;
  return taken;
}

MLUOP_INLINE void nms_take_list(char **memory, struct nms_list *list, int64_t boxes) {
  const int64_t bytes = nms_whole_blocks(boxes) * (int64_t)sizeof(float);
  list->x1 = nms_take(memory, bytes);
  list->y1 = nms_take(memory, bytes);
  list->x2 = nms_take(memory, bytes);
  list->y2 = nms_take(memory, bytes);
  list->area = nms_take(memory, bytes);
  list->count = 0;
}

int64_t MLUOP_VARIANT(nms_select_hard)(const struct nms_set *set, char *memory);
int64_t MLUOP_VARIANT(nms_select_soft)(const struct nms_set *set, char *memory);
int64_t MLUOP_VARIANT(nms_select_rotated)(const struct nms_set *set, char *memory);

#endif /* MLUOP_FAMILIES_NMS_SELECT_H_ */
