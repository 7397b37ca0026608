# SPDX-License-Identifier: Apache-2.0
"""PSAMask in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_case import assert_empty_gives_zeros, assert_signature, zeros

import pymluops.torch as ours
from pymluops._families.psamask import native
from pymluops.torch import _tensors


def test_psa_mask_numbers() -> None:
    x = torch.arange(1.0, 7).view(1, 3, 1, 2)  # a 1 x 3 mask on a 1 x 2 map
    collected = ours.psa_mask(x, 0, (1, 3))
    # Pixel 0 attends to itself by mask value 1 and to pixel 1 by value 2; pixel 1 by 0 and 1.
    assert collected.view(2, 2).tolist() == [[3, 2], [5, 4]]
    assert ours.psa_mask(x, 1, (1, 3)).view(2, 2).tolist() == [[3, 5], [2, 4]]


@pytest.mark.parametrize("gradient_in", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("psa_type", [0, 1])
def test_contiguous_tensors_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch, psa_type: int, gradient_in: torch.memory_format
) -> None:
    x = torch.randn(2, 5 * 9, 6, 7, requires_grad=True)
    y = ours.psa_mask(x, psa_type, (5, 9))
    gradient = torch.randn_like(y).contiguous(memory_format=gradient_in)
    (dx,) = torch.autograd.grad(y, x, gradient)
    last = x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    y_last = ours.psa_mask(last, psa_type, (5, 9))
    (dx_last,) = torch.autograd.grad(y_last, last, gradient)
    assert y.is_contiguous()
    assert dx.is_contiguous()
    assert torch.equal(y, y_last)
    assert torch.equal(dx, dx_last)

    called = []
    monkeypatch.setattr(native, "call", lambda function, *arguments: called.append(function))
    monkeypatch.setattr(_tensors, "call", lambda function, *arguments: called.append(function))
    torch.autograd.grad(ours.psa_mask(x, psa_type, (5, 9)), x, torch.zeros(y.shape))
    assert called == ["mluOpCpuPsamaskNchwForward", "mluOpCpuPsamaskNchwBackward"]


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (lambda x: ours.psa_mask(x, 0, (3, 3)), [(0, 9, 2, 2)], (0, 4, 2, 2)),
        (lambda x: ours.psa_mask(x, 0, (0, 3)), [(1, 0, 2, 2)], (1, 4, 2, 2)),
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
        (ours.PSAMask, "psa_type, mask_size=None"),
    ],
)
def test_constructors_take_what_mmcv_takes(module: type[nn.Module], signature: str) -> None:
    assert_signature(module, signature)


def test_the_module_describes_and_copies_itself() -> None:
    for module, text in (
        (ours.PSAMask("collect", (3, 5)), "PSAMask(psa_type=collect, mask_size=(3, 5))"),
    ):
        assert repr(module) == text
        assert repr(copy.deepcopy(module)) == text
        assert repr(pickle.loads(pickle.dumps(module))) == text


def test_numbers_of_another_kind_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"psa_mask: .* is 'collect', expected an int"):
        ours.psa_mask(torch.zeros(1, 9, 3, 3), "collect", 3)
