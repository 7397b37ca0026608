# SPDX-License-Identifier: Apache-2.0
"""What a signal handler raises comes through PyTorch's own machinery as it is."""

from collections.abc import Iterator

import pytest
import torch
from torch_case import Case
from torch_families import FIRST_CASES

from pymluops import _interrupts
from pymluops._threads import thread_handle
from pymluops.capi import ffi


@pytest.fixture
def _ctrl_c() -> Iterator[None]:
    """Every question whether to go on is answered by Ctrl-C."""

    def answer(_nothing: object) -> None:
        raise KeyboardInterrupt

    handle = thread_handle(torch.get_num_threads())
    ffi.def_extern("pymluops_ask", error=1, onerror=_interrupts._keep)(answer)
    _interrupts.watch(handle.cdata, 0)
    yield
    _interrupts.watch(handle.cdata)
    ffi.def_extern("pymluops_ask", error=1, onerror=_interrupts._keep)(_interrupts.pymluops_ask)


@pytest.mark.parametrize("case", FIRST_CASES, ids=str)
@pytest.mark.usefixtures("_ctrl_c")
def test_forward(case: Case) -> None:
    with pytest.raises(KeyboardInterrupt):
        case.ours(*case.arguments())


@pytest.mark.parametrize("case", FIRST_CASES, ids=str)
def test_backward(case: Case, request: pytest.FixtureRequest) -> None:
    arguments = case.arguments()
    for index in case.differentiable:
        arguments[index].requires_grad_()
    loss = case.ours(*arguments).square().sum()
    request.getfixturevalue("_ctrl_c")
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
