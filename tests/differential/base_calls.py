# SPDX-License-Identifier: Apache-2.0
"""The valid calls of every function in the contract.toml of its family, and ways to break them."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "conformance"))
from operator_cases import Table, merge  # noqa: E402


class Descriptor(NamedTuple):
    """What a tensor descriptor is set to; given is False for NULL."""

    layout: str
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    onchip: str = "INVALID"
    given: bool = True


class Place(NamedTuple):
    """Where the data of a tensor is: so far behind the memory of a tensor, or NULL."""

    owner: str  # "" is NULL
    start: int = 0
    content: str = ""  # what the memory of an input holds, as its list in JSON


@dataclass
class State:
    """The arguments of one call."""

    descriptors: dict[str, Descriptor]
    places: dict[str, Place]
    numbers: dict[str, Any]
    objects: dict[str, dict[str, Any] | None]  # settings; None: never set
    null: set[str] = field(default_factory=set)  # the handle, an object, the place for a size
    workspace: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> State:
        return State(
            self.descriptors.copy(),
            self.places.copy(),
            self.numbers.copy(),
            self.objects.copy(),
            self.null.copy(),
            self.workspace,
        )


def state_of(call: dict) -> State:
    """Return a description of tests/conformance/README.md as a state."""
    state = State({}, {}, call["scalars"].copy(), {}, set(), call["workspace"])
    for name, tensor in call["tensors"].items():
        strides = tensor.get("strides")
        state.descriptors[name] = Descriptor(
            tensor["layout"],
            tensor["dtype"],
            tuple(tensor["dims"]),
            tuple(strides) if strides else None,
            tensor.get("onchip", "INVALID"),
            tensor.get("desc") != "NULL",
        )
        content = "" if is_output(tensor) else json.dumps(tensor.get("data", [0]))
        state.places[name] = Place(name, tensor.get("start", 0), content)
        if tensor.get("data") == "NULL":
            state.places[name] = Place("")
        elif "shares" in tensor:
            owner, start = tensor["shares"]
            state.places[name] = Place(owner, start, state.places[owner].content)
    for name, settings in call["objects"].items():
        values = {key: value for key, value in settings.items() if key != "desc"}
        state.objects[name] = None if settings.get("desc") == "unset" else values
        if settings.get("desc") == "NULL":
            state.null.add(f"{name}_desc")
    if call["handle"].get("pointer") == "NULL":
        state.null.add("handle")
    if call["handle"].get("out") == "NULL":
        state.null.add("&workspace_size")
    return state


def is_output(tensor: dict) -> bool:
    return "result" in tensor or bool(tensor.get("output"))


@dataclass
class Base:
    """One function: its valid calls, and what may be changed in them."""

    family: str
    table: Table
    valid: list[State]
    breaks: list[dict]  # changes as a contract.toml has them

    @property
    def function(self) -> str:
        return self.table.function

    @property
    def outputs(self) -> list[str]:
        return [name for name, t in self.table.base["tensors"].items() if is_output(t)]


def bases() -> Iterator[Base]:
    for path in sorted(TESTS.glob("*/contract.toml")):
        data = tomllib.loads(path.read_text())
        for operator in data.get("operator", []):
            table = Table(operator, data.get("objects", {}))
            changes = [[]] + [[value["set"]] for value in table.values]
            yield Base(
                path.parent.name,
                table,
                [state_of(merge(table.base, change)) for change in changes],
                [entry["set"] for entry in table.breaks.values()],
            )
