# SPDX-License-Identifier: Apache-2.0
set(sources col2im_api.c im2col_api.c)
set(kernels col2im.c im2col.c)
