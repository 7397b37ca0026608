# SPDX-License-Identifier: Apache-2.0
"""Times the operators through the C API, interleaved, and prints medians.

    python benchmarks/bench.py                              the table of every operator
    python benchmarks/bench.py --only forward               names that contain a text
    python benchmarks/bench.py --isa avx512,avx2 --threads 1,2 --dtype float32,float16
    python benchmarks/bench.py --library old.so --library new.so    two builds in one run
    python benchmarks/bench.py --cache ,500000000           as with another last-level cache
    python benchmarks/bench.py --kernel ,thing_backward=general       ways taken by name
    python benchmarks/bench.py --group sweep                the sweeps instead of the table

Columns of one case are timed in turn, round by round, so that noise hits all of them alike; ratios
are to the first column. Before each sample other memory is read and the call made once, as if it
came after other work: tensors larger than the caches would otherwise be found there in part, more
so after each call.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import statistics
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import Call, Case, Library

ROUNDS = 9
BATCH_SECONDS = 0.01
OTHER_BYTES = 128 << 20


def all_cases(only: str, group: str) -> list[Case]:
    """The cases of every file in benchmarks/cases."""
    found: list[Case] = []
    for path in sorted((Path(__file__).parent / "cases").glob("[a-z]*.py")):
        found += importlib.import_module(f"cases.{path.stem}").CASES
    wanted = only.split(",")
    return [c for c in found if c.group == group and any(w in c.name for w in wanted)]


def seconds_per_call(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def measure(columns: dict[str, Call], rounds: int) -> dict[str, float]:
    """Median seconds of each column."""
    other_memory = np.ones(OTHER_BYTES, np.uint8)
    repeats = {}
    for name, call in columns.items():
        call()
        repeats[name] = max(1, int(BATCH_SECONDS / seconds_per_call(call, 1)))
    samples: dict[str, list[float]] = {name: [] for name in columns}
    names = list(columns)
    for round_number in range(rounds):
        shift = round_number % len(names)
        for name in names[shift:] + names[:shift]:
            other_memory.max()
            columns[name]()
            samples[name].append(seconds_per_call(columns[name], repeats[name]))
    return {name: statistics.median(values) for name, values in samples.items()}


def describe(case: Case, dtype: str, name: str, seconds: float, base: float) -> str:
    size = np.dtype(dtype).itemsize / 4
    gigabytes = (case.read + case.written) * size / 1e9
    return (
        f"{case.name:44s} {name:28s} {seconds * 1e3:10.4f} ms {gigabytes / seconds:8.1f} GB/s "
        f"{case.flops / 1e9 / seconds:8.1f} GFLOP/s {base / seconds:6.2f}x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--group", default="table")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--isa", default="")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--cache", default="")
    parser.add_argument("--kernel", default="")
    parser.add_argument("--library", action="append")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    paths = options.library
    if not paths:
        import pymluops

        paths = [str(pymluops.library_path())]
    libraries = [Library(path) for path in paths]
    threads = [int(n) for n in options.threads.split(",")]
    for case in all_cases(options.only, options.group):
        for dtype in (d for d in options.dtype.split(",") if d in case.dtypes):
            arguments = case.make(np.dtype(dtype))
            with ExitStack() as stack:
                columns = {}
                for (i, library), *settings in itertools.product(
                    enumerate(libraries),
                    options.isa.split(","),
                    threads,
                    options.cache.split(","),
                    options.kernel.split(","),
                ):
                    handle = stack.enter_context(library.handle(*settings))
                    isa, count, cache, kernel = settings
                    label = f"{dtype} {isa or 'best'} t{count or '*'} lib{i} {cache} {kernel}"
                    call = Call(library, handle, case.api, arguments)
                    columns[label] = stack.enter_context(closing(call))
                result = measure(columns, options.rounds)
            base = next(iter(result.values()))
            for name, seconds in result.items():
                print(describe(case, dtype, name, seconds, base), flush=True)


if __name__ == "__main__":
    main()
