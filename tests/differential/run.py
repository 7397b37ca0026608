# SPDX-License-Identifier: Apache-2.0
"""Make random calls with the library and compare status and blamed argument with the naive order.

python tests/differential/run.py                      2,000 calls of every function
python tests/differential/run.py --calls 1000000      as many as you have time for
python tests/differential/run.py FUNCTION             of one of them
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from base_calls import bases
from families import family_file
from random_calls import Caller
from random_sets import Setter, setters


def callers(asked: list[str], seed: int) -> Iterator[tuple[str, Caller | Setter]]:
    """Yield each function that is asked for, or all, and what makes calls of it."""
    for base in bases():
        if not asked or base.function in asked:
            order = family_file(base.family, "check_order").ORDER[base.function]
            yield base.function, Caller(base, order, seed)
    for function, kind, base in setters():
        if not asked or function in asked:
            yield function, Setter(function, kind, base, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="all functions if none is named")
    parser.add_argument("--calls", type=int, default=2000, help="of each function")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}\n\n| Function | Calls | Outcomes | Differences | Seconds |")
    print("|---|---|---|---|---|")
    bad = 0
    for function, caller in callers(arguments.functions, arguments.seed):
        start = time.process_time()
        with caller:
            found = caller.run(arguments.calls)
        seconds = time.process_time() - start
        made, outcomes = caller.counts.total(), len(caller.counts)
        print(f"| {function} | {made} | {outcomes} | {len(found)} | {seconds:.1f} |")
        for difference in found:
            print(difference)
        bad += len(found)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
