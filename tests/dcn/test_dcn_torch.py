# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution in PyTorch: numbers known beforehand, mmcv's habits, refusals."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_case import seeded, zeros

import pymluops.torch as ours

LAST = torch.channels_last


def test_the_example_of_the_contract() -> None:
    x = torch.tensor([[[[1.0, 2], [3, 4]]]], requires_grad=True)
    offset = torch.tensor([0.5, 0.25, 0, -0.5, -1.5, 0.5, 0, 1]).view(1, 8, 1, 1).requires_grad_()
    mask = torch.tensor([1, 0.5, 2, 3]).view(1, 4, 1, 1).requires_grad_()
    weight = torch.tensor([[[[1.0, 2], [3, 4]]]], requires_grad=True)
    bias = torch.tensor([0.5], requires_grad=True)
    result = ours.modulated_deform_conv2d(x, offset, mask, weight, bias)
    assert result.tolist() == [[[[8.75]]]]
    (2 * result).backward()
    assert x.grad.flatten().tolist() == [4.75, 4.25, 0.75, 0.25]
    assert offset.grad.flatten().tolist() == [4, 2, 4, 2, 18, 6, 0, 0]
    assert mask.grad.flatten().tolist() == [4.5, 6, 4.5, 0]
    assert weight.grad.flatten().tolist() == [4.5, 1.5, 3, 0]
    assert bias.grad.tolist() == [2]


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, LAST], ids=str)
def test_zero_offsets_are_the_dense_convolution(memory_format: torch.memory_format) -> None:
    x = seeded(2, 8, 9, 7).to(memory_format=memory_format)
    weight = seeded(6, 4, 3, 3)
    form = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}
    dense = nn.functional.conv2d(x, weight, **form)
    result = ours.deform_conv2d(x, zeros(2, 18, *dense.shape[2:]), weight, **form)
    torch.testing.assert_close(result, dense, rtol=1e-5, atol=1e-5)
    assert result.is_contiguous(memory_format=memory_format)


@pytest.mark.parametrize("wanted", range(5))
def test_only_what_is_asked_for_is_computed(wanted: int) -> None:
    """Each gradient alone is the one that comes with all others."""
    args = [seeded(1, 4, 6, 5), seeded(1, 18, 6, 5), seeded(1, 9, 6, 5), seeded(6, 4, 3, 3)]
    args.append(seeded(6))

    def gradients(which: range | tuple[int, ...]) -> list[Tensor]:
        leaves = [a.clone().requires_grad_(i in which) for i, a in enumerate(args)]
        ours.modulated_deform_conv2d(*leaves, 1, 1).square().sum().backward()
        return [leaves[i].grad for i in which]

    assert torch.equal(gradients((wanted,))[0], gradients(range(5))[wanted])


def test_no_images_give_no_results() -> None:
    x = torch.zeros(0, 4, 5, 6, requires_grad=True)
    weight = torch.zeros(3, 4, 3, 3, requires_grad=True)
    result = ours.modulated_deform_conv2d(x, zeros(0, 18, 3, 4), zeros(0, 9, 3, 4), weight)
    assert result.shape == (0, 3, 3, 4)
    result.sum().backward()
    assert x.grad.shape == x.shape
    assert not weight.grad.any()


def test_gradcheck() -> None:
    leaves = [seeded(1, 4, 5, 4), seeded(1, 36, 3, 2) * 0.3 + 0.4, seeded(1, 18, 3, 2)]
    leaves += [seeded(2, 2, 3, 3), seeded(2)]
    leaves = [leaf.double().requires_grad_() for leaf in leaves]
    numbers = (1, 0, 1, 2, 2)
    assert torch.autograd.gradcheck(
        lambda *args: ours.modulated_deform_conv2d(*args, *numbers), leaves, fast_mode=True
    )


# ------------------------------------------------------------------------- as mmcv's users know it


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, LAST], ids=str)
def test_larger_maps_are_read_from_their_begin(memory_format: torch.memory_format) -> None:
    """mmdet's DyHead has offsets and masks of the next finer level."""
    x, weight = seeded(2, 4, 6, 5), seeded(3, 4, 3, 3)
    offset = seeded(2, 18, 6, 5).to(memory_format=memory_format).requires_grad_()
    mask = seeded(2, 9, 6, 5).to(memory_format=memory_format).requires_grad_()
    result = ours.modulated_deform_conv2d(x, offset, mask, weight, None, 2, 1)
    assert result.shape == (2, 3, 3, 3)
    first = offset.detach().flatten(1)[:, : 18 * 9].reshape(2, 18, 3, 3).requires_grad_()
    second = mask.detach().flatten(1)[:, : 9 * 9].reshape(2, 9, 3, 3).requires_grad_()
    expected = ours.modulated_deform_conv2d(x, first, second, weight, None, 2, 1)
    assert torch.equal(result, expected)
    result.square().sum().backward()
    expected.square().sum().backward()
    for larger, part in ((offset, first), (mask, second)):
        count = part[0].numel()
        assert torch.equal(larger.grad.flatten(1)[:, :count], part.grad.flatten(1))
        assert not larger.grad.flatten(1)[:, count:].any()


