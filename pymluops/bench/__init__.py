# SPDX-License-Identifier: Apache-2.0
"""``pymluops bench``: how fast every operator is on this machine, beside what the machine allows.

Where PyTorch and numba are installed, the same operators written in them are timed in the same run.
"""
