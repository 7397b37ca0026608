# SPDX-License-Identifier: Apache-2.0
"""What the inputs of the fuzzers reach: lines and branches for each instruction set, and rules.

Called by run.py. The library is built once for each instruction set, by Clang without sanitizers,
and every input is run once.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import defaultdict
from pathlib import Path

from run import ROOT, must, run_fuzzer, unpacked

FLAGS = "-O1 -fprofile-instr-generate -fcoverage-mapping"
LLVM = "/usr/lib/llvm-14/bin"


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=LLVM)
    if found is None:
        sys.exit(f"missing here: {name} (apt-get install llvm)")
    return found


def supported() -> list[str]:
    """The instruction sets of this computer, best first."""
    cpus = Path("/proc/cpuinfo")
    flags = cpus.read_text() if cpus.exists() else ""
    found = [name for name in ("avx512", "avx2") if name.replace("512", "512f") in flags]
    return [*found, "baseline"] if os.uname().machine == "x86_64" else ["neon"]


def measure(isa: str, targets: list[str], jobs: int) -> tuple[dict, Path]:
    """Lines and branches of each file, and the file with what was said about rules."""
    folder = ROOT / "build/fuzz-coverage" / isa
    must(
        *("cmake", "--preset", "fuzz", "-B", folder, "-DCMAKE_BUILD_TYPE=Debug"),
        *(f"-DMLUOP_ISAS={isa}", "-DMLUOP_SANITIZE=", f"-DCMAKE_C_FLAGS={FLAGS}"),
    )
    names = [f"fuzz_{target}" for target in targets]
    must("cmake", "--build", folder, "--parallel", str(jobs), "--target", *names)
    rules = folder / "rules.txt"
    rules.unlink(missing_ok=True)
    programs = [folder / "tests/fuzz" / name for name in names]
    for target, program in zip(targets, programs, strict=True):
        profile = f"{folder}/{target}.profraw"
        done = run_fuzzer(
            *(program, "-runs=0", unpacked(target)),
            LLVM_PROFILE_FILE=profile,
            FUZZ_RULES=str(rules),
        )
        if done.returncode != 0:
            sys.exit(done.stdout[-8000:])
    merged = folder / "all.profdata"
    must(tool("llvm-profdata"), "merge", "-o", merged, *folder.glob("*.profraw"))
    objects = [part for program in programs[1:] for part in ("-object", program)]
    told = must(
        *(tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}"),
        *(programs[0], *objects),
    )
    return json.loads(told[told.index("{") :]), rules


def parts_of(summary: dict) -> dict[str, list[int]]:
    """For each folder of c_src: lines, those reached, branches, those reached."""
    parts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for file in summary["data"][0]["files"]:
        path = Path(file["filename"])
        inside = path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else path.parts
        if "c_src" not in inside:
            continue
        at = inside.index("c_src") + 1
        name = inside[at + 1] if inside[at] in ("families", "shared") else inside[at]
        name = "shared" if name.endswith(".h") else name
        for i, kind in ((0, "lines"), (2, "branches")):
            parts[name][i] += file["summary"][kind]["count"]
            parts[name][i + 1] += file["summary"][kind]["covered"]
    return parts


def rules_failed(file: Path) -> tuple[int, int, list[str]]:
    """How many rows of the rule tables there are, and how many have refused a call."""
    rows: dict[tuple[str, ...], int] = defaultdict(int)
    for line in file.read_text().splitlines():
        *row, failed = line.split()
        rows[tuple(row)] += int(failed)
    missing = [" ".join(row) for row, failed in sorted(rows.items()) if failed == 0]
    return len(rows), len(rows) - len(missing), missing


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def report(targets: list[str], jobs: int, isas: list[str]) -> None:
    isas = isas or supported()
    measured = {isa: measure(isa, targets, jobs) for isa in isas}
    parts = {isa: parts_of(summary) for isa, (summary, _) in measured.items()}
    print("| | " + " | ".join(f"{isa}: lines, branches" for isa in isas) + " |")
    print("|---|" + "---|" * len(isas))
    for name in sorted(parts[isas[0]]):
        cells = []
        for isa in isas:
            lines, reached, branches, taken = parts[isa].get(name, [0, 0, 0, 0])
            cells.append(f"{percent(reached, lines)}, {percent(taken, branches)}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    rows, failed, missing = rules_failed(measured[isas[0]][1])
    print(f"\n{failed} of {rows} rows of the rule tables have refused a call")
    for row in missing:
        print(f"  never: {row}")
