/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLUOP_SHARED_PRODUCT_SIZE_H_
#define MLUOP_SHARED_PRODUCT_SIZE_H_

/* What plans need to know of product.h. */
enum {
  /* The longest sum that is made at a time. */
  PRODUCT_DEPTH = 256,
  /* Floats between rows of a block that is PRODUCT_DEPTH wide: rows begin in different sets of the
     cache, and there is room behind the last column. */
  PRODUCT_STRIDE = PRODUCT_DEPTH + 16,
  /* A multiple of the rows that every instruction set does at a time. */
  PRODUCT_WHOLE_ROWS = 12
};

#endif /* MLUOP_SHARED_PRODUCT_SIZE_H_ */
