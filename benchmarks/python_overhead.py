# SPDX-License-Identifier: Apache-2.0
"""Times the smallest useful call of every NumPy function, with and without ``out=``.

    python benchmarks/python_overhead.py

What it shows is the fixed cost of a call: Python's own part, the checks of the C library, and next
to no work. The column "C" is that of the C call alone, through cffi.
"""

import sys
import timeit
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from python_calls import CALLS

import pymluops
from pymluops import Handle
from pymluops.capi import lib

ROUNDS, CALLS_PER_ROUND = 7, 4000


def microseconds(function) -> float:
    best = min(timeit.repeat(function, timer=process_time, number=CALLS_PER_ROUND, repeat=ROUNDS))
    return best / CALLS_PER_ROUND * 1e6


def c_call(call):
    """Return the C call that a NumPy function ends in, as a function without arguments."""
    recorded = []
    invoke = Handle.invoke

    def record(handle, function, arguments):
        recorded.append((getattr(lib, function), handle.cdata, *arguments))
        invoke(handle, function, arguments)

    Handle.invoke = record
    try:
        call()
    finally:
        Handle.invoke = invoke
    function, *arguments = recorded[-1]
    keep = CALLS, recorded  # the arrays behind the pointers
    return lambda: (function(*arguments), keep)


def main() -> None:
    print(f"{'function':<28}{'out= µs':>10}{'new µs':>10}{'C µs':>10}")
    with pymluops.threads(1):
        for name, call in CALLS.items():
            function, arguments = call.function, {**call.arrays, **call.numbers}
            new = microseconds(lambda f=function, a=arguments: f(**a))
            alone = microseconds(c_call(call))
            into = "-"
            if call.takes_out:
                out = call.new_outputs()
                into = f"{microseconds(lambda f=function, a=arguments, o=out: f(**a, out=o)):.2f}"
            print(f"{name:<28}{into:>10}{new:>10.2f}{alone:>10.2f}")


if __name__ == "__main__":
    main()
