# SPDX-License-Identifier: Apache-2.0
"""ONNX export: nodes of the domain "mmcv", with the names and the attributes that mmcv gives them.

For ``torch.onnx.export(..., dynamo=False)``, import this module. With ``dynamo=True``, also pass
``custom_translation_table=translations()``. Any tool can read the file; a runtime needs an
implementation of these nodes to run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import pymluops.torch  # noqa: F401  (registers the operators)
from pymluops import _families

if TYPE_CHECKING:
    from collections.abc import Callable

    #: The name of a node, what goes into it, and its attributes: int, float, str, lists of int.
    Node = tuple[str, tuple[Any, ...], dict[str, Any]]

__all__ = ["translations"]

_DOMAIN = "mmcv"
#: What each of our operators becomes; a family has them in onnx.py.
_NODES: dict[str, Callable[..., Node]] = {
    name: node
    for _, module in _families.parts("onnx")
    for name, node in vars(module).items()
    if name in dir(torch.ops.pymluops) and callable(node)
}
_KINDS = {"int": "i", "float": "f", "bool": "b", "List[int]": "is"}


def _results(name: str) -> int:
    return len(_operator(name)._schema.returns)


def _operator(name: str) -> Any:
    return getattr(torch.ops.pymluops, name).default


def _letter(value: object) -> str:
    """Return what torch's exporter wants behind the name of an attribute."""
    return {float: "f", str: "s"}.get(type(value), "i")


def _shared(made: Any, count: int) -> Any:
    """Return a node's result, also for those of our results that only a backward needs."""
    return made if count == 1 else (made,) * count


# ------------------------------------------------------------------ the exporter of TorchScript


def _symbolic(name: str, node: Callable[..., Node]) -> Callable[..., Any]:
    from torch.onnx import symbolic_helper

    def symbolic(g: Any, *values: Any) -> Any:
        given = []
        for argument, value in zip(_operator(name)._schema.arguments, values, strict=True):
            kind = _KINDS.get(str(argument.type))
            if kind is not None:
                value = symbolic_helper._get_const(value, kind, argument.name)
            elif symbolic_helper._is_none(value):
                value = None
            given.append(value)
        kind, inputs, attributes = node(*given)
        typed = {f"{key}_{_letter(value)}": value for key, value in attributes.items()}
        return _shared(g.op(f"{_DOMAIN}::{kind}", *inputs, **typed), _results(name))

    return symbolic


_register = torch.onnx.register_custom_op_symbolic  # type: ignore[attr-defined]
for _name, _node in _NODES.items():
    _register(f"pymluops::{_name}", _symbolic(_name, _node), 1)

# ------------------------------------------------------------- the exporter of torch.export


def translations() -> dict[Any, Callable[..., Any]]:
    """Return the `custom_translation_table` for ``torch.onnx.export(..., dynamo=True)``.

    It needs onnxscript, as that exporter does.

    Examples
    --------
    >>> from pymluops.torch.onnx import translations
    >>> torch.onnx.export(model, args, "model.onnx", dynamo=True,
    ...                   custom_translation_table=translations())  # doctest: +SKIP
    """
    return {_operator(name): _translation(name, node) for name, node in _NODES.items()}


def _translation(name: str, node: Callable[..., Node]) -> Callable[..., Any]:
    from onnxscript import values

    opset = values.Opset(_DOMAIN, 1)

    def translate(*args: Any) -> Any:
        kind, inputs, attributes = node(*args)
        made = values.Op(opset, kind, _op_schema(kind, len(inputs), attributes))
        return _shared(made(*inputs, **attributes), _results(name))

    return translate


def _op_schema(kind: str, inputs: int, attributes: dict[str, Any]) -> Any:
    from onnx.defs import OpSchema

    floats = ["tensor(float)", "tensor(float16)", "tensor(bfloat16)", "tensor(double)"]
    types = {
        int: OpSchema.AttrType.INT,
        float: OpSchema.AttrType.FLOAT,
        list: OpSchema.AttrType.INTS,
        str: OpSchema.AttrType.STRING,
    }
    return OpSchema(
        kind,
        _DOMAIN,
        1,
        inputs=[OpSchema.FormalParameter(f"input_{i}", f"T{i}") for i in range(inputs)],
        outputs=[OpSchema.FormalParameter("output", "T0")],
        type_constraints=[
            (f"T{i}", floats if i == 0 else [*floats, "tensor(bool)", "tensor(int64)"], "")
            for i in range(inputs)
        ],
        attributes=[
            OpSchema.Attribute(key, types[type(value)], required=True)
            for key, value in attributes.items()
        ],
    )
