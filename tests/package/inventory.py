# SPDX-License-Identifier: Apache-2.0
"""The places that a family must have, and what each must say of its operators.

python tests/package/inventory.py        writes the table of places into CONTRIBUTING.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


@dataclass(frozen=True)
class Place:
    """Files of a family, or files that name all families."""

    path: str
    """A pattern; `thing` stands for the family."""
    purpose: str
    says: tuple[str, ...] = ()
    """Regular expressions, of which each matches in one of the files. They hold for each operator:
    CNAME is its name in C, BARE that without mluOp, PYNAME that in Python."""


# In the order in which a family is written.
PLACES = (
    Place(
        "include/mlu_op.h",
        "declaration and manual: shapes, types, each status and when, NaN, ties, an example",
        (r"MLUOP_WIN_API\s+CNAME\(",),
    ),
    Place("c_src/cmake/families.cmake", "its name", (r"\bthing\b",)),
    Place(
        "c_src/families/thing/family.cmake",
        "its files: compiled once, and for each instruction set",
        (r"set\(sources [^)]", r"set\(kernels [^)]"),
    ),
    Place(
        "c_src/families/thing/kernels.h", "a line for each kernel", (r"(?m)^MLUOP_KERNEL\(\w+\);",)
    ),
    Place(
        "c_src/families/thing/*api.c",
        "argument struct, checks, jobs; no arithmetic",
        (r"\bCNAME\(", r"\.gen_case =", r"\bmluop_end_call\("),
    ),
    Place(
        "c_src/families/thing/*.c",
        "the checks as a rule table: in `api.c`, or in `checks.c` beside it",
        (r"struct mluop_rule \w+\[\]",),
    ),
    Place(
        "pymluops/_families/thing/arrays.py",
        "the NumPy functions",
        (r"(?m)^def PYNAME\(", r'"CNAME"'),
    ),
    Place("pymluops/__init__.py", "their export", (r'(?m)^    "PYNAME",$',)),
    Place(
        "pymluops/_families/thing/reference.py",
        "the formula in float64 NumPy, written without a look at the kernel",
        (r"(?m)^def PYNAME\(",),
    ),
    Place(
        "pymluops/_families/thing/cases.py",
        "a small valid call of each operator, which tests bend; calls that `selftest` compares",
        (r'"CNAME"', r'Trial\(\s*"PYNAME"'),
    ),
    Place(
        "pymluops/_families/thing/gen_case.py",
        "its MLU-OPS test cases for `pymluops case`: tensors, parameters, sizes",
        (r'"CNAME"',),
    ),
    Place(
        "pymluops/_families/thing/scene.py",
        "what `pymluops demo` shows of it",
        (r"\bpymluops\.PYNAME\b",),
    ),
    Place(
        "pymluops/_families/thing/tensors.py",
        "for PyTorch: functions that have gradients; beside it the modules in `modules.py`",
        (r"= define\(",),
    ),
    Place(
        "pymluops/_families/thing/bench.py",
        "sizes of networks and others, for `pymluops bench` and benchmarks/bench.py",
        (r"(?m)^CASES = ",),
    ),
    Place(
        "pymluops/_families/thing/bench_torch.py",
        "the same in operations of PyTorch, to stand beside",
        (r"(?m)^PEERS = ", r'"PYNAME": \['),
    ),
    Place(
        "pymluops/_families/thing/bench_numba.py",
        "the same in loops that numba compiles",
        (r"(?m)^PEERS = ", r'"PYNAME": \['),
    ),
    Place("pymluops/torch/__init__.py", "their export", (r"pymluops\._families\.thing\.",)),
    Place(
        "pymluops/_families/thing/mmcv.py",
        "the functions of mmcv's compiled module",
        (r"(?m)^NAME = ", r"(?m)^def [a-z]"),
    ),
    Place(
        "tests/thing/plain.c",
        "the formula as a plain loop: to compare speed and every instruction set's values with",
        (r"\bCNAME\(",),
    ),
    Place(
        "tests/thing/test_*.py",
        "values, properties, hostile data, for each instruction set and several thread counts",
    ),
    Place("tests/thing/*.py", "what they call: every operator", (r"\bPYNAME\b",)),
    Place(
        "tests/thing/property_cases.py",
        "how calls are drawn; what they are linear in, their gradients, the axes that go together",
    ),
    Place(
        "tests/thing/limit_cases.py",
        "tensors of almost 2^31 elements; the data that makes most work, and what it may cost",
    ),
    Place(
        "tests/cases/gallery/thing*.prototxt",
        "its test cases at the sizes of networks, written by `pymluops case new`",
    ),
    Place(
        "tests/thing/contract.toml",
        "every check, alone and in conflict: its status, its message; small exact values",
        (r'(?m)^call = "CNAME"$',),
    ),
    Place(
        "tests/thing/check_order.py",
        "the checks in plain steps, from the contract: random calls must be refused alike",
        (r'"CNAME":',),
    ),
    Place(
        "tests/thing/mutants.toml",
        "ways to break its checks, each of which the contract must notice",
        (r"(?m)^remove = ", r"(?m)^swap = ", r"(?m)^status = "),
    ),
    Place(
        "tests/thing/calls.c",
        "in C: a small and a large call, for threads, fork, failing memory",
        (r'\{"CNAME",',),
    ),
    Place(
        "tests/thing/fuzz.c",
        "in C: how bytes become a call, of fuzzers and of random tests, beside the plain loop",
        (r'\{"CNAME\b', r"\bPLAIN\(BARE\)"),
    ),
    Place("tests/thing/fuzz_corpus.txt", "inputs to begin with, written by `tests/fuzz/run.py`"),
    Place(
        "tests/thing/torch_cases.py",
        "small calls in PyTorch, and the same in stock operations",
        (r"(?m)^CASES = ", r"(?m)^def reference\("),
    ),
    Place(
        "docs/operators/thing.md",
        "formula, picture, shapes, examples in Python and C, special cases, statuses, speed",
        (r"`CNAME`", r"(?m)^PYNAME\(", r"<!-- figures: "),
    ),
    Place(
        "benchmarks/figures/thing.json",
        "what was measured, written by `benchmarks/performance_page.py`",
        (r'"PYNAME\b',),
    ),
    Place("examples/c/thing*.c*", "a program, as for the accelerator", (r"\bCNAME\(",)),
    Place("README.md", "a row in the table", (r"`PYNAME`", r"`CNAME`")),
    Place("CHANGELOG.md", "a line"),
)

SHARED = {place.path for place in PLACES if "thing" not in place.path}
"""The files that a new family edits, besides its own."""


def snake_case(name: str) -> str:
    """Return `abc_backward_data` for mluOpABCBackwardData: words and runs of capitals are parts."""
    bare = re.sub(r"_v\d+$", "", name.removeprefix("mluOp"))
    parts = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", bare)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", parts).lower()


class Tree:
    """The files of the project, of which some may be taken away or changed."""

    def __init__(self, changes: dict[str, str | None] | None = None) -> None:
        self.changes = changes or {}

    def files(self, pattern: str) -> dict[str, str]:
        """Return the texts of all files of a pattern, by their paths."""
        texts = {path: self.changes.get(path, text) for path, text in _read(pattern).items()}
        return {path: text for path, text in texts.items() if text is not None}

    def operators(self) -> list[str]:
        """Return every function with a handle and a tensor descriptor that is no query."""
        return _operators("".join(self.files("include/mlu_op.h").values()))

    def families(self) -> list[str]:
        """Return the families that CMake knows."""
        (text,) = self.files("c_src/cmake/families.cmake").values()
        found = re.search(r"set\(all_families ([^)]*)\)", text)
        assert found is not None
        return found[1].split()


# Most texts of a changed tree are those of the others: what is found in them is kept.


@cache
def _operators(header: str) -> list[str]:
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    declared = re.findall(r"MLUOP_WIN_API\s+(mluOp\w+)\(([^;]*)\);", code)
    return [
        name
        for name, parameters in declared
        if "mluOpHandle_t" in parameters
        and "mluOpTensorDescriptor_t" in parameters
        and not name.startswith("mluOpGet")
    ]


@cache
def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text)


@cache
def _read(pattern: str) -> dict[str, str]:
    paths = sorted(ROOT.glob(pattern))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def family_of(operator: str, families: list[str]) -> str | None:
    """Return the family that an operator's name begins with: the longest one."""
    name = snake_case(operator)
    fitting = [f for f in families if name == f or name.startswith(f"{f}_")]
    return max(fitting, key=len, default=None)


