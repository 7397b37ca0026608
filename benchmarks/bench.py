# SPDX-License-Identifier: Apache-2.0
"""For developers: times builds and ways of the library beside each other, in one run.

    python benchmarks/bench.py --library old.so --library new.so    two builds in one run
    python benchmarks/bench.py --only forward               names that contain a text
    python benchmarks/bench.py --isa avx512,avx2 --threads 1,2 --dtype float32,float16
    python benchmarks/bench.py --cache ,500000000           as with another last-level cache
    python benchmarks/bench.py --kernel ,thing_backward=general       ways taken by name
    python benchmarks/bench.py --group sweep                the sweeps instead of sizes of networks

Columns of one case are timed in turn, round by round, so that noise hits all of them alike; ratios
are to the first column. The cases are those of the families (bench.py in their folders).
"""

from __future__ import annotations

import argparse
import itertools
import re
from contextlib import ExitStack, closing
from pathlib import Path

import cffi
import numpy as np

from pymluops.bench._call import Call, Library
from pymluops.bench._case import Case, all_cases
from pymluops.bench._timing import Effort, measure

ROOT = Path(__file__).resolve().parents[1]


def declarations() -> str:
    """The C declarations of the public headers, as cffi reads them."""
    text = "typedef struct cnrtQueue *cnrtQueue_t;\n"
    for header in ("mlu_op.h", "mlu_op_cpu.h"):
        source = (ROOT / "include" / header).read_text()
        text += source.split("/* cdef begin", 1)[1].split("*/", 1)[1].split("/* cdef end", 1)[0]
    return re.sub(r"\bMLUOP_WIN_API\b", "", text)


def loaded(path: str) -> Library:
    """A build of the library, loaded from a path."""
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return Library(ffi, ffi.dlopen(path))


def describe(case: Case, dtype: str, name: str, seconds: float, base: float) -> str:
    size = np.dtype(dtype).itemsize / 4
    gigabytes = (case.read + case.written) * size / 1e9
    return (
        f"{case.name:44s} {name:28s} {seconds * 1e3:10.4f} ms {gigabytes / seconds:8.1f} GB/s "
        f"{case.flops / 1e9 / seconds:8.1f} GFLOP/s {base / seconds:6.2f}x"
    )


def selected(only: str, groups: str) -> list[Case]:
    wanted, known = only.split(","), groups.split(",")
    return [c for c in all_cases() if c.group in known and any(w in c.name for w in wanted)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--group", default="networks,more")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--isa", default="")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--cache", default="")
    parser.add_argument("--kernel", default="")
    parser.add_argument(
        "--library", action="append", help="a libmluops.so (default: the package's)"
    )
    parser.add_argument("--rounds", type=int, default=Effort.rounds)
    options = parser.parse_args()
    libraries = [loaded(path) for path in options.library] if options.library else [Library()]
    threads = [int(n) for n in options.threads.split(",")]
    for case in selected(options.only, options.group):
        for dtype in (d for d in options.dtype.split(",") if np.dtype(d) in case.dtypes):
            arguments = case.make(np.dtype(dtype))
            with ExitStack() as stack:
                columns = {}
                for (i, library), isa, count, cache, kernel in itertools.product(
                    enumerate(libraries),
                    options.isa.split(","),
                    threads,
                    options.cache.split(","),
                    options.kernel.split(","),
                ):
                    settings = {"MLUOP_CPU_CACHE_BYTES": cache, "MLUOP_CPU_KERNEL": kernel}
                    handle = stack.enter_context(library.handle(isa, count, **settings))
                    label = f"{dtype} {isa or 'best'} t{count or '*'} lib{i} {cache} {kernel}"
                    call = Call(library, handle, case.api, arguments)
                    columns[label] = stack.enter_context(closing(call))
                times = measure(columns, Effort(rounds=options.rounds))
            base = next(iter(times.values())).median
            for name, found in times.items():
                print(describe(case, dtype, name, found.median, base), flush=True)


if __name__ == "__main__":
    main()
