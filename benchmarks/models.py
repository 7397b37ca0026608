# SPDX-License-Identifier: Apache-2.0
"""Whole models of mmdet and mmseg: seconds of one processor per image and per training step.

    build/ci/models/bin/python benchmarks/models.py [--size HEIGHT WIDTH] [--rounds N] [MODEL ...]

Each with plain torch in the place of mmcv's operators, and with ours: in contiguous memory and in
channels_last. `.ci/run models` makes the environment. Models are as shipped, with random weights; a
step is one of one image, of two for mmseg. One thread, and the time of its processor: what else the
machine does matters little. With --operators: milliseconds that pass in each of our operators, in
contiguous memory, and in the whole model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "models")]
import zoo  # noqa: E402

COLUMNS = (("stand-ins", "contiguous"), ("ours", "contiguous"), ("ours", "channels_last"))


def seconds(call: Callable[[], object], rounds: int) -> float:
    """Median time of a call, after one that warms up."""
    call()
    samples = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        samples.append(time.process_time() - start)
    return statistics.median(samples)


def in_operators(call: Callable[[], object], rounds: int) -> str:
    """Least times of our operators in a call, after one that warms up, and that of the call."""
    from torch.profiler import ProfilerActivity, profile

    call()
    best: dict[str, float] = {}
    for _ in range(rounds):
        start = time.perf_counter()
        with profile(activities=[ProfilerActivity.CPU]) as profiled:
            call()
        times = {"all": 1e3 * (time.perf_counter() - start)}
        for event in profiled.key_averages():
            if event.key.startswith("pymluops::"):
                times[event.key.removeprefix("pymluops::")] = event.cpu_time_total / 1e3
        best = {key: min(value, best.get(key, value)) for key, value in times.items()}
    return ", ".join(f"{key} {value:.3g}" for key, value in best.items())


def measure(
    name: str, operators: str, layout: str, rounds: int, threads: int = 0
) -> tuple[float | str, float | str]:
    """Return the seconds of a prediction and of a training step, in this process.

    With a number of threads: what `in_operators` says of them.
    """
    warnings.simplefilter("ignore")
    if operators == "ours":
        import pymluops.torch.mmcv_on_cpu  # noqa: F401
    else:
        import stand_ins

        stand_ins.install()
    import torch

    torch.set_num_threads(threads or 1)
    zoo.MOST_BOXES, zoo.SAMPLES = 1000, 512
    model = zoo.build(name)
    if layout == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

    def step() -> None:
        optimizer.zero_grad()
        zoo.losses(model, name, 2 if zoo.MODELS[name].package == "mmseg" else 1).backward()
        optimizer.step()

    clock = in_operators if threads else seconds
    return clock(lambda: zoo.predict(model, name), rounds), clock(step, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs=2, default=(192, 256))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--operators", type=int, metavar="THREADS")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(zoo.MODELS))
    arguments = parser.parse_args()
    size = tuple(arguments.size)
    zoo.SIZES = {"mmseg": size, "mmdet": size}
    if arguments.alone:
        print(json.dumps(measure(arguments.models[0], *arguments.alone, arguments.rounds)))
        return
    if arguments.operators:
        for name in arguments.models or zoo.MODELS:
            told = measure(name, *COLUMNS[1], arguments.rounds, arguments.operators)
            print(f"{name}\n  image: {told[0]}\n  step: {told[1]}", flush=True)
        return
    print("| model | plain torch | ours | ours, channels_last |\n|---|---|---|---|")
    for name in arguments.models or zoo.MODELS:
        cells = []
        for column in COLUMNS:
            options = ["--size", *size, "--rounds", arguments.rounds, "--alone", *column, name]
            command = [sys.executable, __file__, *map(str, options)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            image, step = json.loads(done.stdout.splitlines()[-1])
            cells.append(f"{image:.2f} and {step:.2f} s")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
