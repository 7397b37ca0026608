# SPDX-License-Identifier: Apache-2.0
"""Memory that a thread keeps between calls: how much, for how long, and never that of a result."""

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_case import Case
from torch_families import CASES, FIRST_CASES

import pymluops.torch as ours
from pymluops.torch import _memory, _tensors

SHAPE = (2, 3, 20, 10)
SIZE = 2 * 3 * 20 * 10 * 4


@pytest.fixture(autouse=True)
def everything_is_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However small it is."""
    monkeypatch.setattr(_memory, "LEAST_BYTES", 0)
    monkeypatch.setattr(_tensors, "SMALL_BYTES", 0)
    ours.empty_cache()
    yield
    ours.empty_cache()


def kept() -> list[int]:
    """The sizes of the blocks that this thread keeps."""
    return [block.nbytes() for block in _memory._kept.blocks]


def make(shape: tuple[int, ...] = SHAPE, dtype: torch.dtype = torch.float32) -> Tensor:
    return _memory.kept_nhwc(shape, dtype)


def test_memory_is_used_again_when_no_tensor_refers_to_it() -> None:
    first = make()
    assert first.shape == SHAPE
    assert first.is_contiguous(memory_format=torch.channels_last)
    address = first.data_ptr()
    second = make()
    assert second.data_ptr() != address
    part = first[:, 1:]
    del first
    third = make()
    assert third.data_ptr() not in (address, second.data_ptr())
    del part
    assert make(dtype=torch.float16).data_ptr() == address
    assert kept() == [SIZE] * 3
    assert make((2, 3, 10, 9)).data_ptr() != address  # of a block more than twice as large


def test_memory_that_was_used_last_is_used_first() -> None:
    first, second = make(), make()
    address = second.data_ptr()
    del first, second
    assert make().data_ptr() == address


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "KEPT_BYTES", 3 * SIZE)
    held = [make() for _ in range(3)]
    assert kept() == [SIZE] * 3
    held.append(make((2, 3, 20, 20)))
    assert kept() == [SIZE, 2 * SIZE]  # the ones used last
    held.append(make((2, 3, 20, 31)))  # more than all that is kept
    assert kept() == [SIZE, 2 * SIZE]
    assert len({tensor.data_ptr() for tensor in held}) == 5
    held.clear()
    ours.empty_cache()
    assert kept() == []


def test_small_blocks_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "LEAST_BYTES", SIZE + 1)
    make()
    assert kept() == []
    monkeypatch.setattr(_memory, "LEAST_BYTES", SIZE)
    make()
    assert kept() == [SIZE]


def test_a_signal_handler_gets_other_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may call an operator between any two steps of ours, such as before the tensor is made."""
    make()
    empty = torch.empty
    others: list[Tensor] = []

    def interrupted(*sizes: int, **options: Any) -> Tensor:
        monkeypatch.setattr(torch, "empty", empty)
        others.append(make())
        return empty(*sizes, **options)

    monkeypatch.setattr(torch, "empty", interrupted)
    assert make().data_ptr() != others[0].data_ptr()


def call(case: Case, seed: int) -> list[Tensor]:
    """Return the result and the gradients of a call on contiguous tensors."""
    args = case.arguments(seed=seed)
    leaves = [args[index].requires_grad_() for index in case.differentiable]
    result = case.ours(*args)
    return [result, *torch.autograd.grad(result, leaves, torch.ones_like(result))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_never_overwritten(case: Case) -> None:
    made = call(case, 1)
    own = [tensor.clone() for tensor in made]
    for seed in (2, 3, 1):
        again = call(case, seed)
    for tensor, copy, same in zip(made, own, again, strict=True):
        assert torch.equal(tensor, copy)
        assert torch.equal(tensor, same)
        assert tensor.untyped_storage().nbytes() == tensor.nbytes
        blocks = [block.data_ptr() for block in _memory._kept.blocks]
        assert tensor.data_ptr() not in blocks


def test_channels_last_keeps_nothing() -> None:
    case = FIRST_CASES[0]
    args = case.arguments()
    for i, arg in enumerate(args):
        if torch.is_tensor(arg) and arg.dim() == 4:
            args[i] = arg.to(memory_format=torch.channels_last)
    case.ours(*args)
    assert kept() == []
    case.ours(*case.arguments())
    assert kept()


def test_threads_keep_memory_of_their_own() -> None:
    wanted = {case.name: call(case, 1) for case in CASES}
    assert kept()
    wrong, left, at_first = [], [], []
    start = threading.Barrier(3)

    def work() -> None:
        start.wait()
        at_first.extend(kept())
        for _ in range(3):
            for case in CASES:
                made = call(case, 1)
                if not all(map(torch.equal, made, wanted[case.name])):
                    wrong.append(case.name)
        left.extend(block.data_ptr() for block in _memory._kept.blocks)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert at_first == []
    assert left


def test_inference_mode_leaves_memory_for_others() -> None:
    case = CASES[0]
    wanted = call(case, 1)
    ours.empty_cache()
    with torch.inference_mode():
        assert torch.equal(case.ours(*case.arguments(seed=1)), wanted[0])
    assert all(map(torch.equal, call(case, 1), wanted))


def _in_child(case: Case, wanted: list[Tensor]) -> None:
    assert all(map(torch.equal, call(case, 1), wanted))


def test_a_forked_child_has_memory_of_its_own() -> None:
    case = CASES[0]
    wanted = call(case, 1)
    assert kept()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(case, wanted))
    child.start()
    assert all(map(torch.equal, call(case, 1), wanted))
    child.join(60)
    assert child.exitcode == 0
