# SPDX-License-Identifier: Apache-2.0
"""Break lines of the kernels, chosen at random, and show which of these changes no test notices.

Usage: python tests/mutation/kernels.py [--count N] [--skip N] [--seed N] [--list] [PATH PART ...]

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
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from changes import changes, code_of

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutation_kernels"
SOURCE = WORK / "source"
LOG = WORK / "last.log"
COPIED = ("c_src", "include", "tests", "benchmarks", "CMakeLists.txt", "pyproject.toml")
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
BUILD_LIMIT, LEAST_LIMIT = 900, 120  # seconds


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
        return parts[2] if parts[1] == "families" else ""

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
    found.append(ROOT / "c_src/core/half.h")
    for family in families():
        folder = ROOT / "c_src/families" / family
        listed = re.search(r"set\(kernels\s+([^)]*)\)", (folder / "family.cmake").read_text())
        assert listed is not None
        found += [folder / name for name in listed[1].split()]
        found += folder.glob("*.h")
    skipped = ("plain.h", "kernels.h", "ahead.h")  # the last only prefetch
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
    for top in COPIED:
        here = ROOT / top
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


def must(command: list[str], limit: float, environment: dict[str, str] | None = None) -> None:
    if run(command, limit, environment) != 0:
        sys.exit(f"{' '.join(command)} fails without any mutant\n{LOG.read_text()[-3000:]}")


def build(isa: str) -> bool:
    """Build the library and the C tests that are used here; False if it does not compile."""
    targets = ["mluops", "test_values", *VECTOR_TESTS]
    return run(["cmake", "--build", str(WORK / isa), "--target", *targets], BUILD_LIMIT) == 0


def configure(isa: str) -> None:
    # Quick to compile, and no slower to run than what the tests are written for.
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1", f"-DMLUOP_ISAS={isa}"]
    options += ["-DMLUOP_BUILD_TESTS=ON", "-G", "Ninja"]
    must(["cmake", "-S", str(SOURCE), "-B", str(WORK / isa), *options], BUILD_LIMIT)


def code_bytes(isa: str) -> str:
    """Return a digest of the library and of the tests that have operations compiled into them."""
    digest = hashlib.sha256((WORK / isa / "libmluops.so").read_bytes())
    for name in VECTOR_TESTS:
        digest.update((WORK / isa / "tests/c" / name).read_bytes())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------ tests


def commands(isa: str, family: str) -> list[list[str]]:
    """Return the tests to run, the quick ones first. Without a family they are those of all."""
    programs = ["test_values"] if family else [*VECTOR_TESTS, "test_values"]
    found = [[str(WORK / isa / "tests/c" / name)] for name in programs]
    python = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    for name in [family] if family else families():
        found.append([*python, f"tests/{name}"])
    return found


class Tests:
    """The tests of an instruction set and family, which pass on the library as it is."""

    def __init__(self) -> None:
        self.limits: dict[tuple[str, str], list[float]] = {}

    def know(self, isa: str, family: str) -> bool:
        return (isa, family) in self.limits

    def environment(self, isa: str) -> dict[str, str]:
        return {"LD_LIBRARY_PATH": str(WORK / isa), "OMP_WAIT_POLICY": "passive"}

    def prepare(self, isa: str, family: str) -> None:
        """Run them once without a mutant, to know that they pass and how long they take."""
        environment = self.environment(isa)
        used = f"import pymluops; assert pymluops.supported_isas() == ({isa!r},)"
        must([sys.executable, "-c", used], LEAST_LIMIT, environment)
        limits = []
        for command in commands(isa, family):
            begin = time.monotonic()
            must(command, BUILD_LIMIT, environment)
            limits.append(max(LEAST_LIMIT, 5 * (time.monotonic() - begin)))
        self.limits[isa, family] = limits

    def notice(self, isa: str, family: str) -> str:
        """Return which test fails, or nothing."""
        for command, limit in zip(commands(isa, family), self.limits[isa, family], strict=True):
            status = run(command, limit, self.environment(isa))
            if status is None:
                return f"{Path(command[-1]).name} hangs"
            if status != 0:
                failed = re.findall(r"^FAILED ([^ \n]+)", LOG.read_text(errors="replace"), re.M)
                crash = " crashes" if status < 0 else ""
                return " ".join([Path(command[-1]).name + crash, *failed[:1]])
        return ""


class Trial:
    """Builds and tests mutants; the copy is always as it was afterwards."""

    def __init__(self) -> None:
        self.clean: dict[str, str] = {}
        self.tests = Tests()

    def prepare(self, isa: str, family: str) -> None:
        """Build what is not changed, where that is needed to compare with."""
        if isa not in self.clean:
            configure(isa)
        if not self.tests.know(isa, family):
            if not build(isa):
                sys.exit(LOG.read_text())
            self.clean[isa] = code_bytes(isa)
            self.tests.prepare(isa, family)

    def verdict(self, mutant: Mutant) -> str:
        """Try the instruction sets for which the change makes a difference, until it is noticed."""
        path = SOURCE / mutant.path
        original = path.read_text()
        lines = original.split("\n")
        lines[mutant.number] = mutant.line
        survived = []
        for isa in mutant.isas:
            self.prepare(isa, mutant.family)
            path.write_text("\n".join(lines))
            try:
                if not build(isa):
                    return "no build"
                if code_bytes(isa) == self.clean[isa]:
                    continue
                if noticed := self.tests.notice(isa, mutant.family):
                    return f"caught ({isa}, {noticed})"
                survived.append(isa)
            finally:
                path.write_text(original)
        return f"SURVIVES ({', '.join(survived)})" if survived else "no change"


def show(mutant: Mutant) -> str:
    before = (SOURCE / mutant.path).read_text().split("\n")[mutant.number].strip()
    return f"    {before}\n    {mutant.line.strip()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10, help="how many lines (default 10)")
    parser.add_argument("--skip", type=int, default=0, help="lines of this seed to leave out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="only show what would be done")
    parser.add_argument("parts", nargs="*", metavar="PATH PART", help="only files with these parts")
    chosen = parser.parse_args()
    source = random.Random(chosen.seed)
    lines = mutants(chosen.parts)
    source.shuffle(lines)
    picked = [source.choice(of_line) for of_line in lines][chosen.skip :][: chosen.count]
    copy_tree()
    trial, counts = Trial(), dict.fromkeys(("listed", "caught", "SURVIVES", "no"), 0)
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
