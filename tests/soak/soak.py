# SPDX-License-Identifier: Apache-2.0
"""Calls every NumPy function from many threads of several processes, for as long as one likes.

    python tests/soak/soak.py --minutes 30 --processes 4 --threads 8

Each result is compared by its hash with the first one, of one thread. Handles and descriptors are
made and dropped meanwhile, some calls fail, some are large. After a tenth of the time, memory and
files may grow no more, and threads not beyond what handles may use. tests/c/test_soak.c does so
in C.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
from python_calls import CALLS, as_tuple

import pymluops

# What a process may grow by, whatever it does: memory that malloc keeps for threads.
GROWTH = 16 << 20
# The threads that a handle may use; OpenMP keeps them for the thread that calls.
TEAM = 3
LARGE = np.arange(1 << 18, dtype=np.float32).reshape(1, 64, 64, 64)


def to_nhwc(**settings: Any) -> np.ndarray:
    return pymluops.to_nhwc(LARGE, **settings)


FUNCTIONS = {**CALLS, "to_nhwc, large": to_nhwc}


def hash_of(results: Any) -> str:
    digest = hashlib.blake2b()
    for array in as_tuple(results):
        digest.update(str((array.shape, array.dtype)).encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def process_state() -> dict[str, int]:
    process = Path("/proc/self")
    resident = int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    files, threads = (len(list((process / name).iterdir())) for name in ("fd", "task"))
    return {"memory": resident, "files": files, "threads": threads}


class Soak:
    """What the threads of a process share."""

    def __init__(self, seconds: float) -> None:
        with pymluops.threads(1):
            self.expected = {name: hash_of(call()) for name, call in FUNCTIONS.items()}
        self.end = time.monotonic() + seconds
        self.calls: list[int] = []
        self.wrong: list[str] = []

    def one_call(self, chance: random.Random, handle: pymluops.Handle) -> None:
        name = chance.choice(list(FUNCTIONS))
        call = FUNCTIONS[name]
        settings: dict[str, Any] = {}
        kind = chance.randrange(20)
        if kind < 10:
            settings["handle"] = handle
        if kind == 0:
            handle.num_threads = chance.randint(1, TEAM)
        if name in CALLS and CALLS[name].takes_out and kind % 2:
            settings["out"] = CALLS[name].new_outputs()
        if kind == 1:
            pymluops.TensorDescriptor.from_array(LARGE, "NCHW")
        if kind == 2:
            try:
                pymluops.set_num_threads(-1)
                self.wrong.append("no error")
            except pymluops.BadParamError:
                pass
        if hash_of(call(**settings)) != self.expected[name]:
            self.wrong.append(name)

    def run(self, seed: int) -> None:
        chance, count = random.Random(seed), 0
        try:
            while time.monotonic() < self.end:
                with pymluops.Handle(num_threads=chance.randint(1, TEAM)) as handle:
                    for _ in range(50):
                        self.one_call(chance, handle)
                        count += 1
        except BaseException as error:
            self.wrong.append(repr(error))
            raise
        finally:
            self.calls.append(count)


def work(seconds: float, threads: int, seed: int) -> None:
    """Be one of the processes; print what has been found."""
    soak = Soak(seconds)
    most_threads = process_state()["threads"] + threads * TEAM
    workers = [threading.Thread(target=soak.run, args=(seed + i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 10)
    before = process_state()
    time.sleep(seconds * 0.8)
    after = process_state()
    for worker in workers:
        worker.join()
    found = {"calls": sum(soak.calls), "wrong": soak.wrong, "before": before, "after": after}
    print(json.dumps(found | {"most threads": most_threads}))


def problems(found: dict[str, Any]) -> list[str]:
    before, after = found["before"], found["after"]
    limits = {
        "memory": before["memory"] + GROWTH,
        "files": before["files"],
        "threads": found["most threads"],
    }
    said = [
        f"{name} grew from {before[name]} to {after[name]}"
        for name, limit in limits.items()
        if after[name] > limit
    ]
    return [*found["wrong"], *said]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=0.1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--seed", type=int, default=None, help="of one process, which this one is")
    options = parser.parse_args()
    seconds = options.minutes * 60
    if options.seed is not None:
        work(seconds, options.threads, options.seed)
        return 0
    started = [
        subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--seed", str(number * options.threads)],
            stdout=subprocess.PIPE,
            env=os.environ | {"OMP_NUM_THREADS": str(TEAM)},
            text=True,
        )
        for number in range(options.processes)
    ]
    failed = 0
    for number, process in enumerate(started):
        output, _ = process.communicate(timeout=seconds + 120)
        if process.returncode != 0:
            print(f"process {number}: exit status {process.returncode}")
            failed += 1
            continue
        found = json.loads(output)
        said = problems(found)
        failed += bool(said)
        before, after = found["before"], found["after"]
        grown = ", ".join(f"{name} {before[name]} -> {after[name]}" for name in before)
        print(f"process {number}: {found['calls']} calls, {len(found['wrong'])} wrong; {grown}")
        for line in said:
            print(f"  {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
