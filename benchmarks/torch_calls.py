# SPDX-License-Identifier: Apache-2.0
"""What PyTorch adds to a call of the C library, and what memory formats cost.

    python benchmarks/torch_calls.py

First the overhead: tensors so small that the C function takes next to no time, in microseconds.
Then CARAFE at the size of a feature pyramid, in milliseconds: channels_last, contiguous, and the
stock operations that do the same.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import pymluops.torch as ours

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import torch_reference

CHANNELS_LAST = torch.channels_last
ROUNDS = 9


def seconds(call: Callable[[], object], batch: float) -> float:
    """Median time of a call, over rounds of `batch` seconds."""
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    repeats = max(1, int(batch / (time.perf_counter() - start)))
    samples = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        samples.append((time.perf_counter() - start) / repeats)
    return statistics.median(samples)


def small(*shape: int) -> torch.Tensor:
    return torch.randn(shape).to(memory_format=CHANNELS_LAST)


def small_calls() -> dict[str, tuple[Callable[..., torch.Tensor], tuple[object, ...]]]:
    boxes = torch.tensor([0.0, 0, 1, 1]).expand(1, 4, 4).contiguous()
    rois = torch.tensor([[0.0, 0, 0, 1, 1]])
    mask = torch.tensor([[[1.0, 0], [0, 0]]])
    return {
        "carafe": (ours.carafe, (small(1, 2, 2, 2), small(1, 1, 2, 2), 1, 1, 1)),
        "psa_mask": (ours.psa_mask, (small(1, 3, 2, 2), 0, (1, 3))),
        "border_align": (ours.border_align, (small(1, 8, 2, 2), boxes, 1)),
        "deform_roi_pool": (ours.deform_roi_pool, (small(1, 2, 2, 2), rois, None, 1, 1.0, 1)),
        "masked_conv2d": (
            ours.masked_conv2d,
            (torch.randn(1, 2, 2, 2), mask, torch.randn(2, 2, 1, 1), torch.randn(2)),
        ),
    }


def print_overhead() -> None:
    torch.set_num_threads(1)
    print("a call with tiny tensors, C included, in us")
    print(f"{'':16}{'forward':>10}{'for training':>14}")
    for name, (function, (first, *others)) in small_calls().items():
        leaf = first.clone().requires_grad_()
        plain = seconds(lambda f=function, x=first, a=others: f(x, *a), 0.01)
        recorded = seconds(lambda f=function, x=leaf, a=others: f(x, *a), 0.01)
        print(f"{name:16}{plain * 1e6:10.1f}{recorded * 1e6:14.1f}")


def print_formats(channels: int, size: int) -> None:
    features, masks = torch.randn(1, channels, size, size), torch.rand(1, 25, 2 * size, 2 * size)
    last = [x.contiguous(memory_format=CHANNELS_LAST) for x in (features, masks)]
    calls = {
        "channels_last": lambda: ours.carafe(*last, 5, 1, 2),
        "contiguous": lambda: ours.carafe(features, masks, 5, 1, 2),
        "stock operations": lambda: torch_reference.carafe(features, masks, 5, 1, 2),
    }
    print(f"carafe of {channels} x {size} x {size} (k5 s2), {torch.get_num_threads()} threads, ms")
    for name, call in calls.items():
        print(f"{name:16}{seconds(call, 0.05) * 1e3:10.2f}")


if __name__ == "__main__":
    threads = torch.get_num_threads()
    print_overhead()
    torch.set_num_threads(threads)
    print_formats(256, 32)
    print_formats(256, 64)