def test_the_scale_of_weights_in_mmcv() -> None:
    """deform_conv_backward_parameters adds, as mmcv's own does."""
    from pymluops._families.dcn.mmcv import deform_conv_backward_parameters

    x, offset, grad = seeded(1, 2, 3, 4), seeded(1, 2, 3, 4), seeded(1, 3, 3, 4)
    sizes = {"kW": 1, "kH": 1, "dW": 1, "dH": 1, "padW": 0, "padH": 0}
    numbers = {"dilationW": 1, "dilationH": 1, "group": 1, "deformable_group": 1}
    once, more = torch.zeros(3, 2, 1, 1), torch.ones(3, 2, 1, 1)
    for into, scale in ((once, 1), (more, 0.5)):
        deform_conv_backward_parameters(
            x, offset, grad, into, x, x, **sizes, **numbers, scale=scale, im2col_step=1
        )
    torch.testing.assert_close(more, 1 + 0.5 * once)


@pytest.mark.parametrize("step", [1, 2, 4, 64])
def test_im2col_step_changes_nothing(step: int) -> None:
    args = seeded(4, 4, 5, 6), seeded(4, 18, 3, 4), seeded(3, 4, 3, 3)
    expected = ours.deform_conv2d(*args)
    assert torch.equal(ours.deform_conv2d(*args, 1, 0, 1, 1, 1, False, step), expected)


@pytest.mark.parametrize("kind", [ValueError, AssertionError])
def test_im2col_step_divides_the_batch(kind: type[Exception]) -> None:
    """mmcv asserts that; whoever expects its error gets it."""
    model = ours.DeformConv2dPack(4, 3, 3, im2col_step=3)
    assert model(seeded(2, 4, 5, 6)).shape[0] == 2
    assert model(seeded(6, 4, 5, 6)).shape[0] == 6
    with pytest.raises(kind, match="input has 4 images and im2col_step is 3: batch size must be"):
        model(seeded(4, 4, 5, 6))
    with pytest.raises(kind, match="im2col_step is 0"):
        ours.deform_conv2d(X, OFFSET, WEIGHT, im2col_step=0)


# ------------------------------------------------------------------------------------- refusals

X, OFFSET, WEIGHT = zeros(1, 4, 5, 5), zeros(1, 18, 3, 3), zeros(2, 4, 3, 3)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ours.deform_conv2d(zeros(4, 5, 5), OFFSET, WEIGHT),
            ValueError,
            "deform_conv2d: input has shape (4, 5, 5), expected 4 dims (N, C, H, W)",
        ),
        (
            lambda: ours.modulated_deform_conv2d(X, OFFSET[0], zeros(1, 9, 3, 3), WEIGHT),
            ValueError,
            "modulated_deform_conv2d: offset has shape (18, 3, 3), expected 4 dims",
        ),
        (
            lambda: ours.deform_conv2d(X, zeros(1, 9, 3, 3), WEIGHT),
            ValueError,
            (
                "deform_conv2d: offset has shape (1, 9, 3, 3), expected (1, 18, 3, 3) = "
                "(N, 2 * deform_groups * kernel_h * kernel_w, out_h, out_w)"
            ),
        ),
        (
            lambda: ours.deform_conv2d(X, zeros(1, 18, 5, 5), WEIGHT),
            ValueError,
            "deform_conv2d: offset has shape (1, 18, 5, 5), expected (1, 18, 3, 3)",
        ),
        (
            lambda: ours.modulated_deform_conv2d(X, OFFSET, zeros(1, 9, 2, 3), WEIGHT),
            ValueError,
            "modulated_deform_conv2d: mask has shape (1, 9, 2, 3), expected (1, 9, 3, 3)",
        ),
        (
            lambda: ours.modulated_deform_conv2d(X, OFFSET, zeros(1, 9, 3, 3), WEIGHT, zeros(3)),
            ValueError,
            "bias has shape (3,), expected (2,) = (out_channels,)",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, zeros(2, 3, 3, 3)),
            ValueError,
            "weight has shape (2, 3, 3, 3), expected (2, 4, 3, 3)",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, groups=3),
            ValueError,
            "input has 4 channels, expected a multiple of groups (3)",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, zeros(3, 2, 3, 3), groups=2),
            ValueError,
            "weight is for 3 channels, expected a multiple of groups (2)",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, deform_groups=3),
            ValueError,
            "input has 4 channels, expected a multiple of deform_groups (3)",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, zeros(2, 4, 7, 3), padding=(0, 1)),
            ValueError,
            ("input is 5 x 5, too small for a weight that spans 7 x 3 pixels with padding (0, 1)"),
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, stride=0),
            ValueError,
            "deform_conv2d: stride is (0, 0), expected 1 or more",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, padding=(0, -1)),
            ValueError,
            "deform_conv2d: padding is (0, -1), expected 0 or more",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, groups=0),
            ValueError,
            "deform_conv2d: groups is 0, expected 1 or more",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, stride=(1, 1, 1)),
            ValueError,
            "deform_conv2d: stride is (1, 1, 1), expected an int or a pair of ints",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, bias=True),
            ValueError,
            "deform_conv2d: bias is True, expected False; add it to the result",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET, WEIGHT, bias=zeros(6)),  # type: ignore[arg-type]
            ValueError,
            "deform_conv2d: bias is a Tensor, expected False; add it to the result",
        ),
        (
            lambda: ours.deform_conv2d(X, OFFSET.half(), WEIGHT),
            TypeError,
            "deform_conv2d: offset is float16, expected float32 as input; pass offset.to(",
        ),
        (
            lambda: ours.DeformConv2d(4, 6, 3, groups=4),
            ValueError,
            "DeformConv2d: out_channels is 6, expected a multiple of groups (4)",
        ),
        (
            lambda: ours.DeformConv2dPack(4, 4, 3, bias=True),
            ValueError,
            "DeformConv2dPack: bias is True, expected False",
        ),
    ],
)
def test_errors_name_the_argument(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()
