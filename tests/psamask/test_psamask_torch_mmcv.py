# SPDX-License-Identifier: Apache-2.0
"""A full mmcv, which has a compiled module of its own: ours computes on the CPU alone."""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import installed_mmcv  # noqa: F401
import mmcv.ops
import pytest
import torch
from torch import Tensor

from pymluops.torch import mmcv_backend
from pymluops.torch._mmcv_ext import REPLACED


@pytest.fixture
def full_mmcv(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stand in for the compiled module of a full mmcv, with functions that record their calls."""
    compiled = types.ModuleType("mmcv._ext")
    for name in ("psamask_forward", "bbox_overlaps"):
        setattr(compiled, name, _Original())
    monkeypatch.setitem(sys.modules, "mmcv._ext", compiled)
    for path in REPLACED:  # as they are in mmcv's files
        file, *names = path.split(".")
        holder = functools.reduce(getattr, names[:-1], sys.modules[f"mmcv.ops.{file}"])
        theirs = _Original()
        if getattr(mmcv.ops, names[-1], None) is getattr(holder, names[-1]):
            monkeypatch.setattr(mmcv.ops, names[-1], theirs)
        monkeypatch.setattr(holder, names[-1], theirs)
    mmcv_backend.install()
    return compiled


class _Original:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.calls.append(args)


def psa_arguments(make: Callable[..., Tensor]) -> dict[str, Any]:
    return {
        "input": make(1, 1, 2, 2),
        "output": make(1, 4, 2, 2),
        "psa_type": 0,
        "num_": 1,
        "h_feature": 2,
        "w_feature": 2,
        "h_mask": 1,
        "w_mask": 1,
        "half_h_mask": 0,
        "half_w_mask": 0,
    }


def test_a_full_mmcv_computes_on_the_cpu_with_ours(full_mmcv: types.ModuleType) -> None:
    original = full_mmcv.psamask_forward.theirs
    arguments = psa_arguments(torch.ones)
    full_mmcv.psamask_forward(**arguments)
    assert original.calls == []
    assert torch.equal(arguments["output"].view(4, 4), torch.eye(4))


def test_a_full_mmcv_keeps_its_own_for_other_devices(full_mmcv: types.ModuleType) -> None:
    original = full_mmcv.psamask_forward.theirs
    # Nobody can make a CUDA tensor here: a meta tensor is not on the CPU either.
    arguments = psa_arguments(lambda *shape: torch.ones(shape, device="meta"))
    full_mmcv.psamask_forward(*arguments.values())
    assert len(original.calls) == 1


@pytest.mark.parametrize("path", REPLACED)
def test_functions_of_a_full_mmcv_ask_for_the_device(
    full_mmcv: types.ModuleType, path: str
) -> None:
    file, *names = path.split(".")
    holder = functools.reduce(getattr, names[:-1], sys.modules[f"mmcv.ops.{file}"])
    function = getattr(holder, names[-1])
    assert function.__wrapped__ is REPLACED[path]
    assert getattr(mmcv.ops, names[-1], None) in (function, None, holder)
    function(torch.zeros(1, device="meta"), size=3)
    assert len(function.theirs.calls) == 1
    with pytest.raises((TypeError, AttributeError)):
        function(torch.zeros(1), size=3)
    assert len(function.theirs.calls) == 1


def test_a_full_mmcv_keeps_what_we_do_not_have(full_mmcv: types.ModuleType) -> None:
    assert isinstance(full_mmcv.bbox_overlaps, _Original)


def test_wrapping_twice_changes_nothing(full_mmcv: types.ModuleType) -> None:
    wrapped = full_mmcv.psamask_forward
    mmcv_backend.install()
    assert full_mmcv.psamask_forward is wrapped
