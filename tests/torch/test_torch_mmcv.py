# SPDX-License-Identifier: Apache-2.0
"""mmcv's own modules on our operators, beside ours; and mmcv's checkpoints in our modules."""

import importlib
import sys

import pytest
import torch
from installed_mmcv import theirs
from torch import Tensor, nn
from torch_case import Case
from torch_families import CASES, FAMILIES, MODULES, of_family

import pymluops.torch as ours
from pymluops.torch import mmcv_backend
from pymluops.torch._mmcv_ext import REPLACED

pytestmark = pytest.mark.filterwarnings("ignore:This overload of addmm is deprecated")

SOME = next(iter(MODULES))
EACH_MODULE = pytest.mark.parametrize("name", MODULES)


def run(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor | None]]:
    """Forward and backward: the result, and all gradients."""
    leaves = {f"input {i}": x.clone().requires_grad_() for i, x in enumerate(inputs)}
    result = module(*leaves.values())
    result.square().sum().backward()
    named = {**leaves, **dict(module.named_parameters())}
    return result.detach(), {name: leaf.grad for name, leaf in named.items()}


def make(name: str, seed: int) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(seed)
    mine = getattr(ours, name)(**MODULES[name][0])
    torch.manual_seed(seed)
    return mine, getattr(theirs, name)(**MODULES[name][0])


@EACH_MODULE
def test_the_same_seed_makes_the_same_module(name: str) -> None:
    mine, its = make(name, 5)
    mine_state, its_state = mine.state_dict(), its.state_dict()
    assert list(mine_state) == list(its_state)
    assert all(torch.equal(mine_state[key], its_state[key]) for key in mine_state)


@EACH_MODULE
def test_checkpoints_load_both_ways(name: str) -> None:
    mine, its = make(name, 6)
    for parameter in mine.parameters():
        nn.init.normal_(parameter, std=0.1)
    assert not its.load_state_dict(mine.state_dict()).missing_keys
    other, _ = make(name, 7)
    assert not other.load_state_dict(its.state_dict()).missing_keys
    inputs = MODULES[name][1]
    torch.testing.assert_close(other(*inputs), its(*inputs), rtol=1e-5, atol=1e-6)


@EACH_MODULE
def test_mmcv_computes_what_we_compute(name: str) -> None:
    mine, its = make(name, 8)
    for parameter, other in zip(mine.parameters(), its.parameters(), strict=True):
        nn.init.normal_(parameter, std=0.1)
        other.data.copy_(parameter.data)
    inputs = MODULES[name][1]
    result, grads = run(mine, inputs)
    its_result, its_grads = run(its, inputs)
    torch.testing.assert_close(its_result, result, rtol=1e-5, atol=1e-6)
    assert its_grads.keys() == grads.keys()
    for key, grad in its_grads.items():
        torch.testing.assert_close(grad, grads[key], rtol=1e-4, atol=1e-5, msg=key)


def path_of(case: Case) -> str:
    """Where mmcv.ops has the function of a case."""
    return next(path for path, function in REPLACED.items() if function.__wrapped__ is case.ours)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_functions_of_mmcv_are_ours(case: Case) -> None:
    file, name = path_of(case).split(".")
    function = getattr(importlib.import_module(f"mmcv.ops.{file}"), name)
    assert function.__wrapped__ is case.ours
    assert getattr(theirs, name) in (function, sys.modules[f"mmcv.ops.{file}"])


# mmcv's function needs a bias.
@pytest.mark.parametrize("case", [c for c in CASES if "no_bias" not in c.name], ids=str)
def test_the_compiled_module_takes_what_mmcv_gives_it(case: Case) -> None:
    """mmcv's own autograd functions, which call it, are there for who asks for them by name."""
    file, name = path_of(case).split(".")
    classes = vars(importlib.import_module(f"mmcv.ops.{file}"))
    wanted = name.replace("_", "") + "function"
    function = next(made for key, made in classes.items() if key.lower() == wanted)
    args, other = case.arguments(), case.arguments()
    for index in case.differentiable:
        args[index].requires_grad_()
        other[index].requires_grad_()
    result, expected = function.apply(*args), case.ours(*other)
    assert torch.equal(result, expected)
    result.square().sum().backward()
    expected.square().sum().backward()
    for index in case.differentiable:
        if args[index].grad is not None:  # some of mmcv's functions leave them out
            torch.testing.assert_close(args[index].grad, other[index].grad)


@EACH_MODULE
def test_channels_last_stays_so_in_mmcv(name: str) -> None:
    _, its = make(name, 9)
    first, *others = MODULES[name][1]
    last = first.contiguous(memory_format=torch.channels_last)
    result = its(last, *others)
    assert result.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(result, its(first, *others), rtol=1e-5, atol=1e-6)


# Of each family the first every day, as compiling takes long.
FIRST = {next(iter(of_family(family).MODULES), "") for family in FAMILIES}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in FIRST)) for n in MODULES]
)
def test_mmcv_compiles_without_graph_breaks(name: str) -> None:
    _, its = make(name, 10)
    inputs = MODULES[name][1]
    compiled = torch.compile(its, fullgraph=True, backend="aot_eager")
    result, grads = run(compiled, inputs)
    expected, its_grads = run(its, inputs)
    torch.testing.assert_close(result, expected)
    for key, grad in grads.items():
        torch.testing.assert_close(its_grads[key.replace("_orig_mod.", "")], grad)


@EACH_MODULE
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_in_mmcv_keeps_the_dtype_of_the_input(name: str, dtype: torch.dtype) -> None:
    """Models put the results into tensors of that dtype."""
    _, its = make(name, 11)
    first, *others = MODULES[name][1]
    with torch.autocast("cpu", dtype=dtype):
        result = its(first.to(dtype), *others)
        assert result.dtype is dtype
    torch.testing.assert_close(result.float(), its(first, *others), rtol=0.05, atol=0.1)


def test_half_in_mmcv() -> None:
    mine, its = make(SOME, 0)
    inputs = tuple(x.half() for x in MODULES[SOME][1])
    assert torch.equal(mine(*inputs), its(*inputs))


@EACH_MODULE
def test_float64_in_mmcv(name: str) -> None:
    mine, its = make(name, 0)
    inputs = tuple(x.double() for x in MODULES[name][1])
    result = its.double()(*inputs)
    assert result.dtype is torch.float64
    assert torch.equal(result, mine.double()(*inputs))


def test_other_operators_say_that_they_are_missing() -> None:
    with pytest.raises(
        NotImplementedError, match=r"mmcv\._ext\.bbox_overlaps: pymluops has only .*, "
    ):
        theirs.bbox_overlaps(torch.zeros(1, 4), torch.zeros(1, 4))


def test_mmcv_can_describe_its_environment() -> None:
    from mmcv.utils import collect_env

    assert "gcc" in collect_env()["MMCV Compiler"] or "clang" in collect_env()["MMCV Compiler"]


def test_mmcv_finds_that_it_has_operators() -> None:
    from mmcv.utils import ext_loader

    assert ext_loader.check_ops_exist()


def test_installing_twice_changes_nothing() -> None:
    before = sys.modules["mmcv._ext"]
    mmcv_backend.install()
    assert sys.modules["mmcv._ext"] is before
