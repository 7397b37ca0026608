# SPDX-License-Identifier: Apache-2.0
set(shared roi_pool)
set(sources api.c descriptor.c)
set(kernels maximum.c scatter.c)
