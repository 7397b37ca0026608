# SPDX-License-Identifier: Apache-2.0
"""Showing a case: what it says as a table, and as a picture where that says more."""

import sys
from pathlib import Path
from typing import Any

import pymluops
from pymluops._gen_case import call
from pymluops._gen_case.case import Case, load
from pymluops._gen_case.operators import Operator
from pymluops.demo import draw_picture
from pymluops.demo._canvas import INK, Canvas
from pymluops.demo._run import Picture
from pymluops.errors import MluOpError

_MARGIN, _WIDE, _HIGH, _GAP, _HEAD, _CAPTION = 24, 256, 192, 40, 48, 40
_FEW = 8


def show(path: Path, picture: Path | None) -> int:
    """Print a case and draw it; raises CaseError."""
    case = load(path)
    print("\n".join(_lines(case)))
    if case.operator is None:
        print(f"there is no operator {case.node.op_name} here")
        return 0
    if picture is not None:
        return _draw(case, case.operator, picture)
    return 0


def _lines(case: Case) -> list[str]:
    node = case.node
    lines = [f"{node.op_name}  {case.path}"]
    names = {}
    if case.operator is not None:
        names = {"input": list(case.operator.inputs), "output": list(case.operator.outputs)}
    for group in ("input", "output"):
        for i, message in enumerate(getattr(node, group)):
            own = names.get(group, [])
            known = own[i] if i < len(own) and own[i] != message.id else ""
            lines.append(_tensor_line(group, message, f" ({known})" if known else ""))
    for descriptor, value in node.ListFields():
        if descriptor.message_type is not None and not descriptor.is_repeated:
            words = [f"{inner.name} {_shown(inner, one)}" for inner, one in value.ListFields()]
            lines.append(f"{descriptor.name}: {', '.join(words)}")
        elif descriptor.name.startswith("evaluation"):
            lines.append(f"{descriptor.name}: {_shown(descriptor, value)}")
    for one in case.unknown:
        where = f"line {one.line}: " if one.line else ""
        text = " ".join(one.text.split()) or one.field
        lines.append(f"unknown: {where}{text if len(text) < 70 else text[:67] + '...'}")
    return lines


def _shown(descriptor: Any, value: Any) -> str:
    values = list(value) if descriptor.is_repeated else [value]
    if descriptor.enum_type is not None:
        names = descriptor.enum_type.values_by_number
        values = [names[one].name for one in values]
    words = [f"{one:g}" if isinstance(one, float) else str(one) for one in values]
    return words[0] if not descriptor.is_repeated else f"[{', '.join(words)}]"


def _tensor_line(group: str, message: Any, known: str) -> str:
    fields = message.DESCRIPTOR.fields_by_name
    layout = fields["layout"].enum_type.values_by_number[message.layout].name
    dtype = fields["dtype"].enum_type.values_by_number[message.dtype].name
    shape = "x".join(map(str, message.shape.dims)) or "no dims"
    if message.shape.dim_stride:
        shape += f" strides {'x'.join(map(str, message.shape.dim_stride))}"
    kind = f"{layout.removeprefix('LAYOUT_')} {dtype.removeprefix('DTYPE_')}"
    return f"{group:<7}{message.id + known:<24}{shape:<28}{kind:<14}{_source(message)}".rstrip()


def _source(message: Any) -> str:
    """Say where the values come from."""
    for descriptor, value in message.ListFields():
        if descriptor.name.startswith("value_"):
            some = " ".join(str(one) for one in value[:_FEW])
            return f"{len(value)} of {descriptor.name}: {some}{' ...' * (len(value) > _FEW)}"
        if descriptor.name == "path":
            return f"from {value}"
        if descriptor.name == "random_data":
            words = [f"{inner.name} {_shown(inner, one)}" for inner, one in value.ListFields()]
            return f"random: {', '.join(words)}"
    return ""


def _draw(case: Case, operator: Operator, path: Path) -> int:
    try:
        with pymluops.Handle() as handle:
            values = call.run(case, handle).values
    except MluOpError as error:
        print(f"pymluops case: refused: {error.message}", file=sys.stderr)
        return 1
    pictures: list[Picture] = operator.pictures(values) if operator.pictures else []
    if not pictures:
        print("a picture would say no more")
        return 0
    width = 2 * _MARGIN + len(pictures) * _WIDE + (len(pictures) - 1) * _GAP
    canvas = Canvas(_HEAD + _HIGH + _CAPTION, width)
    canvas.text(16, _MARGIN, operator.name, 14, INK, bold=True)
    for i, picture in enumerate(pictures):
        draw_picture(canvas, picture, _HEAD, _MARGIN + i * (_WIDE + _GAP))
    canvas.save(path)
    print(f"drawn in {path}")
    return 0
