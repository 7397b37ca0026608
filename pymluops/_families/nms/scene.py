# SPDX-License-Identifier: Apache-2.0
"""The demonstration of nms."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import pymluops
from pymluops._families.nms import reference
from pymluops.demo._image import TOWER_BOX
from pymluops.demo._run import Mark, Picture, Scene, Values

Indices: TypeAlias = npt.NDArray[np.int32]

_SUN = (18.0, 86.0, 42.0, 110.0)  # top, left, bottom, right
_RED, _GREEN = (0.95, 0.2, 0.2), (0.1, 0.75, 0.3)


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "Non-maximum suppression",
        [
            "A detector finds each object several times: here the lighthouse and the sun.",
            "nms keeps the box with the highest score, removes the boxes that overlap it",
            "too much, and continues with the next box. batched_nms does this separately",
            "for each label.",
        ],
    )
    boxes, scores, labels = _found()
    numbers = {"iou_threshold": 0.4}
    kept = shown.run(pymluops.nms, reference.nms, boxes, scores, kind="movement", numbers=numbers)
    by_label = shown.run(
        pymluops.batched_nms,
        reference.batched_nms,
        boxes,
        scores,
        labels,
        kind="movement",
        numbers=numbers,
    )
    shown.pictures = [
        Picture(image, "all boxes", marks=_marks(boxes, labels)),
        Picture(image, "nms keeps", "\u2192", _marks(boxes[kept], labels[kept])),
        Picture(image, "batched_nms keeps", "|", _marks(boxes[by_label], labels[by_label])),
    ]
    return shown


def _found() -> tuple[Values, Values, Indices]:
    """Return boxes around two things, their scores, and labels, one of which is wrong."""
    rng = np.random.default_rng(2)
    boxes, scores = [], []
    for top, left, bottom, right in (TOWER_BOX, _SUN):
        exact = np.array((left, top, right, bottom), np.float32)
        moved = exact + rng.normal(0, 2.5, (6, 4))
        boxes.append(moved)
        scores.append(0.95 - 0.02 * np.abs(moved - exact).sum(1))
    labels = np.repeat(np.array((0, 1), np.int32), 6)
    labels[7] = 0
    found = np.concatenate(boxes).astype(np.float32), np.concatenate(scores).astype(np.float32)
    return *found, labels


def _marks(boxes: Values, labels: Indices) -> list[Mark]:
    return [
        Mark(y1, x1, y2 - y1, x2 - x1, (_RED, _GREEN)[label])
        for (x1, y1, x2, y2), label in zip(boxes.tolist(), labels.tolist(), strict=True)
    ]
