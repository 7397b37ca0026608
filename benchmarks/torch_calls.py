# SPDX-License-Identifier: Apache-2.0
"""What PyTorch adds to a call of the C library.

    python benchmarks/torch_calls.py

Tensors so small that most of the time is not that of the operator. Microseconds of processor time;
"in C" is the time of the C functions alone, which the other columns include.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from torch_case import Case
from torch_families import FIRST_CASES

from pymluops import Handle
from pymluops.capi import lib

CHANNELS_LAST = torch.channels_last
ROUNDS = 25


def seconds(call: Callable[[], object]) -> float:
    """Least processor time of a call, over rounds of ten milliseconds."""
    for _ in range(3):
        call()
    start = time.process_time()
    call()
    repeats = max(1, int(0.01 / (time.process_time() - start)))
    samples = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(repeats):
            call()
        samples.append((time.process_time() - start) / repeats)
    return min(samples)


def seconds_in_c(call: Callable[[], object]) -> float:
    """Time of the C functions of a call, each called again while its tensors are there."""
    invoke, spent = Handle.invoke, []

    def measured(handle: Handle, function: str, arguments: Sequence[Any]) -> None:
        invoke(handle, function, arguments)
        given = (handle.cdata, *arguments)
        spent.append(seconds(lambda: getattr(lib, function)(*given)))

    Handle.invoke = measured  # type: ignore[method-assign]
    try:
        call()
    finally:
        Handle.invoke = invoke  # type: ignore[method-assign]
    return sum(spent)


def times(case: Case) -> list[float]:
    first, *others = case.arguments()
    first = first.to(memory_format=CHANNELS_LAST)
    leaf = first.clone().requires_grad_()

    def plain() -> object:
        return case.ours(first, *others)

    def training() -> object:
        return case.ours(leaf, *others)

    measured = [seconds(plain), seconds(training)]
    with torch.no_grad():
        measured.append(seconds(training))
    with torch.inference_mode():
        measured.append(seconds(plain))
    return [seconds_in_c(plain), *measured]


def print_overhead() -> None:
    torch.set_num_threads(1)
    print("a call with tiny tensors, in us")
    columns = ("first tensor", "in C", "forward", "for training", "no_grad", "inference_mode")
    print(f"{'':16}" + "".join(f"{column:>16}" for column in columns))
    for case in FIRST_CASES:
        size = " x ".join(map(str, case.arguments()[0].shape))
        print(f"{case.name:16}{size:>16}" + "".join(f"{t * 1e6:16.1f}" for t in times(case)))


if __name__ == "__main__":
    print_overhead()
