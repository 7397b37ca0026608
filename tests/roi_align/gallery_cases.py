# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""


def cases():
    sizes = ["N=2", "C=256", "R=256", "H=50", "W=76", "spatial_scale=0.0625"]
    yield "roi_align_forward", "50x76", sizes
    yield "roi_align_backward", "50x76", sizes
