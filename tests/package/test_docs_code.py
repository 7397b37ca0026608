# SPDX-License-Identifier: Apache-2.0
"""Every example of README.md and docs/ runs, and prints what the page says.

The Python blocks of a page share their variables, the commands of a page a folder. A block of
```text that follows is what the example prints. The comment <!-- not run: REASON --> in front of
a block excuses it.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pymluops import _config

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PAGES.remove(ROOT / "docs/site/contents.md")
RUN = ("python", "c", "sh")
SHOWN = ("text", "cmake", "make")

BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+?) -->\s+)?"
    r"^(?P<indent> *)```(?P<language>\S*)\n(?P<code>.*?)^ *```$"
    r"(?:\s+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """An example of a page."""

    line: int
    code: str
    output: str | None


def blocks(page: Path, language: str | None = None) -> Iterator[Block]:
    """Return the blocks of a page that run, of one language."""
    text = page.read_text()
    for found in BLOCK.finditer(text):
        if found["language"] == language and not found["reason"]:
            line = text.count("\n", 0, found.start("code"))
            yield Block(line, found["code"], found["output"])


def pages(language: str) -> pytest.MarkDecorator:
    """Run a test for each page that has blocks of a language."""
    chosen = [page for page in PAGES if any(blocks(page, language))]
    names = [page.relative_to(ROOT).as_posix() for page in chosen]
    return pytest.mark.parametrize("page", chosen, ids=names)


def output_of(command: list[str], folder: Path) -> str:
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PATH": search},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_says_what_it_is(page: Path) -> None:
    for found in BLOCK.finditer(page.read_text()):
        assert found["language"] in RUN + SHOWN, found[0][:200]


@pages("python")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "import torch" in page.read_text():
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if ">>> " in block.code:
                example = doctest.DocTestParser().get_doctest(
                    block.code, names, page.name, str(page), block.line
                )
                runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
                failed = runner.run(example, out=printed.write, clear_globs=False).failed
                names |= example.globs
                assert failed == 0, printed.getvalue()
                continue
            exec(compile("\n" * block.line + block.code, page.name, "exec"), names)
        if block.output is not None:
            assert printed.getvalue() == block.output


@pages("c")
def test_c(page: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    flags = f"{_config.cflags()} {_config.libs()}".split()
    strict = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror"]
    for block in blocks(page, "c"):
        source, program = tmp_path / "example.c", tmp_path / "example"
        source.write_text("\n" * block.line + block.code)
        output_of([compiler, *strict, str(source), *flags, "-o", str(program)], tmp_path)
        assert output_of([str(program)], tmp_path) == block.output


@pages("sh")
def test_commands(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "sh"):
        printed = output_of(["bash", "-eu", "-c", block.code], tmp_path)
        if block.output is not None:
            assert printed == block.output
