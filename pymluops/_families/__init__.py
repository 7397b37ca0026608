# SPDX-License-Identifier: Apache-2.0
"""The operators, one module for each family."""
