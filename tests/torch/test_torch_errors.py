# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch operators and modules refuse, and what they say."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import pymluops
import pymluops.torch as ours


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape)


ROI = torch.tensor([[0.0, 0, 0, 1, 1]])


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ours.carafe(zeros(4, 3, 3), zeros(1, 9, 6, 6), 3, 1, 2),
            ValueError,
            "carafe: features has shape (4, 3, 3), expected 4 dims (N, C, H, W)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 7), 3, 1, 2),
            ValueError,
            (
                "carafe: masks has shape (1, 9, 6, 7), expected (1, 9, 6, 6) = "
                "(N, kernel_size^2 * group_size, scale_factor * H, scale_factor * W)"
            ),
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 27, 6, 6), 3, 3, 2),
            ValueError,
            "carafe: features has 4 channels, expected a multiple of group_size (3)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 16, 6, 6), 4, 1, 2),
            ValueError,
            "carafe: kernel_size is 4, expected an odd number",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 6), 3, 1, 0),
            ValueError,
            "carafe: scale_factor is 0, expected 1 or more",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3), zeros(1, 9, 6, 6).half(), 3, 1, 2),
            TypeError,
            "carafe: masks is float16, expected float32 as features; pass masks.to(features.dtype)",
        ),
        (
            lambda: ours.carafe(zeros(1, 4, 3, 3).to_sparse(), zeros(1, 9, 6, 6), 3, 1, 2),
            ValueError,
            (
                "carafe: features is a sparse_coo tensor on cpu, expected a dense tensor on the "
                "CPU; pass features.to_dense()"
            ),
        ),
        (
            lambda: ours.carafe(zeros(1, 1, 2, 2), zeros(1, 1, 12, 12), 1, 1, 6),
            pymluops.NotSupportedError,
            "scale_factor is 6",
        ),
        (
            lambda: ours.CARAFE(3.0, 1, 2),
            TypeError,
            "CARAFE: kernel_size is 3.0, expected an int",
        ),
        (
            lambda: ours.psa_mask(zeros(1, 8, 2, 2), 0, (3, 3)),
            ValueError,
            (
                "psa_mask: input has 8 channels, expected 9 = mask_size[0] * mask_size[1], "
                "and mask_size is (3, 3)"
            ),
        ),
        (
            lambda: ours.psa_mask(zeros(1, 9, 2, 2), 2, 3),
            ValueError,
            "psa_mask: psa_type is 2, expected 0 (collect) or 1 (distribute)",
        ),
        (
            lambda: ours.PSAMask("gather", 3),
            ValueError,
            "PSAMask: psa_type is 'gather', expected 'collect' or 'distribute'",
        ),
        (
            lambda: ours.PSAMask("collect")(zeros(1, 9, 2, 2)),
            ValueError,
            "PSAMask: mask_size is None, expected (h_mask, w_mask); give it to PSAMask()",
        ),
        (
            lambda: ours.border_align(zeros(1, 6, 2, 2), zeros(1, 4, 4), 2),
            ValueError,
            "border_align: input has 6 channels, expected a multiple of 4",
        ),
        (
            lambda: ours.border_align(zeros(1, 8, 2, 2), zeros(1, 5, 4), 2),
            ValueError,
            "border_align: boxes has shape (1, 5, 4), expected (1, 4, 4) = (N, H * W, 4)",
        ),
        (
            lambda: ours.border_align(zeros(1, 8, 2, 2), zeros(1, 4, 4), 0),
            ValueError,
            "border_align: pool_size is 0, expected 1 or more",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), zeros(2, 4), None, 2),
            ValueError,
            (
                "deform_roi_pool: rois has shape (2, 4), expected (2, 5) = "
                "(R, 5), rows of (image, x1, y1, x2, y2)"
            ),
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, zeros(1, 2, 3, 2), (2, 3)),
            ValueError,
            (
                "deform_roi_pool: offset has shape (1, 2, 3, 2), expected (1, 2, 2, 3) = "
                "(R, 2, *output_size)"
            ),
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, None, (2, 2, 2)),
            ValueError,
            "deform_roi_pool: output_size is (2, 2, 2), expected an int or a pair of ints",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI + 1, None, 2),
            pymluops.BadParamError,
            "rois: ",
        ),
        (
            lambda: ours.deform_roi_pool(zeros(1, 3, 4, 4), ROI, None, 2, 1.0, 2**40),
            ValueError,
            "a number is too large for C: integer 1099511627776",
        ),
        (
            lambda: ours.DeformRoIPoolPack(2, 4, 8)(zeros(1, 3, 4, 4), ROI),
            ValueError,
            "DeformRoIPoolPack: input has 3 channels, expected output_channels (4)",
        ),
        (
            lambda: ours.masked_conv2d(zeros(2, 3, 4, 4), zeros(1, 4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: features holds 2 images, expected 1; call it for one image at a time",
        ),
        (
            lambda: ours.masked_conv2d(zeros(1, 3, 4, 4), zeros(4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: mask has shape (4, 4), expected (1, 4, 4) = (1, H, W)",
        ),
        (
            lambda: ours.masked_conv2d(
                zeros(1, 3, 4, 4), zeros(1, 4, 4), zeros(4, 3, 1, 1), None, 0, 2
            ),
            ValueError,
            "masked_conv2d: stride is 2, expected 1",
        ),
        (
            lambda: ours.masked_conv2d(
                zeros(1, 3, 4, 4), zeros(1, 4, 4) + 1, zeros(4, 3, 3, 3), None
            ),
            ValueError,
            (
                "masked_conv2d: mask is positive at (0, 2), outside the output of 2 x 2; "
                "use padding=(kernel_h // 2, kernel_w // 2), or clear the mask there"
            ),
        ),
        (
            lambda: ours.MaskedConv2d(2, 2, 3, padding=2, dilation=2)(
                zeros(1, 2, 4, 4), zeros(1, 4, 4)
            ),
            ValueError,
            "MaskedConv2d: dilation is (2, 2), expected 1 where a mask is given",
        ),
    ],
)
def test_errors_name_the_argument(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_tensors_on_other_devices_are_refused() -> None:
    with torch._subclasses.FakeTensorMode():
        features = torch.empty(1, 4, 3, 3, device="cuda")
        masks = torch.empty(1, 9, 6, 6, device="cuda")
        with pytest.raises(ValueError, match=r"features is a strided tensor on cuda.*\.cpu\(\)"):
            ours.carafe(features, masks, 3, 1, 2)


def test_importing_pymluops_does_not_import_torch() -> None:
    code = "import sys, pymluops; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_torch_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import pymluops.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pymluops.torch needs PyTorch: pip install 'pymluops[torch]'" in done.stderr
