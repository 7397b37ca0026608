# SPDX-License-Identifier: Apache-2.0
"""Its part of the gallery of test cases (tests/cases): operator, note for the file, sizes."""

_LEVELS = ((200, 304, 0.25), (100, 152, 0.125), (50, 76, 0.0625), (25, 38, 0.03125))
_REGIONS = ["N=2", "C=256", "R=998"]


def cases():
    for direction, levels in (("forward", _LEVELS), ("backward", _LEVELS[:1])):
        for height, width, scale in levels:
            sizes = [*_REGIONS, f"H={height}", f"W={width}", f"spatial_scale={scale}"]
            yield f"deform_roi_pool_{direction}", f"{height}x{width}", sizes