def python_name(tree: Tree, family: str, operator: str) -> str:
    """Return what an operator is called in Python.

    It is the name in C in small letters, unless the family says otherwise in its small call, since
    the field has another word for it.
    """
    said = "".join(tree.files(f"pymluops/_families/{family}/cases.py").values())
    found = _search(rf'SmallCall\(\s*"(\w+)",\s*"{operator}"', said)
    return found[1] if found else snake_case(operator)


def patterns(tree: Tree, place: Place, family: str, operator: str) -> Iterator[str]:
    """Yield what a place must say of an operator."""
    for said in place.says:
        yield (
            said.replace("thing", family)
            .replace("PYNAME", python_name(tree, family, operator))
            .replace("CNAME", operator)
            .replace("BARE", operator.removeprefix("mluOp"))
        )


def missing(tree: Tree) -> list[str]:
    """Return what the tree lacks: a family without operators, a place, something that it says."""
    families, operators = tree.families(), tree.operators()
    home = {operator: family_of(operator, families) for operator in operators}
    found = [f"{operator} has no family" for operator, family in home.items() if family is None]
    found += [f"{family} has no operators" for family in families if family not in home.values()]
    for operator, family in home.items():
        for place in PLACES if family is not None else ():
            path = place.path.replace("thing", family)
            texts = tree.files(path).values()
            if not texts:
                found.append(f"{operator}: no {path}")
            for pattern in patterns(tree, place, family, operator):
                if not any(_search(pattern, text) for text in texts):
                    found.append(f"{operator}: {path} does not say {pattern}")
    return found


# ------------------------------------------------------------------------------------- the table

BEGIN, END = "<!-- places: python tests/package/inventory.py -->\n", "<!-- end of places -->\n"


def with_table(text: str) -> str:
    """Return the text of CONTRIBUTING.md with the table as it is now."""
    rows = "".join(f"| `{place.path}` | {place.purpose} |\n" for place in PLACES)
    head, _, rest = text.partition(BEGIN)
    return (
        f"{head}{BEGIN}\n| Place | What goes there |\n|---|---|\n{rows}\n{END}"
        + (rest.partition(END)[2])
    )


if __name__ == "__main__":
    CONTRIBUTING.write_text(with_table(CONTRIBUTING.read_text()))
