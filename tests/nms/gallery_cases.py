# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    yield "nms", "1000", ["n=1000", "max_output_size=1000"]
