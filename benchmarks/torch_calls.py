# SPDX-License-Identifier: Apache-2.0
"""What PyTorch adds to a call of the C library.

    python benchmarks/torch_calls.py

Tensors so small that the C function takes next to no time, in microseconds.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from torch_families import FIRST_CASES

CHANNELS_LAST = torch.channels_last
ROUNDS = 9


def seconds(call: Callable[[], object], batch: float) -> float:
    """Median processor time of a call, over rounds of `batch` seconds."""
    for _ in range(3):
        call()
    start = time.process_time()
    call()
    repeats = max(1, int(batch / (time.process_time() - start)))
    samples = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            call()
        samples.append((time.process_time() - start) / repeats)
    return statistics.median(samples)


def print_overhead() -> None:
    torch.set_num_threads(1)
    print("a call with tiny tensors, C included, in us")
    print(f"{'':16}{'forward':>10}{'for training':>14}")
    for case in FIRST_CASES:
        function, (first, *others) = case.ours, case.arguments()
        first = first.to(memory_format=CHANNELS_LAST)
        leaf = first.clone().requires_grad_()
        plain = seconds(lambda f=function, x=first, a=others: f(x, *a), 0.01)
        recorded = seconds(lambda f=function, x=leaf, a=others: f(x, *a), 0.01)
        print(f"{case.name:16}{plain * 1e6:10.1f}{recorded * 1e6:14.1f}")


if __name__ == "__main__":
    print_overhead()
