/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel: selects from each set of its range. */
#include "families/nms/kernels.h"
#include "families/nms/select.h"

void MLUOP_VARIANT(nms_select)(const void *args, int64_t begin, int64_t end, void *scratch) {
  const struct nms_args *a = args;
  const struct nms_form *form = a->form;
  const int64_t numbers = form->rotated ? 7 : 4;
  for (int64_t i = begin; i < end; i++) {
    const int64_t number = a->first + i, image = number / form->classes;
    const struct nms_set set = {
        .form = form,
        .rule = a->rule,
        .boxes = mluop_at(a->boxes, image * form->n * numbers, form->boxes_half),
        .scores =
            a->scores != NULL ? mluop_at(a->scores, number * form->n, form->scores_half) : NULL,
        .labels = a->labels,
        .interrupt = a->interrupt,
        .cells_only = a->cells_only,
        .kept = a->kept + i * a->room,
        .scores_out = a->scores_out + i * a->room};
    if (form->rotated) {
      a->counts[i] = MLUOP_VARIANT(nms_select_rotated)(&set, scratch);
    } else if (a->rule->method == NMS_HARD) {
      a->counts[i] = MLUOP_VARIANT(nms_select_hard)(&set, scratch);
    } else {
      a->counts[i] = MLUOP_VARIANT(nms_select_soft)(&set, scratch);
    }
  }
}
