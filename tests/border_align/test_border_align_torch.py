# SPDX-License-Identifier: Apache-2.0
"""BorderAlign in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_case import assert_empty_gives_zeros, assert_signature, seeded, zeros

import pymluops
import pymluops.torch as ours


def test_border_align_numbers() -> None:
    """A quarter of the channels for each border, boxes with corners on pixels, ends only."""
    x = torch.tensor(
        [
            [
                [[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]],
                [[6, 7, 5, 8], [2, 1, 3, 4], [12, 9, 11, 10]],
                [[-2, -3, 2, 0], [-4, -5, 1, -1], [-1, -1, -1, -1]],
                [[0, -1, 2, 1], [-4, -3, -2, -1], [-1, -2, -3, -4]],
            ]
        ]
    )
    boxes = [[0, 0, 2, 1], [1, 0, 3, 1], [1, 0, 2, 1], [0, 0, 3, 1], [0, 0, 1, 2], [0, 0, 2, 2]]
    boxes += [[1, 0, 2, 1], [1, 0, 3, 1], [0, 1, 1, 2], [0, 0, 3, 2], [1, 0, 3, 2], [2, 0, 3, 2]]
    expected = [[3, 6, 1, 2], [4, 7, -1, 1], [3, 7, 1, 2], [4, 6, -1, 1], [2, 12, -1, -1]]
    expected += [[3, 12, -1, 2], [3, 7, 1, 2], [4, 7, -1, 1], [6, 12, -1, -2], [4, 12, -1, 1]]
    expected += [[4, 9, -1, 1], [4, 11, -1, 1]]
    result = ours.border_align(x, torch.tensor([boxes], dtype=torch.float32), 1)
    assert result.tolist() == [[expected]]


def test_the_input_may_change_before_the_backward() -> None:
    """As in mmcv: its values are not needed any more."""
    x, boxes = seeded(1, 8, 3, 4).requires_grad_(), torch.rand(1, 12, 4).mul(3)
    (expected,) = torch.autograd.grad(ours.border_align(x, boxes, 2).sum(), x)
    features = x + 0
    result = ours.border_align(features, boxes, 2)
    features.zero_()
    result.sum().backward()
    assert torch.equal(x.grad, expected)


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (lambda x, b: ours.border_align(x, b, 2), [(0, 8, 2, 2), (0, 4, 4)], (0, 2, 4, 4)),
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
        (ours.BorderAlign, "pool_size"),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


def test_the_module_describes_and_copies_itself() -> None:
    for module, text in ((ours.BorderAlign(10), "BorderAlign(pool_size=10)"),):
        assert repr(module) == text
        assert repr(copy.deepcopy(module)) == text
        assert repr(pickle.loads(pickle.dumps(module))) == text


def test_float32_boxes_with_half_features() -> None:
    """Coordinates above 2048 are not rounded to the float16 of the features."""
    features = torch.zeros(1, 4, 1, 4096, dtype=torch.float16)
    features[..., 2049] = 1
    features.requires_grad_()
    boxes = torch.tensor([2049.0, 0, 2049, 0]).expand(1, 4096, 4)
    maxima = ours.border_align(features, boxes, 1)
    assert maxima.dtype is torch.float16
    assert maxima.min() == 1
    maxima[:, :, 0].sum().backward()
    assert features.grad.dtype is torch.float16
    assert features.grad[0, :, 0, 2049].tolist() == [1] * 4
    with pytest.raises(TypeError, match="boxes is float64, expected"):
        ours.border_align(features, boxes.double(), 1)
    with pytest.raises(TypeError, match="boxes is float16, expected float32 as input"):
        ours.border_align(features.detach().float(), boxes.half(), 1)


def test_nothing_is_allocated_for_what_is_too_large() -> None:
    x, boxes = torch.zeros(1).expand(2**30, 8, 64, 64), torch.zeros(1).expand(2**30, 4096, 4)
    with pytest.raises(pymluops.NotSupportedError, match=re.escape("2**31 elements or more")):
        ours.border_align(x, boxes, 2)
