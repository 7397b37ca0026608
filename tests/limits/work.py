# SPDX-License-Identifier: Apache-2.0
"""How much work data can make: instructions of a call for each element of its tensors.

tests/<family>/limit_cases.py has calls, each with ordinary data and with the worst that was found.

python tests/limits/work.py            counts both, as a table (needs valgrind)
python tests/limits/work.py search     looks for worse data: changes that take more time are kept
"""

import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from families import family_files
from python_calls import CALLS

import pymluops

HOSTILE = [0, 0.5, -0.5, 1, -1, -1.01, 7.5, 15, 16, 16.01, 32, 100, -100, 1e4, -1e6, 1e10, 1e30]
HOSTILE = np.float32([*HOSTILE, -1e30, 3e38, np.inf, -np.inf, np.nan])


def cases():
    """Yield a name, a call with ordinary data, the worst data, and the instructions allowed."""
    for family, file in family_files("limit_cases"):
        for position, (example, worst, most) in enumerate(file.work(np.random.default_rng(1))):
            with np.errstate(all="ignore"):
                bad = {
                    name: np.broadcast_to(array, example.arrays[name].shape).astype(
                        example.arrays[name].dtype
                    )
                    for name, array in worst.items()
                }
            yield f"{family}-{position}-{example.function}", example, bad, most


def elements(example, results):
    return sum(array.size for array in (*example.arrays.values(), *results))


def run_all():
    """What valgrind looks at: every case with ordinary data, then with the worst."""
    handle = pymluops.Handle(num_threads=1)
    for _, example, worst, _ in cases():
        example(handle)  # what happens once: functions are found, memory is taken
        example(handle)
        example(handle, **worst)


def count():
    """Return for each case its name, the instructions of both calls for each element, the bound."""
    functions = sorted({call.c_function for call in CALLS.values()} | {"mluOpCpuConvertLayout"})
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        # One pattern for all: of several, valgrind takes the first one only.
        command += ["--collect-atstart=no", "--toggle-collect=mluOp*"]
        command += [f"--dump-after={function}" for function in functions]
        command += [sys.executable, __file__, "run"]
        subprocess.run(command, check=True, capture_output=True, timeout=900)
        dumps = sorted(Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        texts = [path.read_text() for path in dumps]
    counts = [int(re.search(r"^summary: (\d+)", text, re.M)[1]) for text in texts]
    counts = [n for n, text in zip(counts, texts, strict=True) if "Trigger: --dump-after" in text]
    handle = pymluops.Handle(num_threads=1)
    counted = []
    for name, example, _, most in cases():
        size = elements(example, example(handle))
        _, ordinary, worst = (counts.pop(0) / size for _ in range(3))
        counted.append((name, ordinary, worst, most))
    return counted


def search(rounds=300):
    """Change rows of the worst data by chance, as long as that takes more time."""
    rng, handle = np.random.default_rng(), pymluops.Handle(num_threads=1)
    for name, example, worst, _ in cases():
        at_first = best = _time(example, handle, worst, 9)
        for _ in range(rounds if worst else 0):
            argument = rng.choice(list(worst))
            changed = {**worst, argument: _changed(worst[argument], rng)}
            try:
                slower = _time(example, handle, changed, 2) > 1.05 * best
            except pymluops.BadParamError:
                continue
            taken = _time(example, handle, changed, 5) if slower else 0
            if taken > 1.03 * best:
                best, worst = taken, changed
        print(f"{name}: {best / at_first:.2f} times as long as the worst data so far")
        if best > 1.3 * at_first:
            print(worst)


def _time(example, handle, data, repeats):
    taken = []
    for _ in range(repeats):
        start = time.thread_time_ns()
        example(handle, **data)
        taken.append(time.thread_time_ns() - start)
    return min(taken)


def _changed(array, rng):
    array = array.copy()
    rows = array.reshape(-1, array.shape[-1])
    some = slice(None) if rng.random() < 0.5 else rng.integers(0, len(rows), len(rows) // 4 + 1)
    column = rng.integers(rows.shape[1])
    with np.errstate(all="ignore"):
        if rng.random() < 0.3:
            rows[some] = rows[rng.integers(len(rows))]
        elif rng.random() < 0.5:
            rows[some, column] = rng.choice(HOSTILE).astype(array.dtype)
        else:
            moved = rows[some, column] * rng.choice([0.5, 0.9, 1.1, 2]) + rng.choice([-1, -0.25, 1])
            rows[some, column] = moved.astype(array.dtype)
    return array


def table():
    print("| Case | Ordinary | Worst | Times |\n|---|---|---|---|")
    for name, ordinary, worst, _ in count():
        print(f"| {name} | {ordinary:.1f} | {worst:.1f} | {worst / ordinary:.1f} |")


if __name__ == "__main__":
    doing = {"run": run_all, "search": search, "table": table}[(sys.argv[1:] or ["table"])[0]]
    # Calls of another thread than the main one do not ask Python from time to time whether to end.
    thread = threading.Thread(target=doing)
    thread.start()
    thread.join()
