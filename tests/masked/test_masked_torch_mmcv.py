# SPDX-License-Identifier: Apache-2.0
"""mmcv's masked convolution on our operator: what its own refuses, ignores or leaves out."""

import sys

import pytest
import torch
from installed_mmcv import theirs
from torch_families import of_family

import pymluops.torch as ours


@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated")
@pytest.mark.filterwarnings("ignore:This overload of addmm is deprecated")
def test_compile_of_what_calls_the_compiled_module() -> None:
    function = sys.modules["mmcv.ops.masked_conv"].MaskedConv2dFunction.apply
    compiled = torch.compile(function, backend="aot_eager")
    args = of_family("masked").CASES[0].arguments()
    assert torch.equal(compiled(*args), ours.masked_conv2d(*args))


@pytest.mark.parametrize(
    ("changed", "images", "text"),
    [
        ({}, 2, "features holds 2 images, expected 1; call it for one image at a time"),
        ({"stride": 2}, 1, r"masked_conv2d: stride is \(2, 2\), expected 1"),
        ({"dilation": 2}, 1, r"MaskedConv2d: dilation is \(2, 2\), expected 1 where a mask is"),
    ],
)
def test_errors_are_ours(changed: dict[str, int], images: int, text: str) -> None:
    its = theirs.MaskedConv2d(3, 4, 1, **changed)
    with pytest.raises(ValueError, match=text):
        its(torch.zeros(images, 3, 4, 4), torch.zeros(1, 4, 4))


def test_without_bias() -> None:
    its = theirs.MaskedConv2d(3, 4, 3, padding=1, bias=False)
    inputs = torch.randn(1, 3, 5, 5), torch.rand(1, 5, 5)
    expected = ours.masked_conv2d(*inputs, its.weight, None, 1)
    assert torch.equal(its(*inputs), expected)


def test_its_weights_have_gradients() -> None:
    its = theirs.MaskedConv2d(3, 4, 3, padding=1)
    its(torch.randn(1, 3, 5, 5), torch.ones(1, 5, 5)).sum().backward()
    assert its.weight.grad.any()
    assert its.bias.grad.tolist() == [25] * 4
