# SPDX-License-Identifier: Apache-2.0
set(sources api.c)
set(kernels backward.c forward.c order.c)
