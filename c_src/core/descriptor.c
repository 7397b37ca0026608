/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A list of extents or strides as the caller has it: one of the two pointers is set. */
struct numbers {
  const int *narrow;
  const int64_t *wide;
};

static bool numbers_missing(struct numbers list) {
  return list.narrow == NULL && list.wide == NULL;
}

static int64_t number_at(struct numbers list, int i) {
  return list.narrow != NULL ? list.narrow[i] : list.wide[i];
}

static struct numbers narrow(const int *list) { return (struct numbers){.narrow = list}; }
static struct numbers wide(const int64_t *list) { return (struct numbers){.wide = list}; }
static const struct numbers contiguous = {NULL, NULL}; /* strides: those without gaps */

/* ------------------------------------------------------------------ life of a descriptor */

static void set_defaults(mluOpTensorDescriptor_t desc) {
  desc->layout = MLUOP_LAYOUT_ARRAY;
  desc->dtype = MLUOP_DTYPE_FLOAT;
  desc->onchip_dtype = MLUOP_DTYPE_INVALID;
  desc->pointer_mode = MLUOP_POINTER_MODE_DEVICE;
  desc->position = 0;
  desc->scale = 1.0f;
  desc->offset = 0;
  desc->dim_nb = 0;
  desc->element_num = 0;
}

static void use_inline_storage(mluOpTensorDescriptor_t desc) {
  desc->capacity = MLUOP_DIM_MAX;
  desc->dims = desc->inline_dims;
  desc->strides = desc->inline_dims + MLUOP_DIM_MAX;
}

static void release_storage(mluOpTensorDescriptor_t desc) {
  if (desc->dims != desc->inline_dims) free(desc->dims);
}

/* Makes room for dim_nb dims; what the descriptor says stays the same. */
static bool reserve(mluOpTensorDescriptor_t desc, int dim_nb) {
  if (dim_nb <= desc->capacity) return true;
  int64_t *storage = calloc((size_t)dim_nb, 2 * sizeof(*storage));
  if (storage == NULL) return false;
  const size_t used = (size_t)desc->dim_nb * sizeof(*storage);
  memcpy(storage, desc->dims, used);
  memcpy(storage + dim_nb, desc->strides, used);
  release_storage(desc);
  desc->dims = storage;
  desc->strides = storage + dim_nb;
  desc->capacity = dim_nb;
  return true;
}

mluOpStatus_t mluOpCreateTensorDescriptor(mluOpTensorDescriptor_t *desc) {
  static const char api[] = "mluOpCreateTensorDescriptor";
  if (desc == NULL) return mluop_null_argument(api, "desc");
  const mluOpTensorDescriptor_t made = malloc(sizeof(*made));
  if (made == NULL) {
    return mluop_fail(MLUOP_STATUS_ALLOC_FAILED, api, "no memory for a tensor descriptor");
  }
  set_defaults(made);
  use_inline_storage(made);
  *desc = made;
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpDestroyTensorDescriptor(mluOpTensorDescriptor_t desc) {
  if (desc == NULL) return mluop_null_argument("mluOpDestroyTensorDescriptor", "desc");
  release_storage(desc);
  free(desc);
  return MLUOP_STATUS_SUCCESS;
}

mluOpStatus_t mluOpResetTensorDescriptor(mluOpTensorDescriptor_t desc) {
  if (desc == NULL) return mluop_null_argument("mluOpResetTensorDescriptor", "desc");
  release_storage(desc);
  use_inline_storage(desc);
  set_defaults(desc);
  return MLUOP_STATUS_SUCCESS;
}

/* --------------------------------------------------------------------- extents and strides */

static mluOpStatus_t check_enums(const char *api, mluOpTensorLayout_t layout,
                                 mluOpDataType_t dtype) {
  if (!mluop_layout_known(layout)) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "layout is %d, expected a value of mluOpTensorLayout_t", (int)layout);
  }
  if (!mluop_dtype_known(dtype)) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "dtype is %d, expected a value of mluOpDataType_t", (int)dtype);
  }
  return MLUOP_STATUS_SUCCESS;
}

/* Checks that the shape can be set, and reserves the memory for it, so that store_shape cannot
   fail. What the extents other than 0 multiply to must fit: strides and the number of elements then
   do. */
static mluOpStatus_t prepare_shape(const char *api, mluOpTensorDescriptor_t desc, int dim_nb,
                                   struct numbers dims) {
  if (dim_nb < 0) {
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "dimNb is %d, expected 0 or more", dim_nb);
  }
  if (dim_nb == 0) {
    if (desc->pointer_mode == MLUOP_POINTER_MODE_HOST) return MLUOP_STATUS_SUCCESS;
    return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                      "dimNb is 0, expected 1 or more (0 only with MLUOP_POINTER_MODE_HOST)");
  }
  if (numbers_missing(dims)) return mluop_null_argument(api, "dimSize");
  int64_t size = 1;
  for (int i = dim_nb - 1; i >= 0; i--) {
    const int64_t dim = number_at(dims, i);
    if (dim < 0) {
      return mluop_fail(MLUOP_STATUS_BAD_PARAM, api, "dimSize[%d] is %lld, expected 0 or more", i,
                        (long long)dim);
    }
    if (__builtin_mul_overflow(size, mluop_max(dim, 1), &size)) {
      return mluop_fail(MLUOP_STATUS_BAD_PARAM, api,
                        "dimSize[%d] is %lld: the size of the tensor overflows 64 bits", i,
                        (long long)dim);
    }
  }
  if (!reserve(desc, dim_nb)) {
    return mluop_fail(MLUOP_STATUS_ALLOC_FAILED, api, "no memory for %d dims", dim_nb);
  }
  return MLUOP_STATUS_SUCCESS;
}

