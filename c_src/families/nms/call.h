/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_CALL_H_
#define MLUOP_FAMILIES_NMS_CALL_H_

#include "core/contract.h"
#include "families/nms/job.h"

/* descriptor.c: what the parameters of a call ask for. */
struct nms_rule nms_rule_of(const struct mluop_call *call);

/* A call whose checks hold. */
struct nms_call {
  struct nms_form form;
  struct nms_rule rule;
  int64_t images;
  const void *boxes, *scores;
  const int32_t *labels;  /* or NULL: see nms_args */
  float *selected_scores; /* [L]; may be NULL */
  mluOpNmsOutputMode_t mode;
  int64_t padded; /* entries of the output that are written at least, with zeros behind results */
  int64_t plane;  /* between the rows of mode 2 */
  void *output;
  int32_t *output_size;
};

/* run.c: selects, and writes the results. False without memory. */
bool nms_run(mluOpHandle_t handle, const struct nms_call *call);

#endif /* MLUOP_FAMILIES_NMS_CALL_H_ */
