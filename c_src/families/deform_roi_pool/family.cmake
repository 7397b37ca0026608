# SPDX-License-Identifier: Apache-2.0
set(shared roi_pool)
set(sources api.c)
set(kernels grad_offset.c)
