/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_ROI_ALIGN_JOB_H_
#define MLUOP_FAMILIES_ROI_ALIGN_JOB_H_

#include "shared/roi_pool/job.h"

/* Means are RoI pooling without offsets. For maxima there is more; `pool` comes first, as its
   kernels know nothing of the rest. */
struct roi_align_args {
  struct roi_pool_args pool;
  void *argmax_x, *argmax_y;                   /* of the forward: like output */
  const void *given_argmax_x, *given_argmax_y; /* of the backward: like grad_output */
};

/* What a thread has while it looks for maxima: of each channel the best value so far and where it
   is, and zeros, which are the pixels of what lies outside. Whole vectors of every instruction
   set. */
static inline size_t roi_align_row(int64_t channels) {
  return (size_t)((channels + 15) / 16 * 16) * sizeof(float);
}

static inline size_t roi_align_maximum_bytes(int64_t channels) {
  return 4 * roi_align_row(channels);
}

/* Most vectors of 16 floats lie across two cache lines, unless channels are a multiple of 16. If
   few channels are left over, vectors of 8 are faster (1.1 to 1.7 times); from so many channels on,
   both wait for the map. */
enum { ROI_ALIGN_FEW_FLOATS = 128 };

/* Sums of a block in double precision, while the gradients of maxima are added up: as many as two
   blocks. */
enum { ROI_ALIGN_BLOCKS = 2 };

#endif /* MLUOP_FAMILIES_ROI_ALIGN_JOB_H_ */
