# SPDX-License-Identifier: Apache-2.0
"""Each family has all its places, each place speaks of each operator, and a lack is noticed."""

import inspect
import re
import subprocess
from pathlib import Path

import inventory
import pytest
from inventory import CONTRIBUTING, PLACES, ROOT, SHARED, Place, Tree

import pymluops
from pymluops import capi
from pymluops._cases import small_calls

HEADERS = ("mlu_op.h", "mlu_op_cpu.h")
TREE = Tree()
FAMILIES = TREE.families()
OPERATORS = TREE.operators()


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


FUNCTIONS = set().union(*map(declared_functions, HEADERS))

# ------------------------------------------------------------------------------ places


def test_nothing_is_missing() -> None:
    assert inventory.missing(TREE) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mluOpThing2partForward", "thing2part_forward"),
        ("mluOpThing", "thing"),
        ("mluOpLargeThingForward_v2", "large_thing_forward"),
        ("mluOpABCBackwardData", "abc_backward_data"),
    ],
)
def test_names_in_python(name: str, expected: str) -> None:
    assert inventory.snake_case(name) == expected


def test_operators_are_found_whatever_their_names_end_with() -> None:
    """A function that has a handle and a tensor is one; a query and a descriptor's own are not."""
    declared = """
    mluOpStatus_t MLUOP_WIN_API
    mluOpPointsInBoxes(mluOpHandle_t handle, const mluOpTensorDescriptor_t boxes_desc, void *boxes);
    mluOpStatus_t MLUOP_WIN_API mluOpGetPointsInBoxesWorkspaceSize(
        mluOpHandle_t handle, const mluOpTensorDescriptor_t boxes_desc, size_t *size);
    mluOpStatus_t MLUOP_WIN_API mluOpSetTensorDescriptor(mluOpTensorDescriptor_t desc);
    """
    tree = Tree({"include/mlu_op.h": text("include/mlu_op.h") + declared})
    assert set(tree.operators()) - set(OPERATORS) == {"mluOpPointsInBoxes"}
    assert "mluOpPointsInBoxes has no family" in inventory.missing(tree)


def test_a_new_family_edits_few_files_of_others() -> None:
    code = {"include/mlu_op.h", "c_src/cmake/families.cmake"}
    exports = {"pymluops/__init__.py", "pymluops/torch/__init__.py"}
    assert {*code, *exports, "README.md", "CHANGELOG.md"} == SHARED


# Each place of one family, and each family in turn.
@pytest.mark.parametrize(
    ("family", "place"),
    [(FAMILIES[i % len(FAMILIES)], place) for i, place in enumerate(PLACES)],
    ids=[place.path for place in PLACES],
)
def test_a_place_that_is_taken_away_is_missed(family: str, place: Place) -> None:
    path = place.path.replace("thing", family)
    files = TREE.files(path)
    if place.path not in SHARED:
        assert inventory.missing(Tree(dict.fromkeys(files))), f"without {path}"
    for operator in OPERATORS:
        if inventory.family_of(operator, FAMILIES) != family:
            continue
        for pattern in inventory.patterns(TREE, place, family, operator):
            without = {name: re.sub(pattern, "", said) for name, said in files.items()}
            assert without != files
            if place.path == "include/mlu_op.h":  # what is not declared needs no places
                assert operator not in Tree(dict(without)).operators()
            else:
                assert inventory.missing(Tree(dict(without))), f"{path} without {pattern}"


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("c_src/families", "*"),
        ("pymluops/_families", "[!_]*"),
        ("docs/operators", "*.md"),
    ],
)
def test_no_folder_has_more_families(folder: str, pattern: str) -> None:
    assert names_in(folder, pattern) == set(FAMILIES)


def test_the_table_of_places_is_that_of_the_inventory() -> None:
    written = CONTRIBUTING.read_text()
    assert written == inventory.with_table(written), "run python tests/package/inventory.py"


# What one family is about belongs into its folders and files. What may name it besides: CMake's
# list, headers, exports, README, CHANGELOG, the page of PyTorch, the chart of speeds.
MOST_STRANGERS = 10


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout of git")
@pytest.mark.parametrize("family", FAMILIES)
def test_few_files_name_a_family_that_are_not_its_own(family: str) -> None:
    command = ["git", "grep", "-liI", family]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    strangers = [path for path in found.splitlines() if family not in path.lower()]
    assert len(strangers) <= MOST_STRANGERS, strangers


# -------------------------------------------------------------------------- functions and files


