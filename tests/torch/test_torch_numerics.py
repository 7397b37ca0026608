# SPDX-License-Identifier: Apache-2.0
"""The PyTorch functions: values and gradients, in every dtype and memory format."""

import pytest
import torch
from torch import Tensor
from torch_cases import CASES, Case, cast

import pymluops.torch as ours

CHANNELS_LAST = torch.channels_last
# Sums of errors over sums of values; bfloat16 is rounded once, at the end, to 8 bits.
BOUNDS = {torch.float32: 1e-6, torch.float16: 5e-4, torch.bfloat16: 3e-3}
ALL_CASES = pytest.mark.parametrize("case", CASES, ids=str)


def assert_accurate(given: Tensor, exact: Tensor, bound: float) -> None:
    given = given.double()
    assert given.shape == exact.shape
    scale = exact.abs().sum()
    if scale == 0:
        assert given.abs().sum() == 0
        return
    assert (given - exact).abs().sum() <= bound * scale
    assert (given - exact).square().sum().sqrt() <= bound * exact.square().sum().sqrt()


def require_grad(case: Case, args: list[object]) -> list[Tensor]:
    """Make leaves of the arguments that have gradients, in place; return them."""
    leaves = []
    for index in case.differentiable:
        leaf = args[index]
        assert isinstance(leaf, Tensor)
        leaves.append(leaf.detach().requires_grad_())
        args[index] = leaves[-1]
    return leaves


@ALL_CASES
@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
def test_values_and_gradients_match_the_reference(case: Case, dtype: torch.dtype) -> None:
    args = case.arguments(dtype)
    exact_args = [cast(arg, torch.float64) for arg in args]
    leaves, exact_leaves = require_grad(case, args), require_grad(case, exact_args)
    result, exact = case.ours(*args), case.reference(*exact_args)
    assert result.dtype == dtype
    assert_accurate(result, exact.detach(), BOUNDS[dtype])

    grad = torch.randn(result.shape, generator=torch.Generator().manual_seed(7)).to(dtype)
    grads = torch.autograd.grad(result, leaves, grad)
    exact_grads = torch.autograd.grad(exact, exact_leaves, grad.double())
    for given, expected in zip(grads, exact_grads, strict=True):
        assert given.dtype == dtype
        assert_accurate(given, expected, BOUNDS[dtype])


@ALL_CASES
def test_gradients_match_finite_differences(case: Case) -> None:
    args = case.arguments(seed=3)
    generator = torch.Generator().manual_seed(4)
    leaves = require_grad(case, args)
    result = case.ours(*args)
    grad = torch.randn(result.shape, generator=generator)
    grads = torch.autograd.grad(result, leaves, grad)
    step = 2.0**-11  # small: a maximum may pass from one sample to another on the way
    for index, leaf, given in zip(case.differentiable, leaves, grads, strict=True):
        direction = torch.randn(leaf.shape, generator=generator)
        values = []
        for sign in (1, -1):
            moved = list(args)
            moved[index] = leaf.detach() + sign * step * direction
            values.append((case.ours(*moved).double() * grad).sum())
        slope = (values[0] - values[1]) / (2 * step)
        expected = (given.double() * direction).sum()
        assert abs(slope - expected) <= 1e-3 * (given * direction).abs().double().sum()


@ALL_CASES
def test_channels_last_goes_in_and_out(case: Case) -> None:
    args = case.arguments()
    last = list(args)
    last[0] = args[0].to(memory_format=CHANNELS_LAST)
    leaves, last_leaves = require_grad(case, args), require_grad(case, last)
    result, last_result = case.ours(*args), case.ours(*last)
    assert result.is_contiguous()
    assert last_result.is_contiguous(memory_format=CHANNELS_LAST)
    assert not last_result.is_contiguous()
    assert torch.equal(result, last_result)

    grad = torch.randn_like(result)
    grads = torch.autograd.grad(result, leaves, grad)
    last_grads = torch.autograd.grad(last_result, last_leaves, grad)
    assert grads[0].is_contiguous()
    assert last_grads[0].is_contiguous(memory_format=CHANNELS_LAST)
    assert all(map(torch.equal, grads, last_grads))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_large_images_are_converted_exactly(dtype: torch.dtype) -> None:
    """Beyond a size, memory formats are converted in another way."""
    x = torch.randn(2, 132, 23, 25, dtype=dtype, requires_grad=True)
    last = x.detach().to(memory_format=CHANNELS_LAST).requires_grad_()
    masks = torch.randn(2, 9, 46, 50, dtype=dtype)
    result, last_result = (ours.carafe(features, masks, 3, 1, 2) for features in (x, last))
    assert result.is_contiguous()
    assert torch.equal(result, last_result)
    result.square().sum().backward()
    last_result.square().sum().backward()
    assert x.grad.is_contiguous()
    assert torch.equal(x.grad, last.grad)


def unaligned(tensor: Tensor) -> Tensor:
    """Copy a tensor to the second byte of its memory, as torch.frombuffer can make one."""
    memory = bytearray(tensor.numel() * tensor.element_size() + 1)
    copy = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=1)
    assert copy.data_ptr() % tensor.element_size() != 0
    return copy.copy_(tensor.flatten()).reshape(tensor.shape)


