# SPDX-License-Identifier: Apache-2.0
"""The gallery: the sizes of the design documents, for every operator. This file writes it:

python tests/cases/gallery.py
"""

from __future__ import annotations

from pathlib import Path

from pymluops import __main__ as cli

FOLDER = Path(__file__).resolve().parent / "gallery"
_CARAFE = ["kernel_size=5", "group_size=1", "scale_factor=2"]
_LEVELS = ((200, 304, 0.25), (100, 152, 0.125), (50, 76, 0.0625), (25, 38, 0.03125))
_POOL = ["N=2", "C=256", "R=998"]


def _cases():
    """Yield operator, a note for the name of the file, and sizes."""
    for side, channels in ((32, 2048), (64, 1024), (128, 512), (256, 256), (512, 256)):
        sizes = [f"H={side}", f"W={side}", f"C={channels}", *_CARAFE]
        yield "carafe_forward", f"{side}x{side}x{channels}", sizes
        if side <= 128:
            yield "carafe_backward", f"{side}x{side}x{channels}", sizes
    for direction in ("forward", "backward"):
        for side, mask in ((30, 59), (60, 119)):
            for kind in (0, 1):
                sizes = [f"H={side}", f"W={side}", f"h_mask={mask}", f"w_mask={mask}"]
                name = ("collect", "distribute")[kind]
                yield f"psamask_{direction}", f"{side}_{name}", [*sizes, f"psa_type={kind}"]
        for height, width, scale in _LEVELS[: 4 if direction == "forward" else 1]:
            sizes = [*_POOL, f"H={height}", f"W={width}", f"spatial_scale={scale}"]
            yield f"deform_roi_pool_{direction}", f"{height}x{width}", sizes
        for height, width in ((7, 10), (25, 38)):
            sizes = [f"H={height}", f"W={width}", "C=256"]
            yield f"border_align_{direction}", f"{height * width}", sizes
    masked = ["C=256", "H=20", "W=20", "M=200"]
    yield "masked_im2col_forward", "20x20", masked
    yield "masked_col2im_forward", "20x20", masked
    yield "nms", "1000", ["n=1000", "max_output_size=1000"]
    level = ["N=2", "C=256", "R=256", "H=50", "W=76", "spatial_scale=0.0625"]
    yield "roi_align_forward", "50x76", level
    yield "roi_align_backward", "50x76", level
    for name in ("dcn_forward", "dcn_backward_data", "dcn_backward_weight"):
        yield name, "32x32x256", ["H=32", "W=32", "C=256", "P=256"]


CASES = {f"{name}_{note}.prototxt": (name, sizes) for name, note, sizes in _cases()}


def write(folder: Path) -> None:
    """Write every file."""
    for file, (name, sizes) in CASES.items():
        assert cli.main(["case", "new", name, "--shape", *sizes, "-o", str(folder / file)]) == 0


if __name__ == "__main__":
    write(FOLDER)
