# SPDX-License-Identifier: Apache-2.0
"""Boxes as a detector finds them: around few things, spread out, of many classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Case, Descriptor, Peer, Pointer, Tensor

HARD, LINEAR, GAUSSIAN = range(3)
INDICES, ROWS = 0, 3
NO_LIMIT = 2**31 - 1


def _descriptor(
    method: int, mode: int, threshold: float, limit: int | None, least: float | None
) -> Descriptor:
    lowest = -np.inf if least is None else least
    most = NO_LIMIT if limit is None else limit
    return Descriptor("Nms", [0, mode, 0, method, threshold, 0.5, most, lowest, 0, 0, False])


def _call(
    boxes: np.ndarray,
    scores: np.ndarray,
    method: int,
    threshold: float,
    limit: int | None,
    least: float | None,
) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """Return the arguments of a call, its output, and where the number of results goes."""
    n, classes = len(boxes), 1 if scores.ndim == 1 else len(scores)
    room = classes * (n if limit is None else min(n, limit))
    output = np.zeros((room,) if classes == 1 else (room, 3), np.int32)
    if classes > 1:
        boxes, scores = boxes[None], scores[None]
    count = np.zeros(1, np.int32)
    parameters = _descriptor(method, INDICES if classes == 1 else ROWS, threshold, limit, least)
    size = Pointer(count)
    given = [parameters, Tensor(boxes), Tensor(scores), Pointer(None), 0]
    return [*given, Tensor(output, output=True), size], output, count


def _boxes(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
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


def _case(
    n: int,
    kind: str,
    threshold: float,
    *,
    classes: int = 1,
    method: int = HARD,
    limit: int | None = None,
    least: float | None = None,
) -> Case:
    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(n)
        scores = rng.permuted(np.tile((np.arange(n) + 1) / (n + 1), (classes, 1)), axis=1)
        if classes > 1:
            scores = scores**8  # most of a class are near 0
        boxes = _boxes(rng, n, kind).astype(dtype)
        scores = (scores if classes > 1 else scores[0]).astype(dtype)
        return _call(boxes, scores, method, threshold, limit, least)[0]

    name = f"{classes}x{n}" if classes > 1 else str(n)
    how = ("", "-linear", "-gaussian")[method]
    return Case(
        f"nms/{name}-{kind}-{threshold}{how}",
        "mluOpNms",
        make,
        read=4 * n * (4 + classes),
        written=4 * n,
    )


CASES = [
    *(
        _case(n, kind, threshold)
        for n in (1000, 4000, 10000, 100000)
        for kind, threshold in (("clustered", 0.7), ("spread", 0.5))
    ),
    _case(1000, "clustered", 0.5, classes=80, limit=100, least=0.05),
    _case(8400, "clustered", 0.65, classes=80, limit=300, least=0.05),
    _case(1000, "clustered", 0.3, method=LINEAR, least=0.05),
    _case(1000, "clustered", 0.5, method=GAUSSIAN, least=0.05),
]


def _nms_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    limits = case.limit, case.score
    arguments, output, count = _call(data["boxes"], data["scores"], case.soft, case.iou, *limits)
    return "mluOpNms", arguments, {"keep": lambda: output[: count[0]]}


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"nms": _nms_peer}
