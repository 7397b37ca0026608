# SPDX-License-Identifier: Apache-2.0
set(sources api.c checks.c descriptor.c run.c)
set(kernels backward_data.c backward_weight.c column_gradients.c columns.c forward.c)
