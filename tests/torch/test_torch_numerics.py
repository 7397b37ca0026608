# SPDX-License-Identifier: Apache-2.0
"""The PyTorch functions: values and gradients, in every dtype and memory format."""

import pytest
import torch
from torch import Tensor
from torch_case import Case, cast
from torch_families import CASES, EVERY_CASE

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


@ALL_CASES
def test_gradients_have_the_memory_format_of_their_tensors(case: Case) -> None:
    args = [
        arg.contiguous(memory_format=CHANNELS_LAST)
        if isinstance(arg, Tensor) and arg.dim() == 4
        else arg
        for arg in case.arguments()
    ]
    leaves = require_grad(case, args)
    grads = torch.autograd.grad(case.ours(*args).sum(), leaves)
    for grad, leaf in zip(grads, leaves, strict=True):
        wanted = CHANNELS_LAST if leaf.dim() == 4 else torch.contiguous_format
        assert grad.is_contiguous(memory_format=wanted)


@pytest.mark.parametrize("case", EVERY_CASE, ids=str)
def test_defaults_of_torch_change_nothing(case: Case) -> None:
    args = case.arguments()
    results = [case.ours(*args)]
    with torch.device("meta"):
        results.append(case.ours(*args))
    torch.set_default_dtype(torch.float64)
    try:
        results.append(case.ours(*args))
    finally:
        torch.set_default_dtype(torch.float32)
    first, *others = (made if isinstance(made, tuple) else (made,) for made in results)
    for other in others:
        assert [made.dtype for made in other] == [made.dtype for made in first]
        assert all(map(torch.equal, other, first))


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
def test_other_dtypes_are_refused(case: Case) -> None:
    wanted = r"is int32, expected float32, float16, bfloat16 or float64; pass "
    args = case.arguments()
    args[0] = args[0].int()
    with pytest.raises(TypeError, match=wanted):
        case.ours(*args)
