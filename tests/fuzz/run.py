# SPDX-License-Identifier: Apache-2.0
"""Build the fuzzers and run them.

python tests/fuzz/run.py                      each target for 20 s, with a random seed
python tests/fuzz/run.py --seed 1             the same inputs each time, as .ci/run does
python tests/fuzz/run.py --seconds 3600       each for an hour, one after the other
python tests/fuzz/run.py --target core --seconds 60 --isas native
python tests/fuzz/run.py --merge              what is worth keeping goes into the tree
python tests/fuzz/run.py --coverage           which lines, branches and rules the corpus reaches

A target is a folder of tests with a fuzz.c. It begins with the inputs of its fuzz_corpus.txt; what
a run finds new is kept in build/fuzz/corpus, and inputs are counted in build/fuzz/executions.json.
An input that breaks something is left in build/fuzz/findings: the program of its target, called
with that file, repeats it (FUZZ_VERBOSE=1 says which call it is).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/fuzz"
MOST_BYTES = 96
KEPT_BYTES = 20_000
"""Of the corpus of a target in the tree."""


def targets() -> list[str]:
    return sorted(path.parent.name for path in ROOT.glob("tests/*/fuzz.c"))


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=os.environ | {"PATH": here} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def must(*command: str | Path) -> str:
    done = run(*command)
    if done.returncode != 0:
        sys.exit(done.stdout[-8000:])
    return done.stdout


def run_fuzzer(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a fuzzer; the test cases that it captures are gone afterwards."""
    with tempfile.TemporaryDirectory() as cases:
        return run(*command, TMPDIR=cases, **environment)


def build(isas: str, jobs: int, wanted: list[str]) -> None:
    must("cmake", "--preset", "fuzz", f"-DMLUOP_ISAS={isas}")
    names = [f"fuzz_{target}" for target in wanted]
    must("cmake", "--build", "--preset", "fuzz", "--parallel", str(jobs), "--target", *names)


# ---------------------------------------------------------------------------------- the corpus


def kept_file(target: str) -> Path:
    return ROOT / "tests" / target / "fuzz_corpus.txt"


def unpacked(target: str) -> Path:
    """The folder of a target's inputs, with those of the tree among them."""
    folder = BUILD / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for line in kept_file(target).read_text().split() if kept_file(target).exists() else []:
        data = bytes.fromhex(line)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return folder


def merge(target: str) -> str:
    """Keep the fewest inputs that reach what all of them reach, and of these the shortest."""
    folder, smaller = unpacked(target), BUILD / "merged" / target
    shutil.rmtree(smaller, ignore_errors=True)
    smaller.mkdir(parents=True)
    done = run_fuzzer(program(target), "-merge=1", f"-max_len={MOST_BYTES}", smaller, folder)
    if done.returncode != 0:
        sys.exit(done.stdout[-8000:])
    inputs = sorted((p.read_bytes() for p in smaller.iterdir()), key=lambda i: (len(i), i))
    size, lines = 0, []
    for data in inputs:
        size += 2 * len(data) + 1
        if size <= KEPT_BYTES:
            lines.append(data.hex())
    kept_file(target).write_text("\n".join(lines) + "\n")
    return f"{target}: {len(lines)} of {len(inputs)} inputs, {min(size, KEPT_BYTES)} bytes"


# ------------------------------------------------------------------------------------ running


def program(target: str) -> Path:
    return BUILD / "tests/fuzz" / f"fuzz_{target}"


def count(target: str, executions: int) -> int:
    """Add to the executions of this target, and return those of all."""
    file = BUILD / "executions.json"
    counts = json.loads(file.read_text()) if file.exists() else {}
    counts[target] = counts.get(target, 0) + executions
    file.write_text(json.dumps(counts, indent=1))
    return sum(counts.values())


def fuzz(target: str, seconds: int, seed: int) -> str:
    """Fuzz a target; return what it found, in few lines, or nothing."""
    findings = BUILD / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    before = {*findings.iterdir()}
    done = run_fuzzer(
        program(target),
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={MOST_BYTES}",
        "-len_control=0",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={findings}/{target}-",
        unpacked(target),
        ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1",
    )
    stats = dict(re.findall(r"stat::(\w+): +(\d+)", done.stdout))
    executions = int(stats.get("number_of_executed_units", 0))
    covered = re.findall(r"cov: (\d+)", done.stdout)[-1:]
    computed = int(stats.get("computed", executions))
    total = count(target, executions)
    print(
        f"{target:16} {executions:10} inputs, {100 * computed // max(executions, 1):3} % computed, "
        f"{executions // max(seconds, 1):6} a second, {''.join(covered) or '?':>6} edges, "
        f"{total} inputs in total",
        flush=True,
    )
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines() if not re.match(r"#\d+\t|\tNEW_FUNC", line)]
    print(*lines, sep="\n")
    said = [
        line
        for line in lines
        if re.search(r"ERROR|SUMMARY|does not hold|expected|runtime error", line)
    ]
    inputs = [f"{made.name}: {made.read_bytes().hex()}" for made in {*findings.iterdir()} - before]
    return "\n".join([f"{target}, seed {seed}: exit status {done.returncode}", *said[:6], *inputs])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=20, help="for each target (20)")
    parser.add_argument("--rounds", type=int, default=1, help="so many times (1)")
    parser.add_argument("--seed", type=int, default=0, help="of the first round (0: random)")
    parser.add_argument("--target", nargs="+", choices=targets(), help="all of them")
    parser.add_argument("--isas", default="", help='to build, such as native or "avx2;baseline"')
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the compiler")
    parser.add_argument("--merge", action="store_true", help="corpus into the tree; no run")
    parser.add_argument("--coverage", action="store_true", help="of the corpus; no run")
    asked = parser.parse_args()
    wanted = asked.target or targets()
    if asked.coverage:
        sys.path.insert(0, str(Path(__file__).parent))
        import coverage_report

        coverage_report.report(wanted, asked.jobs, asked.isas.replace(";", " ").split())
        return
    build(asked.isas, asked.jobs, wanted)
    if asked.merge:
        for target in wanted:
            print(merge(target), flush=True)
        return
    seeds = [asked.seed and asked.seed + number for number in range(asked.rounds)]
    found = [fuzz(target, asked.seconds, seed) for seed in seeds for target in wanted]
    print(f"{found.count('')} of {len(found)} checks passed")
    sys.exit("\n".join(filter(None, found)) or 0)


if __name__ == "__main__":
    main()
