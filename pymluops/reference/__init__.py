# SPDX-License-Identifier: Apache-2.0
"""The operators in plain NumPy and float64: independent of the C library, and slow."""
