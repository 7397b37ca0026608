# SPDX-License-Identifier: Apache-2.0
set(sources api.c checks.c descriptor.c run.c)
set(kernels hard.c rotated.c sets.c soft.c)
