# SPDX-License-Identifier: Apache-2.0
"""Masked convolution in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_case import assert_empty_gives_zeros, assert_signature, seeded, zeros
from torch_families import of_family

import pymluops.torch as ours


def test_masked_conv_leaves_zeros_without_bias() -> None:
    mask = torch.tensor([[[0.0, 1.0], [-1.0, 0.5]]])
    x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    result = ours.masked_conv2d(x, mask, torch.full((1, 1, 1, 1), 10.0), torch.tensor([0.5]))
    assert result.tolist() == [[[[0, 20.5], [0, 40.5]]]]


_KINDS = [
    torch.bool,
    torch.uint8,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


@pytest.mark.parametrize("dtype", _KINDS, ids=str)
def test_masks_of_any_dtype(dtype: torch.dtype) -> None:
    mask = torch.tensor([[[0, 1], [-1, torch.nan if dtype.is_floating_point else 0]]])
    mask = mask.abs().to(dtype) if dtype in _KINDS[:2] else mask.to(dtype)
    x, weight = torch.ones(1, 1, 2, 2), torch.full((1, 1, 1, 1), 10.0)
    with np.errstate(all="raise"):
        result = ours.masked_conv2d(x, mask, weight, None)
    assert result.tolist() == [[[[0, 10], [10 if dtype in _KINDS[:2] else 0, 0]]]]


def test_a_mask_that_is_still_to_be_negated() -> None:
    mask = torch.tensor([[[0, -1j], [1j, 2]]]).conj().imag
    assert mask.is_neg()
    result = ours.masked_conv2d(torch.ones(1, 1, 2, 2), mask, torch.ones(1, 1, 1, 1), None)
    assert result.tolist() == [[[[0, 1], [0, 0]]]]


def test_a_mask_with_a_gradient() -> None:
    """It gets none."""
    mask = torch.tensor([[[0.0, 1.0], [-1.0, 0.5]]], requires_grad=True)
    weight = torch.full((1, 1, 1, 1), 10.0, requires_grad=True)
    result = ours.masked_conv2d(torch.ones(1, 1, 2, 2), mask, weight, None)
    assert result.tolist() == [[[[0, 10], [0, 10]]]]
    result.sum().backward()
    assert mask.grad is None
    assert weight.grad is not None


def test_a_gradient_that_is_not_needed_is_not_computed() -> None:
    case = of_family("masked").CASES[0]
    args = case.arguments()
    args[2].requires_grad_()
    case.ours(*args).sum().backward()
    assert args[0].grad is None
    assert args[2].grad is not None


def test_gradients_where_no_window_reads_a_feature() -> None:
    features, weight = seeded(1, 2, 3, 3).requires_grad_(), seeded(4, 2, 1, 1).requires_grad_()
    result = ours.masked_conv2d(features, torch.ones(1, 3, 3), weight, None, padding=5)
    result.sum().backward()
    for leaf in (features, weight):
        assert leaf.grad is not None
        assert not leaf.grad.any()


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (
            lambda x, m, w: ours.masked_conv2d(x, m, w, None, 1),
            [(1, 2, 4, 4), (1, 4, 4), (3, 2, 3, 3)],
            (1, 3, 4, 4),
        ),
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
            lambda: ours.masked_conv2d(zeros(2, 3, 4, 4), zeros(1, 4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: features holds 2 images, expected 1; call it for one image at a time",
        ),
        (
            lambda: ours.masked_conv2d(zeros(0, 3, 4, 4), zeros(0, 4, 4), zeros(4, 3, 1, 1), None),
            ValueError,
            "masked_conv2d: features holds 0 images, expected 1; call it for one image at a time",
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


@pytest.mark.parametrize(
    ("module", "signature"),
    [
        (
            ours.MaskedConv2d,
            (
                "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, "
                "groups=1, bias=True"
            ),
        ),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


def test_masked_conv_without_a_mask_is_a_convolution() -> None:
    module = ours.MaskedConv2d(3, 4, 3, stride=2, padding=1, groups=1)
    x = torch.randn(2, 3, 6, 6)
    expected = functional.conv2d(x, module.weight, module.bias, stride=2, padding=1)
    assert torch.equal(module(x), expected)


def test_state_dict_keys() -> None:
    assert list(ours.MaskedConv2d(1, 1, 3).state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_the_module_has_one_dtype_under_autocast(dtype: torch.dtype) -> None:
    module = ours.MaskedConv2d(3, 4, 3, padding=1)
    x, mask = torch.randn(1, 3, 6, 6), torch.ones(1, 6, 6)
    with torch.autocast("cpu", dtype=dtype):
        masked, whole = module(x, mask), module(x)
    assert masked.dtype is whole.dtype is dtype
    torch.testing.assert_close(masked, whole, rtol=0.05, atol=0.05)
    with torch.autocast("cpu", enabled=False):
        assert module(x, mask).dtype is torch.float32


def test_what_the_columns_are() -> None:
    """The operators that mmcv's compiled module needs, by themselves."""
    image = torch.arange(9.0).view(1, 1, 3, 3).half()
    positions = torch.tensor([[0, 2], [1, 2]])
    operators = torch.ops.pymluops
    columns = operators.masked_im2col(image, positions, 1, 3, 0, 1)
    assert columns.dtype is torch.float32
    assert columns.tolist() == [[0, 7], [1, 8], [2, 0]]
    image = operators.masked_col2im(columns[1:2], positions.int(), 3, 3)
    assert image.tolist() == [[[[0, 1, 0], [0, 0, 0], [0, 0, 8]]]]
    torch.library.opcheck(operators.masked_im2col.default, (image, positions, 1, 3, 0, 1))
    torch.library.opcheck(operators.masked_col2im.default, (columns, positions, 3, 3))


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        ((2, 1), r"mask_h_idx: dim 0 is 1, expected 1000 \(M\)"),
        ((3, 1000), r"positions has shape \(3, 1000\), expected \(2, count\)"),
        ((2000,), r"positions has shape \(2000,\), expected \(2, count\)"),
    ],
)
def test_columns_without_positions_are_refused(positions: tuple[int, ...], text: str) -> None:
    """Not read from behind the positions."""
    at = torch.zeros(positions, dtype=torch.int32)
    with pytest.raises(ValueError, match=text):
        torch.ops.pymluops.masked_col2im(zeros(2, 1000), at, 4, 4)
