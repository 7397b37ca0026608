# SPDX-License-Identifier: Apache-2.0
"""A case: what its file says, in either form."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from pymluops._gen_case import text
from pymluops._gen_case.errors import CaseError
from pymluops._gen_case.operators import Operator, operators
from pymluops._gen_case.schema import newer_names, node_class

SUFFIXES = (".prototxt", ".pb")


@dataclass
class Case:
    """A file that has been read."""

    path: Path
    node: Any
    unknown: list[text.Unknown]
    lines: dict[str, int]

    @property
    def operator(self) -> Operator | None:
        """What the case is of; None if there is no such operator here."""
        return operators().get(self.node.op_name)

    def fail(self, problem: str, where: str) -> CaseError:
        """Return an error with the line of a field, or of what it is part of."""
        part = where
        while part and part not in self.lines:
            part = part.rpartition(".")[0]
        return CaseError(problem, where, self.lines.get(part, 0))


def load(path: Path) -> Case:
    """Read a file; raises CaseError, or OSError."""
    data = path.read_bytes()
    node = node_class()()
    if path.suffix == ".pb" or (path.suffix not in SUFFIXES and b"\0" in data):
        case = Case(path, node, list(_read_binary(data, node)), {})
    else:
        try:
            found = text.read(data.decode(), node, newer_names())
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise CaseError("this is no text", "", line) from None
        case = Case(path, node, found.unknown, found.lines)
    if not node.op_name:
        raise CaseError("missing", "op_name")
    return case


def _read_binary(data: bytes, node: Any) -> Iterator[text.Unknown]:
    try:
        node.ParseFromString(data)
    except DecodeError:
        raise CaseError("this is not a test case in binary form") from None
    yield from _unknown_numbers(node, "")


def _unknown_numbers(message: Any, path: str) -> Iterator[text.Unknown]:
    """Yield the fields whose numbers the schema does not have."""
    for one in UnknownFieldSet(message):
        yield text.Unknown(0, f"{path}field {one.field_number}", "")
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        for i, inner in enumerate(value if descriptor.is_repeated else [value]):
            index = f"[{i}]" if descriptor.is_repeated else ""
            yield from _unknown_numbers(inner, f"{path}{descriptor.name}{index}.")


def find(paths: list[Path]) -> Iterator[Path]:
    """Yield files as they are, and the cases in folders."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        else:
            yield path
