/* SPDX-License-Identifier: Apache-2.0 */
/* libcndrv has nothing of its own: it needs libcnrt, which has the names of the driver. */
typedef int cndrv_names_are_in_cnrt; /* C wants a declaration */
