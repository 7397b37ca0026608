/* SPDX-License-Identifier: Apache-2.0 */
#include "families/psamask/kernels.h"
#include "families/psamask/runs.h"

MLUOP_INLINE void collect(const struct psamask_args *a, int64_t begin, int64_t end, int forward,
                          int stream) {
  const int64_t map = a->H * a->W, mask = a->h_mask * a->w_mask;
  const int64_t from_size = forward ? mask : map, to_size = forward ? map : mask;
  float buffer[LINE_FLOATS + PSAMASK_ROOM] __attribute__((aligned(LINE_BYTES)));
  struct writer w = writer_at(a->target + begin * to_size, buffer);
  for (; begin < end; begin++) {
    put_runs(a, begin, 0, a->H, a->source + begin * from_size, &w, stream, forward, stream);
  }
  if (!stream) return;
  writer_end(&w);
  vf_stream_end();
}

void MLUOP_VARIANT(psamask_collect)(const void *args, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  const struct psamask_args *a = args;
  if (a->forward && a->stream) {
    collect(a, begin, end, 1, 1);
  } else if (a->forward) {
    collect(a, begin, end, 1, 0);
  } else if (a->stream) {
    collect(a, begin, end, 0, 1);
  } else {
    collect(a, begin, end, 0, 0);
  }
}
