# SPDX-License-Identifier: Apache-2.0
"""What memory formats cost in PyTorch: CARAFE at the size of a feature pyramid, on one thread.

    python benchmarks/carafe_formats.py

channels_last, contiguous, and the stock operations that do the same, in milliseconds.
"""

import sys
from pathlib import Path

import torch
from torch_calls import seconds

import pymluops.torch as ours

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from torch_families import of_family

reference = of_family("carafe").reference


def print_formats(channels: int, size: int) -> None:
    features, masks = torch.randn(1, channels, size, size), torch.rand(1, 25, 2 * size, 2 * size)
    last = [x.contiguous(memory_format=torch.channels_last) for x in (features, masks)]
    calls = {
        "channels_last": lambda: ours.carafe(*last, 5, 1, 2),
        "contiguous": lambda: ours.carafe(features, masks, 5, 1, 2),
        "stock operations": lambda: reference(features, masks, 5, 1, 2),
    }
    print(f"carafe of {channels} x {size} x {size} (k5 s2), ms")
    for name, call in calls.items():
        print(f"{name:16}{seconds(call) * 1e3:10.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    print_formats(256, 32)
    print_formats(256, 64)
