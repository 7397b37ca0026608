# SPDX-License-Identifier: Apache-2.0
"""A family is dropped into a copy of the tree, and nothing else is edited but four lists.

toy_family has its files: four in C, two in Python, two tests, and its section of mlu_op.h.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import inventory
import pytest

from pymluops import _families

ROOT = Path(__file__).resolve().parents[2]
TOY = Path(__file__).resolve().parent / "toy_family"
pytestmark = pytest.mark.slow
COPIED = ("c_src", "include", "pymluops", "tests", "CMakeLists.txt", "pyproject.toml")


def tool(name: str) -> str:
    """The path of a program: of this environment, or of the system."""
    here = Path(sys.executable).parent
    found = shutil.which(name, path=f"{here}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def run(*command: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def insert(path: Path, before: str, text: str) -> None:
    """Put text before the first place that has another one."""
    old = path.read_text()
    assert before in old
    path.write_text(old.replace(before, text + before, 1))


def drop_in(tree: Path) -> None:
    """Copy the folders of the family, and register it: all that its author does."""
    shutil.copytree(TOY / "c_src", tree / "c_src/families/toy")
    shutil.copytree(TOY / "pymluops", tree / "pymluops/_families/toy")
    shutil.copytree(TOY / "tests", tree / "tests/toy")
    families = tree / "c_src/cmake/families.cmake"
    families.write_text(families.read_text().replace("set(all_families ", "set(all_families toy "))
    insert(tree / "include/mlu_op.h", "/* cdef end", (TOY / "section.h").read_text())
    for package, module in (("pymluops", "arrays"), ("pymluops/torch", "tensors")):
        line = f"from pymluops._families.toy.{module} import toy\n"
        insert(tree / package / "__init__.py", "from pymluops._families", line)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the family, built for one instruction set into its package."""
    tree = tmp_path_factory.mktemp("tree")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so", "toy_family")
            shutil.copytree(source, tree / name, ignore=ignored)
        else:
            shutil.copy(source, tree)
    drop_in(tree)
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DMLUOP_ISAS=baseline", "-DMLUOP_FAMILIES=toy"]
    options += ["-DMLUOP_BUILD_PYTHON=ON", "-DMLUOP_WERROR=ON", "-DCMAKE_INSTALL_LIBDIR=lib"]
    options += [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_INSTALL_INCLUDEDIR=include"]
    ninja = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
    run(tool("cmake"), "-S", ".", "-B", "build", "-G", "Ninja", ninja, *options, cwd=tree)
    run(tool("cmake"), "--build", "build", cwd=tree)
    run(tool("cmake"), "--install", "build", "--prefix", "pymluops", cwd=tree)
    return tree


def pytest_in(tree: Path, *arguments: str) -> int:
    """Run tests of the copy with its own package, and return how many passed."""
    # Without `site` there is no editable installation in the way.
    path = os.pathsep.join([str(tree), *filter(None, sys.path)])
    command = [sys.executable, "-S", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return int(run(*command, cwd=tree, PYTHONPATH=path).splitlines()[-1].split()[0])


def test_no_other_file_was_edited(tree: Path) -> None:
    """But its row in README.md and its line in CHANGELOG.md, which are not copied."""
    edited = set()
    for path in (path for name in COPIED for path in [ROOT / name, *(ROOT / name).rglob("*")]):
        copy = tree / path.relative_to(ROOT)
        texts = path.suffix in (".c", ".h", ".py", ".cmake") and copy.exists()
        if texts and path.read_text() != copy.read_text():
            edited.add(path.relative_to(ROOT).as_posix())
    assert edited == inventory.SHARED - {"README.md", "CHANGELOG.md"}


def test_the_family_runs_from_python(tree: Path) -> None:
    assert pytest_in(tree, "tests/toy") == 2


def test_the_family_passes_the_conformance_suite(tree: Path) -> None:
    library = next((tree / "pymluops").rglob("libmluops.so"))
    cases = pytest_in(tree, "tests/conformance", f"--mluop-library={library}", "-k", "mluOpToy:")
    assert cases >= 20


def test_its_calls_are_refused_in_order(tree: Path) -> None:
    path = os.pathsep.join([str(tree), *filter(None, sys.path)])
    command = [sys.executable, "-S", "tests/differential/run.py", "mluOpToy"]
    assert "| mluOpToy | 2000 |" in run(*command, cwd=tree, PYTHONPATH=path)


def test_the_family_is_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_families, "__path__", [str(tree / "pymluops/_families")])
    assert "toy" in _families.names()
