# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md print what it says, and its commands are those of CI."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def example(language: str) -> tuple[str, str]:
    """Return the first block of a language, and the output that follows it."""
    found = re.search(rf"```{language}\n(.*?)```\s+```text\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found[1], found[2]


def test_python_example() -> None:
    code, expected = example("python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_c_example(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    code, expected = example("c")
    source, program = tmp_path / "example.c", tmp_path / "example"
    source.write_text(code)
    flags = subprocess.run(
        [sys.executable, "-m", "pymluops", "config", "--cflags", "--libs"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    subprocess.run([compiler, "-std=c99", str(source), *flags, "-o", str(program)], check=True)
    done = subprocess.run([program], env=os.environ, check=True, capture_output=True, text=True)
    assert done.stdout == expected


def test_ci_calls_the_test_command() -> None:
    commands = re.findall(r"^python3 -m venv \.venv && .*$", README, re.MULTILINE)
    assert len(commands) == 2
    *installation, tests = commands[1].split(" && ")
    steps = (ROOT / ".ci/steps.sh").read_text()
    assert f"step_setup() {{\n  {' && '.join(installation)}\n}}" in steps
    assert f"step_tests() {{\n  {tests}\n}}" in steps


def test_commands_name_what_is_there() -> None:
    """The package is in no index: it is installed from its sources."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        installed = re.findall(r"pip install (?:-\S+ )*'?([^\s'`]+)", page.read_text())
        assert not [name for name in installed if name.startswith("pymluops")], page


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", prose):
            assert (page.parent / target).exists(), f"{page}: {target}"
