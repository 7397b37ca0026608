# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    sizes = ["C=256", "H=20", "W=20", "M=200"]
    yield "masked_im2col_forward", "20x20", sizes
    yield "masked_col2im_forward", "20x20", sizes
