/* ------------------------------------------------------------------------------------ Toy */

/**
 * Multiplies by a factor: y = factor * x.
 *
 * @param handle  The handle.
 * @param x_desc  [N, C], float.
 * @param x       The numbers.
 * @param factor  The factor.
 * @param y_desc  [N, C], float.
 * @param y       Receives the products.
 */
mluOpStatus_t MLUOP_WIN_API mluOpToy(mluOpHandle_t handle, const mluOpTensorDescriptor_t x_desc,
                                     const void *x, const float factor,
                                     const mluOpTensorDescriptor_t y_desc, void *y);
