/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_FAMILIES_DCN_CHECKS_H_
#define MLUOP_FAMILIES_DCN_CHECKS_H_

#include "core/contract.h"

/* The tensors of all three operators. OUTPUT is also grad_output, FILTER grad_filter, and BIAS
   grad_bias. */
enum { INPUT, OFFSET, MASK, FILTER, OUTPUT, BIAS, GRAD_INPUT, GRAD_OFFSET, GRAD_MASK };

/* The rules of an operator about the precision of the two factors of its product. */
extern const struct mluop_rule dcn_forward_factors[], dcn_data_factors[], dcn_weight_factors[];

/* Whether all rules hold. They bind the extents N, H, W, C, of the filter I, J, and P output
   channels of a convolution group; and the scalars ho and wo. */
bool dcn_call_holds(struct mluop_call *call, const struct mluop_rule *factors,
                    mluOpStatus_t *status);

/* A workspace query: stores 0, or returns what the operator would. */
mluOpStatus_t dcn_query(struct mluop_call *call, const struct mluop_rule *factors,
                        size_t *workspace_size);

#endif /* MLUOP_FAMILIES_DCN_CHECKS_H_ */
