# SPDX-License-Identifier: Apache-2.0
"""Boxes as a detector finds them: around few things, spread out, of many classes."""

from typing import Any

import numpy as np

from pymluops._tensor import Array
from pymluops.bench._case import Arguments, Case, Descriptor, Pointer, Tensor

HARD, LINEAR, GAUSSIAN = range(3)
INDICES, ROWS = 0, 3
NO_LIMIT = 2**31 - 1


def _boxes(rng: np.random.Generator, n: int, kind: str) -> Array:
    if kind == "spread":  # about 20 boxes meet a box
        side = n**0.5 * 24
        centre = rng.uniform(0, side, (n, 2))
        size = np.exp(rng.uniform(np.log(16), np.log(160), (n, 2)))
    else:
        things = max(8, n // 40)
        around = rng.integers(0, things, n)
        extent = np.array((1333, 800)) * max(1.0, (n / 10000) ** 0.5)
        of_thing = np.exp(rng.uniform(np.log(24), np.log(320), (things, 2)))[around]
        place = rng.uniform(0, 1, (things, 2))[around] * extent
        centre = place + rng.normal(0, 0.12, (n, 2)) * of_thing
        size = of_thing * np.exp(rng.normal(0, 0.15, (n, 2)))
    return np.concatenate((centre - size / 2, centre + size / 2), 1)


def _found(arguments: Arguments) -> tuple[Array, ...]:
    """Return the rows of the output that a call has written."""
    output, count = arguments["output"], arguments["count"]
    assert isinstance(output, Tensor)
    assert isinstance(count, Pointer)
    assert output.array is not None
    assert count.array is not None
    return (output.array[: count.array[0]],)


def _case(
    n: int,
    kind: str,
    threshold: float,
    group: str = "networks",
    *,
    classes: int = 1,
    method: int = HARD,
    limit: int | None = None,
    least: float | None = None,
) -> Case:
    lowest, most = -np.inf if least is None else least, NO_LIMIT if limit is None else limit
    mode = INDICES if classes == 1 else ROWS
    room = classes * min(n, most)
    numbers = {"threshold": threshold, "classes": classes, "method": method}

    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(n)
        scores = rng.permuted(np.tile((np.arange(n) + 1) / (n + 1), (classes, 1)), axis=1)
        if classes > 1:
            scores = scores**8  # most of a class are near 0
        boxes, scores = _boxes(rng, n, kind).astype(dtype), scores.astype(dtype)
        output = np.zeros((room,) if classes == 1 else (room, 3), np.int32)
        settings = [0, mode, 0, method, threshold, 0.5, most, lowest, 0, 0, False]
        return {
            "parameters": Descriptor("Nms", settings),
            "boxes": Tensor(boxes if classes == 1 else boxes[None]),
            "scores": Tensor(scores[0] if classes == 1 else scores[None]),
            "workspace": Pointer(None),
            "workspace_size": 0,
            "output": Tensor(output, output=True),
            "count": Pointer(np.zeros(1, np.int32)),
        }

    name = f"{classes}x{n}" if classes > 1 else str(n)
    how = ("", "-linear", "-gaussian")[method]
    return Case(
        f"nms/{name}-{kind}-{threshold}{how}",
        "mluOpNms",
        make,
        {**numbers, "limit": most, "least": lowest},
        read=4 * n * (4 + classes),
        written=4 * n,
        group=group,
        results=_found,
    )


CASES = [
    _case(4000, "clustered", 0.7),
    _case(1000, "clustered", 0.7),
    _case(10000, "clustered", 0.7),
    _case(1000, "clustered", 0.5, classes=80, limit=100, least=0.05),
    _case(1000, "clustered", 0.5, method=GAUSSIAN, least=0.05),
    _case(100, "clustered", 0.7, "sizes"),
    _case(300, "clustered", 0.7, "sizes"),
    _case(30000, "clustered", 0.7, "sizes"),
    _case(100000, "clustered", 0.7, "sizes"),
    *(_case(n, "spread", 0.5, "more") for n in (1000, 4000, 10000, 100000)),
    _case(8400, "clustered", 0.65, "more", classes=80, limit=300, least=0.05),
    _case(1000, "clustered", 0.3, "more", method=LINEAR, least=0.05),
]
