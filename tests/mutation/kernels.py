# SPDX-License-Identifier: Apache-2.0
"""Break lines of the kernels, chosen at random, and show which of these changes no test notices.

Usage: python tests/mutation/kernels.py [--count N] [--skip N] [--seed N] [OPTION] [PATH PART ...]

Each change is built in a copy of the tree, for one instruction set, and the family's tests are run
with that library until one fails, and for the next set if none does. A crash or a hang counts as
caught. A change that leaves every byte of the library as it was is no change. README.md in this
folder says how to read the rest.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import random
import re
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from changes import changes, code_of

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation_kernels"
SOURCE = WORK / "source"
LOG = WORK / "last.log"
NOT_COPIED = ("build", "dist")  # nor what begins with a point
ARM = platform.machine() in ("aarch64", "arm64")
ISAS = ("neon",) if ARM else ("avx512", "avx2", "baseline")  # the first has the most paths
# Files that are compiled for some instruction sets only; their lines live nowhere else.
LIVES = {
    "simd_avx512": ("avx512",),
    "simd_avx2": ("avx2",),
    "simd_sse2": ("baseline",),
    "simd_part": ("neon",) if ARM else ("baseline",),
    "simd_neon": ("neon",),
}
VECTOR_TESTS = sorted(path.stem for path in (ROOT / "tests/vector").glob("test_*.c"))
BUILD_LIMIT, PROGRAM_LIMIT, PYTEST_LIMIT = 900, 60, 600  # seconds


@dataclass(frozen=True)
class Mutant:
    """A line of a file, and what takes its place."""

    path: str  # from the root of the tree
    number: int  # from 0
    name: str
    line: str

    @property
    def family(self) -> str:
        parts = Path(self.path).parts
        return parts[2] if parts[1] == "families" else "layout" if parts[1] == "layout" else ""

    @property
    def isas(self) -> tuple[str, ...]:
        known = LIVES.get(Path(self.path).stem, ISAS)
        return tuple(isa for isa in known if isa in ISAS)


# ---------------------------------------------------------------------------------- the lines


def families() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "c_src/families").glob("*/family.cmake"))


def kernel_files() -> list[Path]:
    """Return what is built for each instruction set: kernels, their headers, the layers below."""
    found = [*(ROOT / "c_src/vector").glob("*.h"), *(ROOT / "c_src/shared").glob("*.h")]
    found += [ROOT / "c_src/core/half.h", *(ROOT / "c_src/layout").glob("*.h")]
    found += [ROOT / "c_src/layout" / name for name in ("convert.c", "in_place.c")]
    lists = [*(ROOT / "c_src/families").glob("*/family.cmake")]
    for path in [*lists, *(ROOT / "c_src/shared").glob("*/shared.cmake")]:
        listed = re.search(r"set\(kernels\s+([^)]*)\)", path.read_text())
        assert listed is not None
        found += [path.parent / name for name in listed[1].split()]
        found += path.parent.glob("*.h")
    skipped = ("kernels.h", "row_prefetch.h")  # the last only prefetches
    return sorted(path for path in found if path.name not in skipped)


def mutants(parts: list[str]) -> list[list[Mutant]]:
    """Return the mutants of each line that can be broken, of the files whose path has all parts."""
    found = []
    for path in kernel_files():
        name = path.relative_to(ROOT).as_posix()
        if not all(part in name for part in parts):
            continue
        lines = path.read_text().split("\n")
        code = code_of(path.read_text())
        for number in range(len(lines)):
            of_line = [Mutant(name, number, *change) for change in changes(lines, code, number)]
            if of_line and of_line[0].isas:
                found.append(of_line)
    return found


# ------------------------------------------------------------------------------ copy and build


def copy_tree() -> None:
    """Make the copy equal to the tree; files that are equal already are not touched."""
    wanted = set()
    for here in ROOT.iterdir():
        if here.name.startswith((".", *NOT_COPIED)):
            continue
        for path in [here] if here.is_file() else sorted(here.rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            target = SOURCE / path.relative_to(ROOT)
            wanted.add(target)
            if not target.exists() or target.read_bytes() != path.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    for path in SOURCE.rglob("*"):
        if path.is_file() and path not in wanted and "__pycache__" not in path.parts:
            path.unlink()


def run(command: list[str], limit: float, environment: dict[str, str] | None = None) -> int | None:
    """Run a command with its output in LOG. Return its exit status, or None if it did not end."""

    def no_core_files() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with LOG.open("w") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=SOURCE, start_new_session=True,
            env=os.environ | (environment or {}), preexec_fn=no_core_files,
        )  # fmt: skip
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def build(isa: str) -> bool:
    """Build the library and the C tests that are used here; False if it does not compile."""
    targets = ["mluops", "test_values", *VECTOR_TESTS]
    return run(["cmake", "--build", str(WORK / isa), "--target", *targets], BUILD_LIMIT) == 0


def configure(isa: str) -> None:
    # Quick to compile, and no slower to run than what the tests are written for.
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1", f"-DMLUOP_ISAS={isa}"]
    options += ["-DMLUOP_BUILD_TESTS=ON", "-G", "Ninja"]
    if run(["cmake", "-S", str(SOURCE), "-B", str(WORK / isa), *options], BUILD_LIMIT) != 0:
        sys.exit(LOG.read_text())


def code_bytes(isa: str) -> str:
    """Return a digest of the library and of the tests that have operations compiled into them."""
    digest = hashlib.sha256((WORK / isa / "libmluops.so").read_bytes())
    for name in VECTOR_TESTS:
        digest.update((WORK / isa / "tests/c" / name).read_bytes())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------ tests


def commands(isa: str, family: str) -> list[list[str]]:
    """Return the tests to run, the quick ones first. Without a family they are those of all."""
    calls = [["test_values", family]] if family else [[n] for n in (*VECTOR_TESTS, "test_values")]
    found = [[str(WORK / isa / "tests/c" / name), *words] for name, *words in calls]
    # What is about PyTorch calls the same kernels, and takes longer.
    python = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    python.append("--ignore-glob=*torch*")
    for name in [family] if family else [*families(), "layout"]:
        found.append([*python, f"tests/{name}"])
    return found


def failure(command: list[str], isa: str) -> str:
    """Run a test; return how it fails, or nothing."""
    # Before the library that the Python package finds, however it finds it.
    environment = {"LD_PRELOAD": str(WORK / isa / "libmluops.so"), "OMP_WAIT_POLICY": "passive"}
    status = run(command, PYTEST_LIMIT if "pytest" in command else PROGRAM_LIMIT, environment)
    if status == 0:
        return ""
    failed = re.findall(r"^FAILED ([^ \n]+)", LOG.read_text(errors="replace"), re.MULTILINE)
    how = "hangs" if status is None else "crashes" if status < 0 else "fails"
    name = Path(command[-1] if "pytest" in command else command[0]).name
    return " ".join([name, how, *failed[:1]])


class Trial:
    """Builds and tests mutants; the copy is always as it was afterwards."""

    def __init__(self, *, one_isa: bool) -> None:
        self.one_isa = one_isa
        self.clean: dict[str, str] = {}
        self.passing: set[tuple[str, ...]] = set()  # tests that pass without a mutant

    def prepare(self, isa: str) -> None:
        """Build what is not changed, to compare with, and see that it is what Python calls."""
        if isa in self.clean:
            return
        configure(isa)
        if not build(isa):
            sys.exit(LOG.read_text())
        self.clean[isa] = code_bytes(isa)
        used = f"import pymluops; assert pymluops.supported_isas() == ({isa!r},)"
        if failure([sys.executable, "-c", used], isa):
            sys.exit(LOG.read_text())

    def confirm(self, isa: str, command: list[str]) -> None:
        """Make sure that a test which fails passes without the mutant."""
        if tuple(command) in self.passing:
            return
        if not build(isa) or failure(command, isa):
            sys.exit(f"{' '.join(command)} fails without any mutant\n{LOG.read_text()[-3000:]}")
        self.passing.add(tuple(command))

    def try_on(self, isa: str, mutant: Mutant) -> tuple[str, list[str]]:
        """Return what is said about the mutant on one instruction set, and the test that fails."""
        path = SOURCE / mutant.path
        original = path.read_text()
        lines = original.split("\n")
        lines[mutant.number] = mutant.line
        path.write_text("\n".join(lines))
        try:
            if not build(isa):
                return "no build", []
            if code_bytes(isa) == self.clean[isa]:
                return "no change", []
            for command in commands(isa, mutant.family):
                if noticed := failure(command, isa):
                    return f"caught ({isa}, {noticed})", command
            return "SURVIVES", []
        finally:
            path.write_text(original)

    def verdict(self, mutant: Mutant) -> str:
        """Try the instruction sets for which the change makes a difference, until it is noticed."""
        survived = []
        for isa in mutant.isas:
            self.prepare(isa)
            said, command = self.try_on(isa, mutant)
            if command:
                self.confirm(isa, command)
            if command or said == "no build":
                return said
            if said == "SURVIVES":
                survived.append(isa)
                if self.one_isa:
                    break
        return f"SURVIVES ({', '.join(survived)})" if survived else "no change"


def show(mutant: Mutant) -> str:
    before = (SOURCE / mutant.path).read_text().split("\n")[mutant.number].strip()
    return f"    {before}\n    {mutant.line.strip()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10, help="how many lines (default 10)")
    parser.add_argument("--skip", type=int, default=0, help="lines of this seed to leave out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one-isa", action="store_true", help="try no other set on a survivor")
    parser.add_argument("--list", action="store_true", help="only show what would be done")
    parser.add_argument("parts", nargs="*", metavar="PATH PART", help="only files with these parts")
    chosen = parser.parse_args()
    source = random.Random(chosen.seed)
    lines = mutants(chosen.parts)
    source.shuffle(lines)
    picked = [source.choice(of_line) for of_line in lines][chosen.skip :][: chosen.count]
    copy_tree()
    trial, counts = (
        Trial(one_isa=chosen.one_isa),
        dict.fromkeys(("listed", "caught", "SURVIVES", "no"), 0),
    )
    for mutant in picked:
        verdict = "listed" if chosen.list else trial.verdict(mutant)
        print(f"{mutant.path}:{mutant.number + 1}  {mutant.name}: {verdict}", flush=True)
        if not verdict.startswith("caught"):
            print(show(mutant), flush=True)
        counts[verdict.split()[0]] += 1
    print(
        f"{len(picked)} lines: {counts['caught']} caught, {counts['SURVIVES']} survive, "
        f"{counts['no']} make no difference or do not compile"
    )
    sys.exit(1 if counts["SURVIVES"] else 0)


if __name__ == "__main__":
    main()
