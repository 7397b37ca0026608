# SPDX-License-Identifier: Apache-2.0
set(sources plan.c)
set(kernels add_bins.c add_pixels.c bins.c forward.c)
