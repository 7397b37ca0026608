# SPDX-License-Identifier: Apache-2.0
"""mmcv's own modules on our operators, beside ours; and mmcv's checkpoints in our modules."""

import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest
import torch
from torch import Tensor, nn
from torch_cases import CASES, Case

import pymluops.torch as ours
from pymluops.torch import mmcv_backend

try:
    import cv2  # noqa: F401
except ImportError:  # it needs libGL; mmcv imports it, and our operators do without
    sys.modules["cv2"] = MagicMock(__version__="0")
pytest.importorskip("mmcv", reason="mmcv-lite is not installed (it is in the extra 'test')")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
    mmcv_backend.install()
    import mmcv.ops as theirs

pytestmark = pytest.mark.filterwarnings("ignore:This overload of addmm is deprecated")

ROIS = torch.tensor([[0, 1.0, 2.0, 9.0, 8.0], [1, 0.0, 1.0, 6.0, 9.0]])
BOXES = torch.tensor([0.0, 0.5, 2.5, 2.0]).repeat(2, 20, 1) + torch.arange(20.0)[:, None] / 20


def image(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


# Name of the class, its arguments, those of the call.
MODULES: dict[str, tuple[dict[str, Any], tuple[Tensor, ...]]] = {
    "CARAFE": (
        {"kernel_size": 3, "group_size": 2, "scale_factor": 2},
        (image(2, 4, 3, 5), image(2, 18, 6, 10)),
    ),
    "CARAFENaive": (
        {"kernel_size": 5, "group_size": 1, "scale_factor": 3},
        (image(2, 4, 3, 5), image(2, 25, 9, 15)),
    ),
    "CARAFEPack": ({"channels": 6, "scale_factor": 2, "up_group": 2}, (image(2, 6, 4, 5),)),
    "BorderAlign": ({"pool_size": 4}, (image(2, 8, 4, 5), BOXES)),
    "DeformRoIPool": (
        {"output_size": (2, 3), "spatial_scale": 0.5, "sampling_ratio": 2, "gamma": 0.2},
        (image(2, 3, 6, 7), ROIS, image(2, 2, 2, 3)),
    ),
    "DeformRoIPoolPack": (
        {"output_size": (2, 2), "output_channels": 3, "deform_fc_channels": 8},
        (image(2, 3, 10, 11), ROIS),
    ),
    "ModulatedDeformRoIPoolPack": (
        {"output_size": 2, "output_channels": 3, "deform_fc_channels": 8, "sampling_ratio": 1},
        (image(2, 3, 10, 11), ROIS),
    ),
    "MaskedConv2d": (
        {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1},
        (image(1, 3, 6, 7), image(1, 6, 7)),
    ),
    "PSAMask": ({"psa_type": "distribute", "mask_size": (3, 5)}, (image(2, 15, 4, 3),)),
}
EACH_MODULE = pytest.mark.parametrize("name", MODULES)
# Boxes, regions and masks have no gradients.
WITHOUT_GRADIENT = {"BorderAlign", "DeformRoIPoolPack", "ModulatedDeformRoIPoolPack"}


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
        if name == "MaskedConv2d":
            assert grad is None  # mmcv has no gradients for it; we do
            assert grads[key] is not None or key == "input 1"
        else:
            torch.testing.assert_close(grad, grads[key], rtol=1e-4, atol=1e-5, msg=key)


# mmcv's masked_conv2d needs a bias.
@pytest.mark.parametrize("case", [c for c in CASES if "no_bias" not in c.name], ids=str)
def test_functions_take_the_same_arguments(case: Case) -> None:
    name = case.ours.__name__
    function = theirs.psa_mask.psa_mask if name == "psa_mask" else getattr(theirs, name)
    args = case.arguments()
    assert torch.equal(function(*args), case.ours(*args))


def test_half_in_mmcv() -> None:
    mine, its = make("CARAFE", 0)
    inputs = tuple(x.half() for x in MODULES["CARAFE"][1])
    assert torch.equal(mine(*inputs), its(*inputs))


def test_float64_in_mmcv_is_refused() -> None:
    _, its = make("CARAFE", 0)
    with pytest.raises(TypeError, match=r"features is float64.*features\.float\(\)"):
        its(*(x.double() for x in MODULES["CARAFE"][1]))


def test_other_operators_say_that_they_are_missing() -> None:
    with pytest.raises(NotImplementedError, match=r"mmcv\._ext\.nms: pymluops has only .*CARAFE"):
        theirs.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)


def test_mmcv_can_describe_its_environment() -> None:
    from mmcv.utils import collect_env

    assert "gcc" in collect_env()["MMCV Compiler"] or "clang" in collect_env()["MMCV Compiler"]


def test_installing_twice_changes_nothing() -> None:
    before = sys.modules["mmcv._ext"]
    mmcv_backend.install()
    assert sys.modules["mmcv._ext"] is before


# --------------------------------------------------------------------------- an mmcv that has _ext


@pytest.fixture
def full_mmcv(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Stand in for the compiled module of a full mmcv, with functions that record their calls."""
    compiled = types.ModuleType("mmcv._ext")
    for name in ("carafe_forward", "psamask_forward", "nms"):
        setattr(compiled, name, _Original())
    monkeypatch.setitem(sys.modules, "mmcv._ext", compiled)
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


def test_a_full_mmcv_keeps_its_own_for_float64(full_mmcv: types.ModuleType) -> None:
    original = full_mmcv.psamask_forward.theirs
    full_mmcv.psamask_forward(**psa_arguments(lambda *shape: torch.ones(shape).double()))
    assert len(original.calls) == 1


def test_a_full_mmcv_keeps_what_we_do_not_have(full_mmcv: types.ModuleType) -> None:
    assert isinstance(full_mmcv.nms, _Original)


def test_wrapping_twice_changes_nothing(full_mmcv: types.ModuleType) -> None:
    wrapped = full_mmcv.psamask_forward
    mmcv_backend.install()
    assert full_mmcv.psamask_forward is wrapped


def test_without_mmcv_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["mmcv"] = None
from pymluops.torch import mmcv_backend
try:
    mmcv_backend.install()
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "mmcv_backend.install() needs mmcv: pip install mmcv-lite==2.2.0"
    )
