/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/contract.h"

void *mluop_create_parameters(const char *api, const char *name, const void *where,
                              mluOpStatus_t *status) {
  if (where == NULL) {
    *status = mluop_null_argument(api, name);
    return NULL;
  }
  void *parameters = calloc(1, sizeof(struct mluop_parameters));
  *status = parameters != NULL
                ? SUCCESS
                : mluop_fail(MLUOP_STATUS_ALLOC_FAILED, api, "no memory for a descriptor");
  return parameters;
}

mluOpStatus_t mluop_destroy_parameters(const char *api, const char *name, void *parameters) {
  if (parameters == NULL) return mluop_null_argument(api, name);
  free(parameters);
  return SUCCESS;
}

void mluop_set_parameters(void *parameters, const struct mluop_call *call) {
  struct mluop_parameters *kept = parameters;
  kept->is_set = true;
  memcpy(kept->scalars, call->scalars, sizeof(kept->scalars));
}
