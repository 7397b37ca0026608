# SPDX-License-Identifier: Apache-2.0
"""float64: to the last bits, where the formulas are differentiable; and what gradcheck says."""

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch_case import Case
from torch_families import CASES, FIRST_CASES

ALL_CASES = pytest.mark.parametrize("case", CASES, ids=str)
EACH_OPERATOR = pytest.mark.parametrize("case", FIRST_CASES, ids=str)


def in_double(case: Case) -> list[object]:
    args = case.arguments(torch.float64)
    for index, arg in enumerate(args):
        if isinstance(arg, Tensor) and arg.is_floating_point():
            # Bits that float32 does not have; small, as samples must not cross pixels.
            args[index] = arg * (1 + 1e-9)
    for index in case.differentiable:
        args[index].requires_grad_()
    return args


@ALL_CASES
def test_values_and_gradients_are_those_of_the_formula(case: Case) -> None:
    args, others = in_double(case), in_double(case)
    result, expected = case.ours(*args), case.reference(*others)
    assert result.dtype is torch.float64
    torch.testing.assert_close(result, expected, rtol=1e-11, atol=1e-12)
    grad = torch.randn(result.shape, dtype=torch.float64)
    result.backward(grad)
    expected.backward(grad)
    for index in case.differentiable:
        torch.testing.assert_close(args[index].grad, others[index].grad, rtol=1e-10, atol=1e-11)


@ALL_CASES
def test_gradcheck(case: Case) -> None:
    assert gradcheck(case.ours, in_double(case), fast_mode=True)


@EACH_OPERATOR
def test_gradgradcheck_says_that_there_is_no_second_derivative(case: Case) -> None:
    with pytest.raises(NotImplementedError, match="second derivatives are not supported"):
        gradgradcheck(case.ours, in_double(case), fast_mode=True)


@EACH_OPERATOR
def test_memory_formats(case: Case) -> None:
    args = [arg.detach() if isinstance(arg, Tensor) else arg for arg in in_double(case)]
    last = [args[0].contiguous(memory_format=torch.channels_last), *args[1:]]
    result, last_result = case.ours(*args), case.ours(*last)
    assert result.is_contiguous()
    assert last_result.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(result, last_result)


@EACH_OPERATOR
def test_opcheck(case: Case) -> None:
    args = in_double(case)
    name, operator_args = case.operator(*args)
    # Tracing, which takes most of the time, is the same for every dtype: test_torch_dispatcher.py.
    utils = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(
        getattr(torch.ops.pymluops, name).default, operator_args, test_utils=utils
    )


@EACH_OPERATOR
def test_autocast_leaves_it(case: Case) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert case.ours(*in_double(case)).dtype is torch.float64
