# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    for name in ("dcn_forward", "dcn_backward_data", "dcn_backward_weight"):
        yield name, "32x32x256", ["H=32", "W=32", "C=256", "co=256"]
