# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution with numbers drawn at random: what plans cut into blocks fits together."""

from typing import Any

import numpy as np
import pytest
from dcn_calls import FLOAT_BAR, HALF_BAR, Call, as_half, bits, check_accuracy, random_call

import pymluops

CHANNELS = (1, 2, 3, 16, 24, 48, 64, 65, 96, 120, 256, 300, 577, 640, 768, 1024)
LARGEST_FILTER, LARGEST_OFFSET = 400_000, 20_000


def divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def any_call(rng: np.random.Generator) -> Call | None:
    """A call with any numbers, or none where they would be too large, or fit no filter."""
    channels = int(rng.choice(CHANNELS))
    groups = int(rng.choice([*divisors(channels)[:6], channels]))
    each = int(rng.integers(1, 41)) if rng.random() < 0.9 else 1 + 1100 // groups
    kernel = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    size = [int(side) for side in rng.integers(1, 14, 2)]
    if rng.random() < 0.1:
        size[int(rng.integers(2))] = int(rng.integers(40, 120))

    def two(low: int, high: int) -> tuple[int, int]:
        return int(rng.integers(low, high)), int(rng.integers(low, high))

    numbers: dict[str, Any] = {"pad": two(0, 3), "stride": two(1, 4), "dilation": two(1, 3)}
    numbers["deformable_group"] = int(rng.choice(divisors(channels)))
    taps = numbers["deformable_group"] * kernel[0] * kernel[1]
    sides = zip(size, kernel, numbers["pad"], numbers["dilation"], strict=True)
    if any(side + 2 * pad < dilation * (k - 1) + 1 for side, k, pad, dilation in sides):
        return None
    if channels * each * kernel[0] * kernel[1] > LARGEST_FILTER:
        return None
    if taps * size[0] * size[1] > LARGEST_OFFSET:
        return None
    shape = (int(rng.integers(1, 4)), *size, channels)
    modulated = bool(rng.integers(2))
    numbers["conv_group"] = groups
    return random_call(rng, shape, groups * each, kernel, modulated=modulated, **numbers)


@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
def test_any_numbers(half: bool, handle: pymluops.Handle, rng: np.random.Generator) -> None:
    done = 0
    while done < 25:
        call = any_call(rng)
        if call is None:
            continue
        done += 1
        call = as_half(call) if half else call
        grad = call.gradient(rng)
        handle.num_threads = int(rng.integers(1, 5))
        results = call.results(handle, grad)
        for got, expected in zip(results, call.expected(grad), strict=True):
            # Of few numbers the bars are missed by chance: sums may cancel.
            check_accuracy(got, expected, 4 * (HALF_BAR if half else FLOAT_BAR))
        handle.num_threads = handle.num_threads % 4 + 1
        assert bits(call.results(handle, grad)) == bits(results)
