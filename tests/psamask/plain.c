// SPDX-License-Identifier: Apache-2.0
#include "plain.h"

/** Each element of the mask in turn, and the element of the map that it stands for: -1 outside. */
static int64_t target_of(shape_t mask, shape_t map, int distribute, const int size[2],
                         const int64_t at[4]) {
  const int64_t th = at[1] + at[3] / size[1] - (size[0] - 1) / 2;
  const int64_t tw = at[2] + at[3] % size[1] - (size[1] - 1) / 2;
  if (th < 0 || th >= mask.h || tw < 0 || tw >= mask.w) return -1;
  const int64_t from = at[1] * mask.w + at[2], to = th * mask.w + tw;
  const int64_t row = distribute ? to : from, column = distribute ? from : to;
  return (at[0] * mask.h * mask.w + row) * map.c + column;
}

static void move_all(shape_t mask, shape_t map, int distribute, const int size[2],
                     const float *from, float *to, int backward) {
  int64_t at[4], i = 0;
  for (at[0] = 0; at[0] < mask.n; at[0]++)
    for (at[1] = 0; at[1] < mask.h; at[1]++)
      for (at[2] = 0; at[2] < mask.w; at[2]++)
        for (at[3] = 0; at[3] < mask.c; at[3]++, i++) {
          const int64_t target = target_of(mask, map, distribute, size, at);
          if (backward)
            to[i] = target < 0 ? 0 : from[target];
          else if (target >= 0)
            to[target] = from[i];
        }
}

mluOpStatus_t MLUOP_WIN_API mluOpPsamaskForward(mluOpHandle_t handle, const int psa_type,
                                                const mluOpTensorDescriptor_t x_desc, const void *x,
                                                const int h_mask, const int w_mask,
                                                const mluOpTensorDescriptor_t y_desc, void *y) {
  (void)handle;
  const int size[2] = {h_mask, w_mask};
  const shape_t mask = shape_of(x_desc), map = shape_of(y_desc);
  move_all(mask, map, psa_type, size, x, zeros(y, map), 0);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t MLUOP_WIN_API mluOpPsamaskBackward(mluOpHandle_t handle, const int psa_type,
                                                 const mluOpTensorDescriptor_t dy_desc,
                                                 const void *dy, const int h_mask, const int w_mask,
                                                 const mluOpTensorDescriptor_t dx_desc, void *dx) {
  (void)handle;
  const int size[2] = {h_mask, w_mask};
  move_all(shape_of(dx_desc), shape_of(dy_desc), psa_type, size, dy, dx, 1);
  return MLUOP_STATUS_SUCCESS;
}
