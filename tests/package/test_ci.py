# SPDX-License-Identifier: Apache-2.0
""".ci/run: what it refuses, what it lists, and that it installs only what it is told to."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS = (ROOT / ".ci/steps.sh").read_text()
TABLE = re.search(r"STEPS='(.*?)'", STEPS, re.DOTALL)
assert TABLE is not None
ROWS = [line.split("|") for line in TABLE[1].splitlines()]
NAMES = [row[0] for row in ROWS]


def ci(
    *arguments: str, folder: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "INSTALL")}
    return subprocess.run(
        ["bash", str(folder / ".ci/run"), *arguments],
        env=clean | environment,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def test_the_table_is_that_of_the_functions() -> None:
    assert list(dict.fromkeys(NAMES)) == NAMES
    assert set(NAMES) == set(re.findall(r"^step_(\w+)\(\)", STEPS, re.MULTILINE))
    for i, (_, after, text) in enumerate(ROWS):
        assert set(after.split()) <= set(NAMES[:i])
        assert text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tset"], "there is no step tset"),
        (["style", "TYPO"], "there is no step TYPO"),
        (["--fast"], "there is no option --fast"),
        (["-j", "two"], '-j: "two" given, expected a number'),
        (["--jobs"], '--jobs: "" given, expected a number'),
    ],
)
def test_a_wrong_call_lists_the_steps_and_runs_none(arguments: list[str], said: str) -> None:
    done = ci(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, empty, *listed = done.stderr.splitlines()
    assert (first, empty) == (f".ci/run: {said}", "")
    assert [line.split()[0] for line in listed] == NAMES


def test_list_and_help() -> None:
    listed = ci("--list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == NAMES
    for flag in ("--help", "-h"):
        shown = ci(flag)
        assert shown.returncode == 0
        assert shown.stdout.startswith("Usage: .ci/run ")
        assert "--install" in shown.stdout


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A folder with .ci alone, and a PATH that has few commands and an apt-get that only notes."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "cat", "dirname", "flock", "mkdir", "nproc", "sed", "sleep", "tail"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin" / name).symlink_to(found)
    apt = tmp_path / "bin/apt-get"
    apt.write_text(f'#!{shutil.which("bash")}\necho "$@" >>"{tmp_path}/installed"\n')
    apt.chmod(0o755)
    return tmp_path


def test_nothing_is_installed_unasked(sandbox: Path) -> None:
    done = ci("headers", folder=sandbox, PATH=str(sandbox / "bin"))
    assert done.returncode == 0
    assert "skipped: missing here: apt-get install g++, or .ci/run --install" in done.stdout
    assert not (sandbox / "installed").exists()


@pytest.mark.parametrize(("arguments", "environment"), [(["--install"], {}), ([], {"CI": "true"})])
def test_it_is_installed_when_asked(
    sandbox: Path, arguments: list[str], environment: dict[str, str]
) -> None:
    """What is still missing then is no reason to skip a step."""
    path = str(sandbox / "bin")
    done = ci("headers", *arguments, folder=sandbox, PATH=path, **environment)
    installed = (sandbox / "installed").read_text()
    assert installed.startswith("update -q\ninstall -qy --no-install-recommends g++\n")
    assert done.returncode == 1
    assert "FAILED" in done.stdout


def test_steps_run_beside_each_other_and_report(sandbox: Path) -> None:
    """In their order, with the numbers that test runners print, and the log of what failed."""
    (sandbox / ".ci/steps.sh").write_text(
        "STEPS='first||.\nsecond||.\nthird|first second|.\nfourth|third|.'\n"
        "step_first() { for i in {1..50}; do [[ -e b ]] && return; sleep 0.1; done; false; }\n"
        "step_second() { echo >b; echo '=== 12 passed, 1 skipped in 3.45s ==='; }\n"
        "step_third() { echo the reason; false; }\n"
        "step_fourth() { echo not for this machine; exit 77; }\n"
    )
    done = ci("-j", "2", folder=sandbox, PATH=str(sandbox / "bin"))
    assert done.returncode == 1
    shown = re.sub(r" +\d+s +\d+s of processors +", " ", done.stdout)
    first, second = sorted(
        ["first ok\n", "second ok\n               12 passed, 1 skipped in 3.45s\n"]
    )
    assert shown.startswith((first + second, second + first))
    assert "third FAILED\nthe reason\nfourth skipped: not for this machine\n" in shown
    assert re.search(
        r"\n\n(first|second) ok\n(first|second) ok\nthird FAILED\nfourth skipped", shown
    )
    assert re.search(r"\nFAILED in \d+s\n$", shown)
    log = sandbox / "build/ci/third.log"
    assert log.read_text() == "the reason\n"
