# SPDX-License-Identifier: Apache-2.0
set(sources api.c plan.c tiles.c)
set(kernels add_bins.c add_pixels.c bins.c forward.c grad_offset.c lists.c)
