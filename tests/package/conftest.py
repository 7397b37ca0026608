# SPDX-License-Identifier: Apache-2.0
"""What stands here to be copied is no test of its own."""

collect_ignore = ["toy_family"]
