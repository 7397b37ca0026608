# SPDX-License-Identifier: Apache-2.0
set(sources api.c plan.c)
set(kernels backward.c backward_small.c forward.c forward_small.c)
