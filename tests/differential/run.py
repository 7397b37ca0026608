# SPDX-License-Identifier: Apache-2.0
"""Make random calls with the library and compare status and blamed argument with the naive order.

python tests/differential/run.py                      2,000 calls of every function
python tests/differential/run.py --calls 1000000      as many as you have time for
python tests/differential/run.py FUNCTION             of one of them
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from base_calls import Base, bases
from families import family_file
from random_calls import Caller, Difference


def differences(base: Base, calls: int, seed: int) -> tuple[list[Difference], Caller]:
    order = family_file(base.family, "check_order").ORDER[base.function]
    with Caller(base, order, seed) as caller:
        return caller.run(calls), caller


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", help="all functions if none is named")
    parser.add_argument("--calls", type=int, default=2000, help="of each function")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}\n\n| Function | Calls | Outcomes | Differences | Seconds |")
    print("|---|---|---|---|---|")
    bad = 0
    for base in bases():
        if arguments.functions and base.function not in arguments.functions:
            continue
        start = time.process_time()
        found, caller = differences(base, arguments.calls, arguments.seed)
        seconds = time.process_time() - start
        made, outcomes = caller.counts.total(), len(caller.counts)
        print(f"| {base.function} | {made} | {outcomes} | {len(found)} | {seconds:.1f} |")
        for difference in found:
            print(difference)
        bad += len(found)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
