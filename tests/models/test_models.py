# SPDX-License-Identifier: Apache-2.0
"""Whole models of mmdet and mmseg on our operators, beside the same models in plain torch.

They need the extra "models": `.ci/run models` makes an environment with it.
"""

import importlib.util
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

if any(importlib.util.find_spec(name) is None for name in ("mmdet", "mmseg")):
    pytest.skip("needs the extra 'models' (.ci/run models)", allow_module_level=True)

import importable_cv2  # noqa: F401
import zoo

pytestmark = pytest.mark.filterwarnings("ignore")  # of three packages that are older than torch
HERE = Path(__file__).resolve().parent
EACH_MODEL = pytest.mark.parametrize("name", zoo.MODELS)


def models_with(trait: str) -> pytest.MarkDecorator:
    """The models that are tried in one more way."""
    names = [name for name, model in zoo.MODELS.items() if getattr(model, trait)]
    return pytest.mark.parametrize("name", names)


@pytest.fixture(scope="module", autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


class _Expected:
    """What the models give on stand-ins, which another process computes beside this one."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder
        command = [sys.executable, str(HERE / "run_stand_ins.py"), str(folder), *names]
        self.process = subprocess.Popen(command)

    def __getitem__(self, name: str) -> dict[str, Any]:
        file = self.folder / f"{name}.pt"
        while not file.exists():
            ended = self.process.poll() is not None
            assert file.exists() or not ended, "stand-ins: see the traceback in stderr"
            time.sleep(0.05)
        results: dict[str, Any] = torch.load(file)
        return results


@pytest.fixture(scope="module")
def expected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[_Expected]:
    calls = (getattr(item, "callspec", None) for item in request.session.items)
    names = [call.params["name"] for call in calls if call and "name" in call.params]
    wanted = [name for name in zoo.MODELS if name in names]
    results = _Expected(tmp_path_factory.mktemp("models"), wanted)
    yield results
    results.process.kill()
    results.process.wait()


@pytest.fixture(scope="module", autouse=True)
def _mmcv_on_cpu() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pymluops.torch.mmcv_on_cpu  # noqa: F401


class _Recorder(TorchDispatchMode):
    """Which of our operators are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if func.namespace == "pymluops":
            self.names.add(func.name().partition("::")[2].removesuffix("_backward"))
        return func(*args, **(kwargs or {}))


@EACH_MODEL
def test_a_model_predicts_and_trains_as_on_stand_ins(expected: _Expected, name: str) -> None:
    with _Recorder() as recorder:
        results = zoo.run(name, steps=3)
    same = expected[name]
    assert recorder.names == set(same["called"])
    assert recorder.names & zoo.own_operators(name)
    assert_same_findings(results["found"], same["found"])
    assert results["losses"][0] == pytest.approx(same["losses"][0], rel=1e-5)
    assert results["losses"][-1] < results["losses"][0]
    assert results["gradients"].keys() == same["gradients"].keys()
    for key, gradient in same["gradients"].items():
        error = (results["gradients"][key] - gradient).norm()
        assert error <= 2e-3 * gradient.norm(), key


def assert_same_findings(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for key, tolerance in {"logits": 1e-4, "scores": 1e-5, "bboxes": 1e-2}.items():
        if key in wanted:
            torch.testing.assert_close(found[key], wanted[key], rtol=1e-4, atol=tolerance)
    if "labels" in wanted:
        assert len(wanted["labels"]) == zoo.MOST_BOXES
        assert torch.equal(found["labels"], wanted["labels"])
    if "masks" in wanted:
        assert (found["masks"] != wanted["masks"]).float().mean() < 1e-3


@models_with("channels_last")
def test_channels_last(expected: _Expected, name: str) -> None:
    model = zoo.build(name).to(memory_format=torch.channels_last)
    assert_same_findings(zoo.predict(model, name), expected[name]["found"])
    zoo.losses(model, name).backward()
    for key, gradient in expected[name]["gradients"].items():
        error = (model.get_parameter(key).grad - gradient).norm()
        assert error <= 5e-2 * gradient.norm(), key


@models_with("autocast")
def test_autocast(name: str) -> None:
    """As mmengine's AmpOptimWrapper does on a CPU."""
    torch.set_num_threads(1)
    model = zoo.build(name)
    exact = zoo.losses(model, name).item()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        zoo.predict(model, name)
        loss = zoo.losses(model, name)
    assert loss.item() == pytest.approx(exact, rel=0.1)
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
