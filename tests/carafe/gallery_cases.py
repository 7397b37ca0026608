# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""

_NUMBERS = ["kernel_size=5", "group_size=1", "scale_factor=2"]


def cases():
    for side, channels in ((32, 2048), (64, 1024), (128, 512), (256, 256), (512, 256)):
        sizes = [f"H={side}", f"W={side}", f"C={channels}", *_NUMBERS]
        yield "carafe_forward", f"{side}x{side}x{channels}", sizes
        if side <= 128:
            yield "carafe_backward", f"{side}x{side}x{channels}", sizes
