# SPDX-License-Identifier: Apache-2.0
"""Making a case of an operator, for a start."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from pymluops._gen_case import text
from pymluops._gen_case.errors import CaseError
from pymluops._gen_case.operators import Numbers, Operator, operators
from pymluops._gen_case.schema import node_class

_DTYPES = {"float": "DTYPE_FLOAT", "half": "DTYPE_HALF"}
_FIXED = {"int32": "DTYPE_INT32", "float32": "DTYPE_FLOAT"}


def _operator(name: str) -> Operator:
    known = operators()
    if name not in known:
        raise CaseError(f"{name} given, expected one of {', '.join(sorted(known))}", "OP")
    return known[name]


def explain(name: str) -> int:
    """Print the tensors of an operator, and what can be set."""
    operator = _operator(name)
    for group, tensors in (("input", operator.inputs), ("output", operator.outputs)):
        for tensor, shape in tensors.items():
            print(f"{group:<7}{tensor:<14}{shape}")
    print("--shape " + " ".join(f"{key}={value}" for key, value in operator.sizes.items()))
    return 0


def make(name: str, settings: list[str], dtype: str, seed: int, path: Path | None) -> int:
    """Print a case, or write it to a file."""
    operator = _operator(name)
    node = _node(operator, _sizes(operator, settings), dtype, seed)
    if path is None:
        print(text.write(node), end="")
    elif path.suffix.lower() == ".pb":
        path.write_bytes(node.SerializeToString())
    else:
        path.write_text(text.write(node))
    return 0


def _sizes(operator: Operator, settings: list[str]) -> Numbers:
    sizes = dict(operator.sizes)
    for setting in settings:
        name, _, given = setting.partition("=")
        if name not in sizes:
            raise CaseError(f"{setting} given, expected some of {', '.join(sizes)}", "--shape")
        sizes[name] = _number(setting, given, sizes[name])
    if operator.derive is not None:
        sizes.update(operator.derive(sizes))
    return sizes


def _number(setting: str, given: str, before: Any) -> Any:
    try:
        if isinstance(before, tuple):
            return tuple(int(word) for word in given.split(","))
        if isinstance(before, bool):
            return {"true": True, "1": True, "false": False, "0": False}[given.lower()]
        return type(before)(given)
    except (ValueError, KeyError):
        kind = {tuple: "numbers, such as 1,1", bool: "true or false"}
        expected = kind.get(type(before), f"a number ({type(before).__name__})")
        raise CaseError(f"{setting} given, expected {expected}", "--shape") from None


def _extent(word: str, sizes: Numbers) -> int:
    divisor, _, product = word.rpartition("|")
    extent = math.prod(int(f) if f.isdigit() else int(sizes[f]) for f in product.split("*"))
    if divisor and (sizes[divisor] < 1 or extent % sizes[divisor] != 0):
        expected = f"expected a multiple of {sizes[divisor]} ({divisor})"
        raise CaseError(f"{product} is {extent}, {expected}", "--shape")
    return extent


def _node(operator: Operator, sizes: Numbers, dtype: str, seed: int) -> Any:
    node = node_class()(op_name=operator.name)
    for group, tensors in (("input", operator.inputs), ("output", operator.outputs)):
        for name, said in tensors.items():
            message = getattr(node, group).add(id=name)
            _describe(message, said, sizes, dtype)
            if group == "input":
                _fill(message, operator, sizes, seed)
    if operator.parameters is not None:
        block = getattr(node, operator.parameters.name)
        for name in operator.scalars():
            value = sizes[name]
            if isinstance(value, tuple):
                getattr(block, operator.field_of(name)).extend(value)
            else:
                setattr(block, operator.field_of(name), value)
    return node


def _set(message: Any, field: str, name: str) -> None:
    """Set a field to an enumerator."""
    enum = message.DESCRIPTOR.fields_by_name[field].enum_type
    setattr(message, field, enum.values_by_name[name].number)


def _describe(message: Any, said: str, sizes: Numbers, dtype: str) -> None:
    layout, *words = said.split()
    kind = _FIXED.get(words[0])
    if kind is not None:
        words = words[1:]
    _set(message, "layout", f"LAYOUT_{layout}")
    _set(message, "dtype", kind or _DTYPES[dtype])
    extents = [_extent(word, sizes) for word in words]
    if any(extent < 0 for extent in extents):
        raise CaseError(f"{message.id} would be {extents}, expected no negative number", "--shape")
    message.shape.dims.extend(extents)


def _fill(message: Any, operator: Operator, sizes: Numbers, seed: int) -> None:
    """Give an input values, or random numbers."""
    draw = operator.values.get(message.id)
    if draw is not None:
        values = np.asarray(draw(np.random.default_rng(seed), sizes)).reshape(-1)
        field = "value_i" if values.dtype.kind in "iu" else "value_f"
        getattr(message, field).extend(values.tolist())
        return
    low, high = operator.bounds.get(message.id, (-1, 1))
    random = message.random_data
    random.seed, random.lower_bound = seed, low
    random.upper_bound = sizes[high] if isinstance(high, str) else high
    _set(random, "distribution", "UNIFORM")
