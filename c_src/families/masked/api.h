/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_MASKED_API_H_
#define MLUOP_FAMILIES_MASKED_API_H_

/* What masked im2col and masked col2im have in common: two tensors of indices between the one that
   is read and the one that is written, and the first rules of a call and of a workspace query. */

#include "core/contract.h"

enum { MASK_H_IDX = 1, MASK_W_IDX = 2 };

#define INDICES (MLUOP_BIT(MASK_H_IDX) | MLUOP_BIT(MASK_W_IDX))

static const struct mluop_rule null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_END}};

static const struct mluop_rule query_null_rules[] = {
    {.check = CHECK_HANDLE, .status = BAD_PARAM},
    {.check = CHECK_DESC, .status = BAD_PARAM, .tensors = MLUOP_ALL},
    {.check = CHECK_OBJECT, .status = BAD_PARAM},
    {.check = CHECK_END}};

#endif /* MLUOP_FAMILIES_MASKED_API_H_ */
