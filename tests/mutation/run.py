# SPDX-License-Identifier: Apache-2.0
"""Show that the conformance suite notices when the library breaks the contract.

Each mutant of a mutants.toml (here: of the core; in tests/<family>: of a family) is one change to
the sources: a rule removed, two rules swapped, a status changed, a line replaced. A copy of the
sources is built with it, and the conformance suite is run against that library: it must fail.

Usage: python tests/mutation/run.py [--every-rule] [NAME PART ...]

--every-rule makes the mutants itself: each row of each rule table is removed, given another status,
and swapped with the next one. It takes many minutes; some of these swaps make no difference.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation"
SOURCE = WORK / "source"
BUILD = WORK / "build"
LIBRARY = BUILD / "libmluops.so"
LOG = WORK / "suite.log"
TIME_LIMIT = 120  # seconds: a mutant may hang

CAUGHT = 1  # pytest's exit status when tests fail; a crash is a negative one


def must(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


# ---------------------------------------------------------------------------------- building


def prepare() -> None:
    """Copy the sources, and configure the fastest build of them: one instruction set, plain."""
    shutil.rmtree(WORK, ignore_errors=True)
    for name in ("c_src", "include"):
        shutil.copytree(ROOT / name, SOURCE / name)
    shutil.copy(ROOT / "CMakeLists.txt", SOURCE)
    isa = "neon" if platform.machine() in ("aarch64", "arm64") else "baseline"
    options = ["-DCMAKE_BUILD_TYPE=Debug", f"-DMLUOP_ISAS={isa}", "-DMLUOP_BUILD_TESTS=OFF"]
    must(["cmake", "-S", str(SOURCE), "-B", str(BUILD), "-G", "Ninja", *options])
    build()


def build() -> None:
    must(["cmake", "--build", str(BUILD), "--target", "mluops", "cnrt"])


def run_suite(cases: str) -> int:
    """Run the conformance suite, in a process that is to end with its exit status."""
    with LOG.open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    command = ["-q", "-x", "-p", "no:cacheprovider", "tests/conformance"]
    status = pytest.main([*command, f"--mluop-library={LIBRARY}", "-k", cases])
    sys.stdout.flush()
    return status


def suite_fails(cases: str) -> bool:
    """Run the conformance suite. It fails, or it passes; all else is an error of this script.

    It runs in a copy of this process, which has read the tables already.
    """
    child = os.fork()
    if child == 0:
        os._exit(run_suite(cases))
    end = time.monotonic() + TIME_LIMIT
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True
        time.sleep(0.01)
    status = os.waitstatus_to_exitcode(ended[1])
    if status not in (0, CAUGHT) and status > 0:
        sys.exit(f"the suite cannot be run:\n{LOG.read_text()}")
    return status != 0


def read_suite() -> None:
    """Import the suite and its tables once, without plugins that it does not need."""
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(ROOT / "tests/conformance"))
    __import__("test_conformance")


# ----------------------------------------------------------------------------------- mutants


def table_of(text: str, name: str) -> re.Match:
    found = re.search(
        rf"struct mluop_rule {name}\[\] = \{{(.*?)\{{\.check = CHECK_END\}}", text, re.DOTALL
    )
    if found is None:
        raise ValueError(f"no table {name}")
    return found


def rows_of(text: str, table: str) -> list[str]:
    return re.findall(r"\{\.check = [^}]*\}", table_of(text, table)[1])


def words_of(row: str) -> str:
    return re.sub(r"[{},|]|\s+", " ", row)


def select(text: str, table: str, words: str) -> str:
    """Return the one row of a table that has all of these words."""
    rows = [row for row in rows_of(text, table) if all(word in row for word in words.split())]
    rows = [row for row in rows if words_of(row) == words] or rows
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows of {table} have the words {words!r}")
    return rows[0]


def replace_in_table(text: str, table: str, changes: dict[str, str]) -> str:
    found = table_of(text, table)
    rows = [changes.get(row, row) for row in rows_of(text, table)]
    body = "".join(f"\n    {row}," for row in rows if row)
    return text[: found.start(1)] + body + "\n    " + text[found.end(1) :]


def mutate(text: str, mutant: dict) -> str:
    if "old" in mutant:
        if text.count(mutant["old"]) != 1:
            raise ValueError(f"{mutant['old']!r} is there {text.count(mutant['old'])} times")
        return text.replace(mutant["old"], mutant["new"])
    table = mutant["table"]
    if "remove" in mutant:
        return replace_in_table(text, table, {select(text, table, mutant["remove"]): ""})
    if "swap" in mutant:
        first, second = (select(text, table, words) for words in mutant["swap"])
        return replace_in_table(text, table, {first: second, second: first})
    row = select(text, table, mutant["row"])
    changed = re.sub(r"\.status = \w+", f".status = {mutant['status']}", row)
    return replace_in_table(text, table, {row: changed})


def listed() -> list[dict]:
    """Return the mutants of the core and of every family."""
    paths = sorted((ROOT / "tests").glob("*/mutants.toml"))
    return [mutant for path in paths for mutant in tomllib.loads(path.read_text())["mutant"]]


def cases_for(mutant: dict) -> str:
    """Return which cases to run: those of the operator, or all of them."""
    path = Path(mutant["file"])
    if "families" not in path.parts:
        return ""
    operator = path.stem.removesuffix("api") if path.stem.endswith("api") else ""
    return (path.parent.name + operator).replace("_", "")


def every_rule() -> list[dict]:
    """Each row of each table: removed, with another status, and swapped with the next one."""
    found = []
    for path in sorted((ROOT / "c_src/families").glob("*/*.[ch]")):
        text = path.read_text()
        for table in re.findall(r"struct mluop_rule (\w+)\[\] = ", text):
            rows = [words_of(row) for row in rows_of(text, table)]
            for row, following in zip(rows, [*rows[1:], None], strict=True):
                place = f"{path.parent.name}/{path.stem} {table}"
                label = f"{place}: {' '.join(row.split()[2:])}"
                entry = {"file": str(path.relative_to(ROOT)), "table": table}
                other = "NOT_SUPPORTED" if "BAD_PARAM" in row else "BAD_PARAM"
                found.append({"name": f"{label}, removed", "remove": row, **entry})
                found.append(
                    {"name": f"{label}, now {other}", "row": row, "status": other, **entry}
                )
                if following is not None:
                    swap = {"swap": [row, following]}
                    found.append({"name": f"{label}, after the next", **swap, **entry})
    return found


def caught(mutant: dict) -> bool:
    path = SOURCE / mutant["file"]
    original = path.read_text()
    changed = mutate(original, mutant)
    assert changed != original, f"{mutant['name']} changes nothing"
    path.write_text(changed)
    try:
        build()
        return suite_fails(cases_for(mutant))
    finally:
        path.write_text(original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--every-rule", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME PART", help="only these mutants")
    chosen = parser.parse_args()
    mutants = every_rule() if chosen.every_rule else listed()
    mutants = [m for m in mutants if all(part in m["name"] for part in chosen.names)]
    if not mutants:
        parser.error(f"no mutant has {' and '.join(chosen.names)} in its name")
    begin = time.monotonic()
    prepare()
    read_suite()
    if suite_fails(""):
        sys.exit("the suite fails without any mutant")
    survivors = []
    for mutant in mutants:
        found = caught(mutant)
        print(f"{'caught  ' if found else 'SURVIVES'}  {mutant['name']}", flush=True)
        if not found:
            survivors.append(mutant["name"])
    seconds = time.monotonic() - begin
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants caught in {seconds:.0f} s")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
