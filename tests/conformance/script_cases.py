# SPDX-License-Identifier: Apache-2.0
"""Calls of the functions that make, set and read handles and descriptors.

README.md describes the tables that these cases are read from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mluop_library import Library

SENTINEL_BYTE = 0x5A  # what places are filled with before a call

# Objects that exist when they are first named, and the functions of their life. A file has the same
# for objects of its own.
OBJECTS = {
    "handle": {"make": "mluOpCreate", "end": "mluOpDestroy"},
    "tensor": {"make": "mluOpCreateTensorDescriptor", "end": "mluOpDestroyTensorDescriptor"},
    "queue": {"make": "cnrtQueueCreate", "end": "cnrtQueueDestroy"},
}


@dataclass
class Script:
    """A list of calls, each with what it must return and store."""

    name: str
    steps: list[list]
    objects: dict[str, dict]


def read_scripts(data: dict) -> list[Script]:
    """Return the scripts of a table: those it lists, and one for each argument that is needed."""
    objects = OBJECTS | data.get("objects", {})
    found = [Script(entry["name"], entry["steps"], objects) for entry in data.get("case", [])]
    for entry in data.get("needed", []):
        found += missing_arguments(entry, objects)
    return found


def missing_arguments(entry: dict, objects: dict[str, dict]) -> list[Script]:
    """Return a script for each needed argument: the valid call, then the one without it."""
    found = []
    for position, name in enumerate(entry["names"]):
        if name == "":
            continue
        broken = list(entry["with"])
        broken[position] = "NULL"
        expect = {"status": "BAD_PARAM", "says": [name]}
        steps = [
            [entry["call"], *entry["with"], entry.get("valid", {})],
            [entry["call"], *broken, expect],
        ]
        found.append(Script(f"{entry['call']}, {name} is NULL", steps, objects))
    return found


class ScriptRun:
    """The objects and places of one script."""

    def __init__(self, library: Library, kinds: dict[str, dict]) -> None:
        self.library = library
        self.kinds = kinds
        self.ffi = library.ffi
        self.objects: dict[str, object] = {}
        self.places: dict[str, object] = {}
        self.kept: list = []

    def object(self, name: str):
        if name not in self.objects:
            kind = self.kinds[name.rstrip("0123456789")]
            self.objects[name] = self.library.make(kind["make"])
        return self.objects[name]

    def finish(self) -> None:
        """Destroy what is still alive."""
        ends = [kind["end"] for kind in self.kinds.values()]
        life = {self.library.parameters(end)[0]: end for end in ends}
        for made in self.objects.values():
            assert self.library.function(life[self.ffi.typeof(made)])(made) == 0

    # --------------------------------------------------------------------------- arguments

    def place(self, name: str, pointer_type):
        """Return memory for an out-parameter: "name", or "name[4]" for several numbers."""
        found = re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", name)
        count = int(found[2] or 1)
        item = pointer_type.item
        place = self.ffi.new(self.ffi.getctype(item, f"[{count}]"))
        if item.kind in ("primitive", "enum"):
            self.ffi.buffer(place)[:] = bytes([SENTINEL_BYTE]) * self.ffi.sizeof(place)
        self.places[found[1]] = place
        return place

    def argument(self, text, type_):
        if isinstance(text, list):
            return self.array(text, type_)
        if not isinstance(text, str):
            return self.ffi.cast(type_, text) if type_.kind == "enum" else text
        if text == "NULL":
            return self.ffi.NULL
        if text.startswith("@"):
            return self.object(text[1:])
        if text.startswith("&"):
            return self.place(text[1:], type_)
        if type_.kind == "pointer" and type_.item.cname == "char":
            self.kept.append(self.ffi.new("char[]", text.encode()))
            return self.kept[-1]
        value = self.library.constant(text)
        assert value is not None, f"unknown enumerator {text}"
        return value

    def array(self, items: list, type_):
        """Return an array: of numbers, of enumerators, or of the places of descriptors."""
        item = type_.item
        array = self.ffi.new(self.ffi.getctype(item, f"[{max(len(items), 1)}]"))
        for i, value in enumerate(items):
            if isinstance(value, str) and value.startswith("@"):
                self.kept.append(self.ffi.new(item, self.object(value[1:])))
                array[i] = self.kept[-1]
            elif isinstance(value, str) and value.startswith("&"):
                array[i] = self.place(value[1:], item)
            else:
                array[i] = self.argument(value, item)
        return array

    # ------------------------------------------------------------------------------- steps

    def step(self, step: list) -> None:
        name, *texts = step
        expect = texts.pop() if texts and isinstance(texts[-1], dict) else {}
        function = self.library.function(name)
        types = self.library.parameters(name)
        assert len(types) == len(texts), f"{name} has {len(types)} parameters"
        arguments = [self.argument(text, type_) for text, type_ in zip(texts, types, strict=True)]
        result = function(*arguments)
        if self.ffi.typeof(function).result.cname == "mluOpStatus_t":
            self.check_status(name, result, expect)
        elif "returns" in expect:
            self.check_result(name, result, expect["returns"])
        for place, value in expect.get("gives", {}).items():
            self.check_place(name, place, value)
        self.adopt(texts, expect)

    def check_status(self, name: str, status: int, expect: dict) -> None:
        wanted = expect.get("status", "SUCCESS")
        given = self.library.status_name(status)
        message = self.library.message() if status != 0 else None
        assert given == wanted, f"{name}: {given}, expected {wanted}; {message}"
        if message is None:
            return
        assert message.startswith(f"[{name}] "), message
        for part in expect.get("says", []):
            assert part in message, f"{message!r} does not say {part!r}"

    def check_result(self, name: str, result, wanted) -> None:
        if isinstance(wanted, str):
            result = self.ffi.string(result).decode()
        assert result == wanted, f"{name} returns {result!r}, expected {wanted!r}"

    def check_place(self, name: str, place: str, wanted) -> None:
        stored = self.places[place]
        for i, value in enumerate(wanted if isinstance(wanted, list) else [wanted]):
            assert stored[i] == self.wanted(value, stored), f"{name}: {place}[{i}] is {stored[i]!r}"

    def wanted(self, value, stored):
        """Return what a place must hold: a number, an enumerator, an object, or what it held."""
        item = self.ffi.typeof(stored).item
        if value == "SENTINEL":
            return self.ffi.from_buffer(
                self.ffi.getctype(item, "[1]"), bytes([SENTINEL_BYTE]) * self.ffi.sizeof(item)
            )[0]
        if isinstance(value, str) and value.startswith("@"):
            return self.objects[value[1:]]
        if value == "NULL":
            return self.ffi.NULL
        return self.library.constant(value) if isinstance(value, str) else value

    def adopt(self, texts: list, expect: dict) -> None:
        """Objects that a call has made may be named from now on; destroyed ones may not."""
        for name in expect.get("makes", []):
            self.objects[name] = self.places[name][0]
        for name in expect.get("ends", []):
            del self.objects[name]


def run_script(library: Library, script: Script) -> None:
    run = ScriptRun(library, script.objects)
    try:
        for step in script.steps:
            run.step(step)
    finally:
        run.finish()
