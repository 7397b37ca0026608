# SPDX-License-Identifier: Apache-2.0
"""Every list of operators says the same: what one place knows, no other forgets."""

import re
from pathlib import Path

import pytest

import pymluops
from pymluops import capi

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ("mlu_op.h", "mlu_op_cpu.h")


def text(path: str) -> str:
    return (ROOT / path).read_text()


def names_in(folder: str, pattern: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob(pattern)} - {"__init__"}


def declared_functions(header: str) -> set[str]:
    """The functions of a header, by their declarations (comments left out)."""
    code = re.sub(r"/\*.*?\*/", "", text(f"include/{header}"), flags=re.DOTALL)
    return set(re.findall(r"MLUOP_WIN_API\s+(mluOp\w+)\(", code))


def cmake_list(name: str, file: str = "CMakeLists.txt") -> set[str]:
    found = re.search(rf"set\({name}\s+([^)]*)\)", text(file))
    assert found is not None, f"{file}: no {name}"
    return set(found[1].split())


def snake_case(name: str) -> str:
    """`mluOpMaskedIm2colForward` is `masked_im2col_forward`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name.removeprefix("mluOp")).lower()


FUNCTIONS = set().union(*map(declared_functions, HEADERS))
OPERATORS = {snake_case(name) for name in FUNCTIONS if re.match(r"mluOp\w+(For|Back)ward$", name)}
FAMILIES = {re.sub(r"_(for|back)ward$", "", name) for name in OPERATORS}


def test_the_contract_is_complete() -> None:
    assert len(FAMILIES) == 6
    assert len(OPERATORS) == 10
    assert len(declared_functions("mlu_op.h")) == 54


def speaks_of(stem: str, family: str) -> bool:
    """A file `masked` is about `masked_im2col` and `masked_col2im`; `carafe_plan` is about one."""
    return family == stem or family.startswith(f"{stem}_") or stem.startswith(f"{family}_")


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("c_src/families", "*"),
        ("pymluops/_families", "[!_]*"),
        ("benchmarks/cases", "*.py"),
        ("docs/operators", "*.md"),
    ],
)
def test_each_family_has_its_place(folder: str, pattern: str) -> None:
    stems = names_in(folder, pattern)
    assert {f for f in FAMILIES if not any(speaks_of(s, f) for s in stems)} == set()
    assert {s for s in stems if not any(speaks_of(s, f) for f in FAMILIES)} == set()


def test_each_family_has_tests() -> None:
    stems = names_in("tests", "*")
    assert {f for f in FAMILIES if not any(speaks_of(s, f) for s in stems)} == set()


C_FAMILIES = sorted(path.name for path in (ROOT / "c_src/families").iterdir())


def test_cmake_builds_every_source() -> None:
    assert cmake_list("all_families", "c_src/cmake/families.cmake") == set(C_FAMILIES)
    core = {Path(path).stem for path in cmake_list("core_sources")}
    assert core == names_in("c_src/core", "*.c")
    tests = re.search(r"set\(tests([^)]*)\)", text("tests/c/CMakeLists.txt"))
    assert tests is not None
    assert set(tests[1].split()) == names_in("tests/c", "test_*.c")


@pytest.mark.parametrize("family", C_FAMILIES)
def test_kernels_are_listed_written_and_used(family: str) -> None:
    folder = f"c_src/families/{family}"
    sources = cmake_list("sources", f"{folder}/family.cmake")
    kernels = cmake_list("kernels", f"{folder}/family.cmake")
    assert sources | kernels | {"plain.c"} == {path.name for path in (ROOT / folder).glob("*.c")}
    listed = re.findall(r"^MLUOP_KERNEL\((\w+)\);", text(f"{folder}/kernels.h"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    bodies = "".join(text(f"{folder}/{name}") for name in kernels)
    assert set(re.findall(r"^void MLUOP_VARIANT\((\w+)\)", bodies, re.MULTILINE)) == set(listed)
    callers = "".join(text(f"{folder}/{name}") for name in sources)
    assert {name for name in listed if not re.search(rf"\b{name}\b", callers)} == set()


def test_c_calls_and_plain_loops_cover_every_operator() -> None:
    texts = "".join(path.read_text() for path in sorted((ROOT / "tests").glob("*/calls.c")))
    table = set(re.findall(r'\{"(mluOp\w+)", ', texts))
    assert {snake_case(name) for name in table} == OPERATORS
    compared = {f"mluOp{name}" for name in re.findall(r"OK\(plain(\w+)\(", texts)}
    assert {snake_case(name) for name in compared} >= OPERATORS


def test_python_has_every_operator() -> None:
    assert set(pymluops.__all__) >= OPERATORS
    assert all(callable(getattr(pymluops, name)) for name in OPERATORS)


def test_python_binds_every_function() -> None:
    assert {name for name in dir(capi.lib) if re.match(r"mluOp[A-Z]", name)} == FUNCTIONS


def test_every_function_is_documented() -> None:
    """The declaration follows a comment, or another declaration that shares one."""
    for header in HEADERS:
        body = text(f"include/{header}").split("/* cdef begin", 1)[1]
        documented = re.findall(
            r"/\*\*(?:(?!\*/).)*\*/\s*(?:const char \*|[\w]+ )MLUOP_WIN_API\s+(mluOp\w+)",
            body,
            re.DOTALL,
        )
        assert declared_functions(header) - set(documented) == set()


def test_readme_names_every_operator() -> None:
    readme = text("README.md")
    assert {name for name in OPERATORS if f"`{name}`" not in readme} == set()


# --------------------------------------------------------------------------- rule tables


def api_source(family: str) -> str:
    """Return the file with the rules of a family."""
    folder, _, part = family.partition("masked_")
    return text(f"c_src/families/masked/{part}_api.c" if part else f"c_src/families/{folder}/api.c")


def rule_tables(source: str) -> list[str]:
    return re.findall(
        r"struct mluop_rule \w+\[\] = \{(.*?)\{\.check = CHECK_END\}", source, re.DOTALL
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_rules_speak_of_what_the_call_has(family: str) -> None:
    """The words of every rule are numbers, letters, and scalars that the operator names."""
    source = api_source(family)
    scalars = set(re.findall(r'mluop_(?:integers?|real)\(\s*"(\w+)",', source))
    tables = rule_tables(source)
    assert tables
    for table in tables:
        for check, said in re.findall(r'\.check = (CHECK_\w+)[^}]*?\.text =\s*"([^"]*)"', table):
            for word in said.split():
                for factor in word.split("*"):
                    known = factor in scalars or re.fullmatch(r"[A-Z]|\d+", factor)
                    assert known, f"{check} {said!r}: {factor!r} is neither letter nor scalar"
            if check != "CHECK_SHAPE":
                assert said in scalars, f"{check} {said!r}"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_shapes_bind_one_letter_at_a_time(family: str) -> None:
    """A word with two letters, both seen for the first time, could not be solved."""
    for table in rule_tables(api_source(family)):
        bound: set[str] = set()
        for shape in re.findall(r'CHECK_SHAPE[^}]*?\.text =\s*"([^"]*)"', table):
            for word in shape.split():
                letters = [f for f in word.split("*") if re.fullmatch("[A-Z]", f)]
                new = [letter for letter in letters if letter not in bound]
                assert len(new) <= 1, f"{shape!r}: {word!r} has two unknown letters"
                bound.update(new)