static void store_shape(mluOpTensorDescriptor_t desc, int dim_nb, struct numbers dims,
                        struct numbers strides) {
  int64_t count = 1; /* also the stride without gaps: 0 before an extent of 0 */
  for (int i = dim_nb - 1; i >= 0; i--) {
    const int64_t dim = number_at(dims, i);
    desc->dims[i] = dim;
    desc->strides[i] = numbers_missing(strides) ? count : number_at(strides, i);
    count *= dim;
  }
  desc->dim_nb = dim_nb;
  desc->element_num = count;
}

/* All that can fail in setting a descriptor. */
static mluOpStatus_t prepare(const char *api, mluOpTensorDescriptor_t desc,
                             mluOpTensorLayout_t layout, mluOpDataType_t dtype, int dim_nb,
                             struct numbers dims) {
  if (desc == NULL) return mluop_null_argument(api, "desc");
  const mluOpStatus_t status = check_enums(api, layout, dtype);
  return status != MLUOP_STATUS_SUCCESS ? status : prepare_shape(api, desc, dim_nb, dims);
}

mluOpStatus_t mluop_prepare_descriptor(const char *api, mluOpTensorDescriptor_t desc,
                                       mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                       int dim_nb, const int *dims) {
  return prepare(api, desc, layout, dtype, dim_nb, narrow(dims));
}

static mluOpStatus_t set_descriptor(const char *api, mluOpTensorDescriptor_t desc,
                                    mluOpTensorLayout_t layout, mluOpDataType_t dtype, int dim_nb,
                                    struct numbers dims, struct numbers strides) {
  const mluOpStatus_t status = prepare(api, desc, layout, dtype, dim_nb, dims);
  if (status != MLUOP_STATUS_SUCCESS) return status;
  desc->layout = layout;
  desc->dtype = dtype;
  store_shape(desc, dim_nb, dims, strides);
  return MLUOP_STATUS_SUCCESS;
}

/* For the Ex forms, whose strides are required wherever the extents are. */
static bool strides_missing(int dim_nb, const void *dims, const void *strides) {
  return dim_nb > 0 && dims != NULL && strides == NULL;
}

mluOpStatus_t mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                       mluOpDataType_t dtype, int dimNb, const int dimSize[]) {
  return set_descriptor("mluOpSetTensorDescriptor", desc, layout, dtype, dimNb, narrow(dimSize),
                        contiguous);
}

mluOpStatus_t mluOpSetTensorDescriptor_v2(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                          mluOpDataType_t dtype, int dimNb,
                                          const int64_t dimSize[]) {
  return set_descriptor("mluOpSetTensorDescriptor_v2", desc, layout, dtype, dimNb, wide(dimSize),
                        contiguous);
}

mluOpStatus_t mluOpSetTensorDescriptorEx(mluOpTensorDescriptor_t desc, mluOpTensorLayout_t layout,
                                         mluOpDataType_t dtype, int dimNb, const int dimSize[],
                                         const int dimStride[]) {
  static const char api[] = "mluOpSetTensorDescriptorEx";
  if (strides_missing(dimNb, dimSize, dimStride)) return mluop_null_argument(api, "dimStride");
  return set_descriptor(api, desc, layout, dtype, dimNb, narrow(dimSize), narrow(dimStride));
}

mluOpStatus_t mluOpSetTensorDescriptorEx_v2(mluOpTensorDescriptor_t desc,
                                            mluOpTensorLayout_t layout, mluOpDataType_t dtype,
                                            int dimNb, const int64_t dimSize[],
                                            const int64_t dimStride[]) {
  static const char api[] = "mluOpSetTensorDescriptorEx_v2";
  if (strides_missing(dimNb, dimSize, dimStride)) return mluop_null_argument(api, "dimStride");
  return set_descriptor(api, desc, layout, dtype, dimNb, wide(dimSize), wide(dimStride));
}

static mluOpStatus_t set_dims(const char *api, mluOpTensorDescriptor_t desc, int dim_nb,
                              struct numbers dims) {
  if (desc == NULL) return mluop_null_argument(api, "desc");
  return set_descriptor(api, desc, desc->layout, desc->dtype, dim_nb, dims, contiguous);
}

mluOpStatus_t mluOpSetTensorDescriptorDim(mluOpTensorDescriptor_t desc, int dimNb,
                                          const int *dimSize) {
  return set_dims("mluOpSetTensorDescriptorDim", desc, dimNb, narrow(dimSize));
}

mluOpStatus_t mluOpSetTensorDescriptorDim_v2(mluOpTensorDescriptor_t desc, int dimNb,
                                             const int64_t *dimSize) {
  return set_dims("mluOpSetTensorDescriptorDim_v2", desc, dimNb, wide(dimSize));
}

size_t mluOpGetTensorElementNum(const mluOpTensorDescriptor_t desc) {
  return desc == NULL ? 0 : (size_t)desc->element_num;
}

int mluop_strided_dim(const struct mluOpTensorStruct *desc, int64_t *expected) {
  *expected = 1;
  for (int i = desc->dim_nb - 1; i >= 0 && desc->element_num > 0; i--) {
    if (desc->dims[i] != 1 && desc->strides[i] != *expected) return i;
    *expected *= desc->dims[i];
  }
  return -1;
}

bool mluop_tensor_contiguous(const struct mluOpTensorStruct *desc) {
  int64_t expected;
  return mluop_strided_dim(desc, &expected) < 0;
}
