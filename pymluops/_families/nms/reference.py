# SPDX-License-Identifier: Apache-2.0
"""Nms in plain NumPy: boxes are compared one by one, in float32 as the contract says.

COORDINATES may say otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymluops._families._stand_in import COORDINATES

_Real = np.float32 | np.float64
_Floats = npt.NDArray[Any]


def nms(
    boxes: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    iou_threshold: float,
    score_threshold: float | None = None,
    max_output_size: int | None = None,
    offset: float = 0,
    method: str = "hard",
    sigma: float = 0.5,
    box_mode: str = "corners",
    return_scores: bool = False,
) -> Any:
    """Select boxes by falling score, as `pymluops.nms` does."""
    settings = (iou_threshold, score_threshold, offset, method, sigma, box_mode)
    kept, now = select(boxes, scores, None, settings, max_output_size)
    return (kept, now) if return_scores else kept


def batched_nms(
    boxes: npt.ArrayLike,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    iou_threshold: float,
    score_threshold: float | None = None,
    max_output_size: int | None = None,
    offset: float = 0,
    method: str = "hard",
    sigma: float = 0.5,
    box_mode: str = "corners",
    return_scores: bool = False,
) -> Any:
    """Select boxes of each label, and sort all of them, as `pymluops.batched_nms` does."""
    settings = (iou_threshold, score_threshold, offset, method, sigma, box_mode)
    kept, now = select(boxes, scores, labels, settings, None)
    order = np.lexsort((kept, -now))[:max_output_size]
    return (kept[order], now[order]) if return_scores else kept[order]


def select(
    boxes: npt.ArrayLike,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike | None,
    settings: tuple[Any, ...],
    max_output_size: int | None,
) -> tuple[npt.NDArray[np.int64], _Floats]:
    """Return indices and scores at selection, in the order of selection."""
    iou_threshold, score_threshold, offset, method, sigma, box_mode = settings
    real = COORDINATES.get()
    corners = _corners(np.asarray(boxes, real).reshape(-1, 4), box_mode)
    now = np.array(scores, real)
    kinds = np.zeros(len(now), np.int64) if labels is None else np.asarray(labels)
    least = real(-np.inf if score_threshold is None else score_threshold)
    limit = len(now) if max_output_size is None else max_output_size
    extra, threshold = real(offset), real(iou_threshold)
    kept: list[int] = []
    at_selection: list[_Real] = []
    left: npt.NDArray[np.bool_] = np.greater(now, least)
    while left.any() and len(kept) < limit:
        candidates = np.flatnonzero(left)
        best = candidates[np.argmax(now[candidates])]
        kept.append(int(best))
        at_selection.append(now[best])
        left[best] = False
        others = np.flatnonzero(left & (kinds == kinds[best]))
        iou = _iou(corners[best], corners[others], extra)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if method == "hard" or (method == "gaussian" and sigma == 0):
                left[others[iou > threshold]] = False
                continue
            now[others] = _decayed(now[others], iou, method, threshold, real(sigma))
            left &= now > least
    return np.array(kept, np.int64), np.array(at_selection, real)


def _corners(boxes: _Floats, box_mode: str) -> _Floats:
    low, high = boxes[:, :2], boxes[:, 2:]
    with np.errstate(invalid="ignore", over="ignore"):
        if box_mode != "corners":
            low = low - low.dtype.type(0.5) * high
            high = low + high
        flipped = low > high
    return np.concatenate([np.where(flipped, high, low), np.where(flipped, low, high)], 1)


def _iou(box: _Floats, others: _Floats, extra: _Real) -> _Floats:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
        shared = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]) + extra
        both = np.maximum(shared, type(extra)(0)).prod(1)
        area = (box[2:] - box[:2] + extra).prod()
        areas = (others[:, 2:] - others[:, :2] + extra).prod(1)
        iou: _Floats = both / (area + areas - both)
    return iou


def _decayed(scores: _Floats, iou: _Floats, method: str, threshold: _Real, sigma: _Real) -> _Floats:
    real = type(threshold)
    if method == "linear":
        return np.where(iou >= threshold, scores * (real(1) - iou), scores)
    exponent = -(iou * iou) / (real(2) * sigma)
    weight = np.exp(exponent.astype(np.float64)).astype(real)
    return np.where(np.isnan(iou), scores, scores * weight)
