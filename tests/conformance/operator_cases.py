# SPDX-License-Identifier: Apache-2.0
"""Calls of one operator: a valid one, ways to break it, and which of two breaks is reported.

README.md describes the tables that these cases are read from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import standard_breaks
from mluop_library import Library
from operator_call import ANY, Call


@dataclass
class Case:
    """One call: what it differs in from the table's base call, and what it must do."""

    name: str
    changes: list[dict]
    status: str = "SUCCESS"
    blames: str = ""
    says: list[str] = field(default_factory=list)
    results: dict | None = None  # None: every output stays as it was


class Table:
    """The cases of one function, read from one file."""

    def __init__(self, data: dict, objects: dict) -> None:
        self.function = data["call"]
        self.arguments = data["with"]
        self.objects = objects
        self.base = {
            "tensors": data["tensors"],
            "scalars": data.get("scalars", {}),
            "objects": data.get("objects", {}),
            "workspace": data.get("workspace", {}),
            "handle": {},
        }
        self.checks = data["checks"]
        self.breaks = {entry["name"]: entry for entry in standard_breaks.breaks(data)}
        self.breaks |= {entry["name"]: entry for entry in data.get("break", [])}
        self.order = data.get("order", [])
        self.values = data.get("value", [])
        written = [entry["name"] for entry in data.get("break", [])]
        assert len(set(written)) == len(written), f"{self.function}: a name twice"

    def base_case(self) -> Case:
        return Case("base", [], results=self.results([]))

    def results(self, changes: list[dict]) -> dict:
        tensors = merge(self.base, changes)["tensors"]
        found = {name: t["result"] for name, t in tensors.items() if "result" in t}
        return {"workspace_size": ANY, **found} if "&workspace_size" in self.arguments else found

    def _break_case(self, name: str, entries: list[dict]) -> Case:
        """Return the case of broken calls, of which the first one decides."""
        first = entries[0]
        return Case(
            name=name,
            changes=[entry["set"] for entry in entries],
            status=first["status"],
            blames=first.get("blames", ""),
            says=first.get("says", []),
            results=first.get("results"),
        )

    def cases(self) -> list[Case]:
        found = [self.base_case()]
        found += [self._break_case(name, [entry]) for name, entry in self.breaks.items()]
        for winner, loser in self.order:
            entries = [self.breaks[winner], self.breaks[loser]]
            found.append(self._break_case(f"{winner}, before {loser}", entries))
        found += [
            Case(entry["name"], [entry["set"]], results=self.results([entry["set"]]))
            for entry in self.values
        ]
        return found


def merge(base: dict, changes: list[dict]) -> dict:
    """Apply changes to a copy of the base call; two changes must not set the same thing."""
    # Settings are replaced and never changed: what holds them is copied, two levels deep.
    call = {
        group: {
            name: dict(value) if isinstance(value, dict) else value
            for name, value in settings.items()
        }
        for group, settings in base.items()
    }
    seen: set[tuple[str, str]] = set()
    for change in changes:
        for name, settings in change.items():
            groups = (call["tensors"], call["objects"], call)
            target = next(group[name] for group in groups if name in group)
            for key, value in settings.items():
                assert (name, key) not in seen, f"{name}.{key} is set by both breaks"
                seen.add((name, key))
                target[key] = value
    return call


def run_case(library: Library, table: Table, case: Case) -> None:
    with Call(library, table, merge(table.base, case.changes)) as call:
        status = library.status_name(call.run())
        message = library.message() if status != "SUCCESS" else None
        assert status == case.status, f"{status}, expected {case.status}; {message}"
        if message is not None:
            check_message(table.function, case, message)
        call.check_outputs(case.results)


def check_message(function: str, case: Case, message: str) -> None:
    """An error names its function and the argument that is to blame, and says what is wrong."""
    assert message.startswith(f"[{function}] "), message
    text = message.removeprefix(f"[{function}] ")
    blamed = re.match(r"\w*", text)[0]
    assert case.blames in ("", blamed, blamed.removesuffix("_desc")), message
    for part in case.says:
        assert part in text, f"{message!r} does not say {part!r}"
