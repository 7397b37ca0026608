# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    for direction in ("forward", "backward"):
        for height, width in ((7, 10), (25, 38)):
            sizes = [f"H={height}", f"W={width}", "C=256"]
            yield f"border_align_{direction}", f"{height * width}", sizes
