/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_NMS_JOB_H_
#define MLUOP_FAMILIES_NMS_JOB_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/kernel.h"

/* A set is what is selected from at a time: the boxes of one image with the scores of one class.
   Sets are the items of a job; a set is done by one thread. */

/* How the numbers of a call lie in memory. */
struct nms_form {
  int64_t n;       /* boxes of an image */
  int64_t classes; /* sets of an image; scores are [images, classes, n] */
  int boxes_half;  /* half, else float */
  int scores_half; /* likewise */
  int planes;      /* boxes are [4, n], else [n, 4] (or 7 for 4) */
  int centres;     /* of a box: centre and size, else two corners */
  int rotated;     /* boxes of seven numbers, without scores */
};

enum nms_method { NMS_HARD, NMS_LINEAR, NMS_GAUSSIAN };

struct nms_rule {
  enum nms_method method;
  float iou_threshold;
  float confidence_threshold;
  float sigma;
  float extra;   /* what an extent is longer than the difference of its ends: 0 or 1 */
  int64_t limit; /* boxes selected from a set at most */
};

/* Selections between two questions whether the call has been interrupted. */
enum { NMS_QUESTION = 64 };

struct nms_args {
  const struct nms_form *form;
  const struct nms_rule *rule;
  const void *boxes, *scores;
  const int32_t *labels; /* [n]: boxes of different labels never meet; NULL: all may meet */
  struct mluop_interrupt *interrupt;
  bool cells_only;   /* of hard selection: by cells, whether or not the list is shorter */
  int64_t first;     /* item i is the set first + i; for it, there are: */
  int64_t room;      /* room for so many results, */
  int32_t *kept;     /* [items, room]: the boxes selected, in order, */
  float *scores_out; /* [items, room]: their scores at selection, */
  int64_t *counts;   /* [items]: how many they are */
};

#endif /* MLUOP_FAMILIES_NMS_JOB_H_ */
