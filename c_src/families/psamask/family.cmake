# SPDX-License-Identifier: Apache-2.0
set(sources api.c)
set(kernels collect.c distribute_backward.c distribute_forward.c nchw.c)