def test_cmake_builds_every_source() -> None:
    core = {Path(path).stem for path in cmake_list("core_sources")}
    assert core == names_in("c_src/core", "*.c")
    tests = re.search(r"set\(tests([^)]*)\)", text("tests/c/CMakeLists.txt"))
    assert tests is not None
    assert set(tests[1].split()) == names_in("tests/c", "test_*.c")


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("c_src/families/*/family.cmake"), *ROOT.glob("c_src/shared/*/shared.cmake")],
    ids=lambda path: path.parent.name,
)
def test_kernels_are_listed_written_and_used(path: Path) -> None:
    folder = path.parent.relative_to(ROOT).as_posix()
    sources = cmake_list("sources", f"{folder}/{path.name}")
    kernels = cmake_list("kernels", f"{folder}/{path.name}")
    assert sources | kernels == {path.name for path in (ROOT / folder).glob("*.c")}
    listed = re.findall(r"^MLUOP_KERNEL\((\w+)\);", text(f"{folder}/kernels.h"), re.MULTILINE)
    assert len(listed) == len(set(listed))
    bodies = "".join(text(f"{folder}/{name}") for name in kernels)
    written = set(re.findall(r"^void MLUOP_VARIANT\((\w+)\)", bodies, re.MULTILINE))
    called = set(re.findall(r"^ .*\bMLUOP_VARIANT\((\w+)\)\(", bodies, re.MULTILINE))
    assert set(listed) <= written
    assert written - set(listed) <= called, "written, but neither listed nor called by a kernel"
    callers = "".join(text(f"{folder}/{name}") for name in sources)
    assert {name for name in listed if not re.search(rf"\b{name}\b", callers)} == set()


def test_every_operator_has_a_small_call() -> None:
    calls = small_calls()
    assert {call.c_function for call in calls.values()} == set(OPERATORS)
    assert len(calls) == len(OPERATORS)
    words: dict[str, set[str]] = {}  # of each family: the begin of its names in Python
    for name, call in calls.items():
        family = inventory.family_of(call.c_function, FAMILIES)
        assert family is not None
        rest = inventory.snake_case(call.c_function).removeprefix(family)
        assert call.name.endswith(rest)
        assert name == call.name + call.c_function[len(call.c_function.partition("_")[0]) :]
        words.setdefault(family, set()).add(call.name.removesuffix(rest))
        assert callable(getattr(pymluops, call.name))
    assert all(len(found) == 1 for found in words.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_pages_have_the_arguments_of_each_function(family: str) -> None:
    page = " ".join(text(f"docs/operators/{family}.md").split())
    exported = [getattr(pymluops, name) for name in pymluops.__all__]
    home = f"pymluops._families.{family}.arrays"
    functions = [each for each in exported if getattr(each, "__module__", "") == home]
    assert functions
    for function in functions:
        signature = inspect.signature(function)
        kept = [p for p in signature.parameters.values() if p.name not in ("out", "handle")]
        shown = f"{function.__name__}{signature.replace(parameters=kept)} ->"
        assert shown.replace("(", "( ").replace(")", " )") in page or shown in page, shown


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


# What the files of a layer may include besides those of their own folder.
BELOW = {
    "core": set(),
    "cnrt": {"core"},
    "vector": {"core"},
    "shared": {"core", "vector"},
    "limits": {"core", "vector"},
    "layout": {"core", "vector", "shared"},
    "families": {"core", "vector", "shared", "layout"},
}


def test_no_include_points_upwards() -> None:
    """Nor does a family include another one."""
    found = set()
    for path in sorted((ROOT / "c_src").rglob("*.[ch]")):
        layer, *folders = path.relative_to(ROOT / "c_src").parts[:-1]
        own = f"families/{folders[0]}" if layer == "families" else layer
        for name in re.findall(
            r'^ *# *include "((?:families/)?\w+)/', path.read_text(), re.MULTILINE
        ):
            assert name in {own, *BELOW[layer]}, f"{path} includes {name}"
            found.add((layer, name))
    assert {("families", "core"), ("shared", "vector"), ("vector", "core")} <= found


def test_no_struct_tag_is_defined_twice() -> None:
    """A name that is searched for leads to one place."""
    tags: dict[str, Path] = {}
    for path in sorted((ROOT / "c_src").rglob("*.[ch]")):
        for tag in re.findall(r"^(?:typedef )?struct (\w+) \{", path.read_text(), re.MULTILINE):
            assert tags.setdefault(tag, path) == path, f"{tag}: {path} and {tags[tag]}"


def members(struct: str) -> list[str]:
    """The members of a struct, from what stands between its braces; one that is a struct is one."""
    body = re.sub(r"/\*.*?\*/", "", struct, flags=re.DOTALL)
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", "", body)
    declared = [text for text in body.split(";") if text.strip()]
    return [name for text in declared for name in text.split(",")]


def test_the_arguments_of_a_kernel_are_few() -> None:
    """At most 12 members: the call, the plan and the scratch memory are structs of their own."""
    sources = [path.read_text() for path in sorted((ROOT / "c_src").rglob("*.[ch]"))]
    given = {
        name for source in sources for name in re.findall(r"struct (\w+) \*\w+ = vargs", source)
    }
    found = {
        name: len(members(body))
        for source in sources
        for name, body in re.findall(
            r"^struct (\w+) \{$(.*?)^\};$", source, re.MULTILINE | re.DOTALL
        )
        if name in given
    }
    assert found.keys() == given
    assert {name: count for name, count in found.items() if count > 12} == {}
