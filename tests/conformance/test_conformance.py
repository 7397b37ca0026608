# SPDX-License-Identifier: Apache-2.0
"""The conformance suite: every case of every table, against one library.

The tables of a family are its contract.toml, those of what belongs to no family stand in cases/.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from mluop_library import declarations
from operator_cases import Table, merge, run_case
from script_cases import read_scripts, run_script

HERE = Path(__file__).resolve().parent
FILES = {path.stem: path for path in sorted((HERE / "cases").glob("*.toml"))}
FILES |= {path.parent.name: path for path in sorted(HERE.parent.glob("*/contract.toml"))}
DATA = {name: tomllib.loads(path.read_text()) for name, path in FILES.items()}
TABLES = [
    Table(table, data.get("objects", {}))
    for data in DATA.values()
    for table in data.get("operator", [])
]
OPERATOR_CASES = [(table, case) for table in TABLES for case in table.cases()]
SCRIPTS = [(name, script) for name, data in DATA.items() for script in read_scripts(data)]


@pytest.mark.parametrize(
    ("table", "case"), OPERATOR_CASES, ids=[f"{t.function}: {c.name}" for t, c in OPERATOR_CASES]
)
def test_operator(library, table, case):
    if table.function.startswith("mluOpCpu") and not library.has(table.function):
        pytest.skip("this library adds no such function to the mluOp API")
    if case.status != "SUCCESS":
        run_case(library, table, table.base_case())  # what is broken next is a valid call
    run_case(library, table, case)


@pytest.mark.parametrize(
    "script", [s for _, s in SCRIPTS], ids=[f"{name}: {s.name}" for name, s in SCRIPTS]
)
def test_script(library, script):
    run_script(library, script)


def test_there_are_cases_enough():
    assert len(OPERATOR_CASES) + len(SCRIPTS) >= 400


def test_every_function_is_called():
    declared = set(
        re.findall(
            r"\b(mluOp\w+)\(", re.sub(r"/\*.*?\*/", "", declarations("mlu_op.h"), flags=re.DOTALL)
        )
    )
    called = {table.function for table in TABLES}
    called |= {step[0] for _, script in SCRIPTS for step in script.steps}
    assert declared - called == set()


@pytest.mark.parametrize("table", TABLES, ids=[table.function for table in TABLES])
def test_table_is_complete(table):
    """Every numbered check is broken alone and takes part in a conflict, and conflicts decide."""
    position = {check: i for i, check in enumerate(table.checks)}
    broken = {entry["check"] for entry in table.breaks.values()}
    assert broken == set(table.checks)
    in_conflict = set()
    for winner, loser in table.order:
        first, second = table.breaks[winner], table.breaks[loser]
        assert position[first["check"]] <= position[second["check"]], (winner, loser)
        outcomes = [(e["status"], e.get("blames"), e.get("says")) for e in (first, second)]
        assert outcomes[0] != outcomes[1], f"{winner} and {loser} look the same"
        merge(table.base, [first["set"], second["set"]])
        in_conflict |= {first["check"], second["check"]}
    assert in_conflict == set(table.checks)