@ALL_CASES
def test_unaligned_tensors_are_copied(case: Case) -> None:
    args = case.arguments()
    planes = [
        unaligned(arg) if isinstance(arg, Tensor) and arg.is_floating_point() else arg
        for arg in args
    ]
    pixels = [
        unaligned(arg.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        if isinstance(arg, Tensor) and arg.is_floating_point() and arg.ndim == 4
        else arg
        for arg in args
    ]
    result = case.ours(*args)
    assert torch.equal(case.ours(*planes), result)
    assert torch.equal(case.ours(*pixels), result)


@ALL_CASES
def test_any_strides_are_accepted(case: Case) -> None:
    args = case.arguments()
    strided = [
        torch.stack([arg, arg], -1)[..., 0] if isinstance(arg, Tensor) else arg for arg in args
    ]
    assert not strided[0].is_contiguous()
    assert torch.equal(case.ours(*args), case.ours(*strided))
    leaves, strided_leaves = require_grad(case, args), require_grad(case, strided)
    result = case.ours(*args)
    expanded = torch.ones(()).expand(result.shape)
    grads = torch.autograd.grad(result, leaves, expanded)
    strided_grads = torch.autograd.grad(case.ours(*strided), strided_leaves, expanded)
    assert all(map(torch.equal, grads, strided_grads))


@ALL_CASES
def test_float64_is_refused(case: Case) -> None:
    with pytest.raises(TypeError, match=r"float64, expected float32, float16 or bfloat16; pass "):
        case.ours(*case.arguments(torch.float64))


def test_a_gradient_that_is_not_needed_is_not_computed() -> None:
    case = next(case for case in CASES if case.name == "masked_conv")
    args = case.arguments()
    args[2].requires_grad_()
    case.ours(*args).sum().backward()
    assert args[0].grad is None
    assert args[2].grad is not None


def test_carafe_naive_is_carafe() -> None:
    case = next(case for case in CASES if case.name == "carafe")
    args = case.arguments()
    assert torch.equal(ours.carafe_naive(*args), ours.carafe(*args))


# ------------------------------------------------------------------- numbers known beforehand


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


def test_psa_mask_numbers() -> None:
    x = torch.arange(1.0, 7).view(1, 3, 1, 2)  # a 1 x 3 mask on a 1 x 2 map
    collected = ours.psa_mask(x, 0, (1, 3))
    # Pixel 0 attends to itself by mask value 1 and to pixel 1 by value 2; pixel 1 by 0 and 1.
    assert collected.view(2, 2).tolist() == [[3, 2], [5, 4]]
    assert ours.psa_mask(x, 1, (1, 3)).view(2, 2).tolist() == [[3, 5], [2, 4]]


def test_masked_conv_leaves_zeros_without_bias() -> None:
    mask = torch.tensor([[[0.0, 1.0], [-1.0, 0.5]]])
    x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    result = ours.masked_conv2d(x, mask, torch.full((1, 1, 1, 1), 10.0), torch.tensor([0.5]))
    assert result.tolist() == [[[[0, 20.5], [0, 40.5]]]]


# --------------------------------------------------------------------------------- empty tensors


@pytest.mark.parametrize(
    ("call", "shapes", "result"),
    [
        (lambda x, m: ours.carafe(x, m, 3, 1, 2), [(0, 4, 2, 2), (0, 9, 4, 4)], (0, 4, 4, 4)),
        (lambda x, m: ours.carafe(x, m, 3, 1, 2), [(1, 0, 2, 2), (1, 9, 4, 4)], (1, 0, 4, 4)),
        (lambda x: ours.psa_mask(x, 0, (3, 3)), [(0, 9, 2, 2)], (0, 4, 2, 2)),
        (lambda x: ours.psa_mask(x, 0, (0, 3)), [(1, 0, 2, 2)], (1, 4, 2, 2)),
        (lambda x, b: ours.border_align(x, b, 2), [(0, 8, 2, 2), (0, 4, 4)], (0, 2, 4, 4)),
        (lambda x, r: ours.deform_roi_pool(x, r, None, 2), [(1, 3, 4, 4), (0, 5)], (0, 3, 2, 2)),
        (lambda x, r: ours.deform_roi_pool(x, r, None, 2), [(1, 3, 0, 4), (2, 5)], (2, 3, 2, 2)),
        (
            lambda x, m, w: ours.masked_conv2d(x, m, w, None, 1),
            [(1, 2, 4, 4), (1, 4, 4), (3, 2, 3, 3)],
            (1, 3, 4, 4),
        ),
    ],
)
def test_empty_tensors_give_zeros(
    call: object, shapes: list[tuple[int, ...]], result: tuple[int, ...]
) -> None:
    tensors = [torch.zeros(shape, requires_grad=True) for shape in shapes]
    output = call(*tensors)  # type: ignore[operator]
    assert tuple(output.shape) == result
    assert not output.any()
    output.sum().backward()
    assert tensors[0].grad.shape == tensors[0].shape
    assert not tensors[0].grad.any()
