# SPDX-License-Identifier: Apache-2.0
"""Modules as ONNX files, by both exporters of torch: what onnx reads from them."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_families import MODULES, ONNX

if any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript")):
    pytest.skip("needs the extra 'models' (.ci/run models)", allow_module_level=True)

import onnx
from installed_mmcv import theirs

import pymluops.torch as ours
from pymluops.torch.onnx import translations

pytestmark = pytest.mark.filterwarnings("ignore")  # the older exporter is deprecated
EACH_EXPORTER = pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "export"])


def exported(
    module: torch.nn.Module, inputs: tuple[Tensor, ...], file: Path, *, dynamo: bool
) -> list[Any]:
    """The nodes of mmcv's domain in the file."""
    options = {"custom_translation_table": translations()} if dynamo else {}
    torch.onnx.export(module.eval(), inputs, str(file), dynamo=dynamo, **options)
    model = onnx.load(str(file))
    assert [
        tuple(d.dim_value for d in i.type.tensor_type.shape.dim) for i in model.graph.input
    ] == [tuple(x.shape) for x in inputs]
    assert "mmcv" in [opset.domain for opset in model.opset_import]
    return [node for node in model.graph.node if node.domain == "mmcv"]


def attributes(node: Any) -> dict[str, Any]:
    return {part.name: onnx.helper.get_attribute_value(part) for part in node.attribute}


@EACH_EXPORTER
@pytest.mark.parametrize("whose", ["ours", "mmcv's"])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_becomes_the_nodes_of_mmcv(
    name: str, whose: str, dynamo: bool, tmp_path: Path
) -> None:
    arguments, inputs = MODULES[name]
    module = getattr(ours if whose == "ours" else theirs, name)(**arguments)
    nodes = exported(module, inputs, tmp_path / "model.onnx", dynamo=dynamo)
    kind = name.removeprefix("Modulated") if "RoIPool" in name else name
    kind = kind.removesuffix("Pack").removesuffix("Naive").replace("RoIA", "RoiA")
    assert [node.op_type for node in nodes] == [f"MMCV{kind}"] * (2 if "RoIPoolPack" in name else 1)


@EACH_EXPORTER
@pytest.mark.parametrize("name", ONNX)
def test_attributes(name: str, dynamo: bool, tmp_path: Path) -> None:
    module, inputs, expected = ONNX[name]
    (node,) = exported(module(), inputs, tmp_path / "model.onnx", dynamo=dynamo)
    assert attributes(node) == expected
