# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_case import assert_empty_gives_zeros, assert_signature, zeros

import pymluops
import pymluops.torch as ours

ROI = torch.tensor([[0.0, 0, 0, 1, 1]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_contiguous_tensors_have_the_same_bits(dtype: torch.dtype) -> None:
    x = torch.randn(2, 20, 9, 8).to(dtype)
    rois = torch.rand(10, 5).mul(8).to(dtype)
    rois[:, 0] = torch.arange(10) % 2
    offset = torch.randn(10, 2, 2, 3).to(dtype)
    for moves in (None, offset):
        result = ours.deform_roi_pool(x, rois, moves, (2, 3), 0.5, 2, 0.1)
        last = ours.deform_roi_pool(
            x.to(memory_format=torch.channels_last), rois, moves, (2, 3), 0.5, 2, 0.1
        )
        assert result.is_contiguous()
        assert torch.equal(result, last)


def test_deform_roi_pool_numbers() -> None:
    """Regions of one pixel, sampled twice per side of a bin."""
    for image, pooled, gradient in (
        (
            [[[1.0, 2.0], [3.0, 4.0]]],
            [[[1, 1.25], [1.5, 1.75]]],
            [[[3.0625, 0.4375], [0.4375, 0.0625]]],
        ),
        (
            [[[1.0, 2.0], [3.0, 4.0]], [[4.0, 3.0], [2.0, 1.0]]],
            [[[1, 1.25], [1.5, 1.75]], [[4, 3.75], [3.5, 3.25]]],
            [[[3.0625, 0.4375], [0.4375, 0.0625]]] * 2,
        ),
    ):
        x = torch.tensor([image], requires_grad=True)
        rois = torch.tensor([[0.0, 0, 0, 1, 1]])
        result = ours.deform_roi_pool(x, rois, None, (2, 2), 1.0, 2)
        result.backward(torch.ones_like(result))
        assert torch.equal(result, torch.tensor([pooled]))
        assert torch.equal(x.grad, torch.tensor([gradient]))


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (lambda x, r: ours.deform_roi_pool(x, r, None, 2), [(1, 3, 4, 4), (0, 5)], (0, 3, 2, 2)),
        (lambda x, r: ours.deform_roi_pool(x, r, None, 2), [(1, 3, 0, 4), (2, 5)], (2, 3, 2, 2)),
    ],
)
def test_empty_tensors_give_zeros(
    call: Callable[..., Tensor], shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    assert_empty_gives_zeros(call, shapes, result)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
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
    ],
)
def test_errors_name_the_argument(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()


@pytest.mark.parametrize(
    ("module", "signature"),
    [
        (ours.DeformRoIPool, "output_size, spatial_scale=1.0, sampling_ratio=0, gamma=0.1"),
        (
            ours.DeformRoIPoolPack,
            (
                "output_size, output_channels, deform_fc_channels=1024, spatial_scale=1.0, "
                "sampling_ratio=0, gamma=0.1"
            ),
        ),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


def test_the_module_describes_and_copies_itself() -> None:
    for module, text in (
        (
            ours.DeformRoIPool(7),
            "DeformRoIPool(output_size=(7, 7), spatial_scale=1.0, sampling_ratio=0, gamma=0.1)",
        ),
    ):
        assert repr(module) == text
        assert repr(copy.deepcopy(module)) == text
        assert repr(pickle.loads(pickle.dumps(module))) == text


def test_a_new_deform_pack_pools_regular_bins() -> None:
    x, rois = torch.randn(1, 3, 8, 8), torch.tensor([[0, 1.0, 1.0, 6.0, 7.0]])
    plain = ours.DeformRoIPool((2, 3))(x, rois)
    assert torch.equal(ours.DeformRoIPoolPack((2, 3), 3, 8)(x, rois), plain)
    assert torch.equal(ours.ModulatedDeformRoIPoolPack((2, 3), 3, 8)(x, rois), plain * 0.5)
    last = x.to(memory_format=torch.channels_last)
    assert torch.equal(ours.DeformRoIPoolPack((2, 3), 3, 8)(last, rois), plain)


def test_state_dict_keys() -> None:
    offset = [f"offset_fc.{i}.{name}" for i in (0, 2, 4) for name in ("weight", "bias")]
    mask = [f"mask_fc.{i}.{name}" for i in (0, 2) for name in ("weight", "bias")]
    assert list(ours.DeformRoIPoolPack(2, 3, 8).state_dict()) == offset
    assert list(ours.ModulatedDeformRoIPoolPack(2, 3, 8).state_dict()) == offset + mask


def test_float32_regions_with_half_features() -> None:
    """Coordinates above 2048 are not rounded to the float16 of the features."""
    features = torch.zeros(1, 2, 1, 4096, dtype=torch.float16)
    features[..., 2049] = 1
    features.requires_grad_()
    rois = torch.tensor([[0, 2049.0, 0, 2050, 1]])
    offset = torch.zeros(1, 2, 1, 1, dtype=torch.float16)
    pooled = ours.deform_roi_pool(features, rois, offset, 1)
    assert pooled.dtype is torch.float16
    assert pooled.flatten().tolist() == [1, 1]
    pooled.sum().backward()
    assert features.grad.dtype is torch.float16
    assert features.grad[0, :, 0, 2049].tolist() == [1, 1]


def test_the_packs_name_the_wrong_channels() -> None:
    with pytest.raises(ValueError, match="DeformRoIPoolPack: input has 3 channels, expected"):
        ours.DeformRoIPoolPack(2, 4)(zeros(1, 3, 2, 2), zeros(1, 5))
