# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression for PyTorch, with the arguments and the results that mmcv gives it.

Which boxes are kept has no gradient; what is taken from `boxes` and `scores` by their indices has.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pymluops._families.nms import native
from pymluops.torch._operators import check_tensor, define
from pymluops.torch._tensors import (
    Spec,
    check_dims,
    check_extents,
    require,
    spec,
    to_dense,
    wide_dtype,
)

_METHODS = {"naive": 0, "linear": 1, "gaussian": 2}
#: What the configuration of batched_nms may have.
_OPTIONS = {
    "nms": ("iou_threshold", "offset", "score_threshold", "max_num"),
    "soft_nms": ("iou_threshold", "sigma", "min_score", "method", "offset", "max_num"),
}
_NO_LIMIT = 2**31 - 1

# ------------------------------------------------------------------------------- the operator


def _check(boxes: Spec, scores: Spec, labels: Spec | None) -> None:
    op = "nms" if labels is None else "batched_nms"
    check_dims(op, "boxes", boxes, "n, 4")
    check_dims(op, "scores", scores, "n")
    require(boxes[0][1] == 4, lambda: f"{op}: boxes has shape {tuple(boxes[0])}, expected (n, 4)")
    count = boxes[0][:1]
    check_extents(op, "scores", scores, count, "(n,)")
    if labels is not None:
        if len(labels[0]) != 1:
            message = f"{op}: idxs has shape {tuple(labels[0])}, expected 1 dim (n)"
            raise ValueError(message)
        check_extents(op, "idxs", labels, count, "(n,)")


def _select(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor | None,
    iou_threshold: float,
    score_threshold: float,
    max_num: int,
    offset: int,
    method: int,
    sigma: float,
) -> tuple[Tensor, Tensor]:
    given = None if labels is None else spec(labels)
    _check(spec(boxes), spec(scores), given)
    if boxes.shape[0] == 0:
        return torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=_wide(boxes, scores))
    parameters = (method, 0, max_num, iou_threshold, score_threshold, float(offset), sigma)
    dtype = _wide(boxes, scores)
    kinds = None if labels is None else _as_int32(labels)
    return native.select(to_dense(boxes, dtype), to_dense(scores, dtype), kinds, parameters)


def _as_int32(labels: Tensor) -> Tensor:
    """Return labels that are equal where the given ones are."""
    kinds = labels.to(torch.int32)
    if not torch.equal(kinds.to(labels.dtype), labels):  # fractions, or more than 32 bits
        kinds = labels.unique(return_inverse=True)[1].to(torch.int32)
    return to_dense(kinds, torch.int32)


def _wide(boxes: Tensor, scores: Tensor) -> torch.dtype:
    return torch.promote_types(wide_dtype(boxes), wide_dtype(scores))


def _select_fake(
    boxes: Tensor, scores: Tensor, labels: Tensor | None, *numbers: float
) -> tuple[Tensor, Tensor]:
    _check(spec(boxes), spec(scores), None if labels is None else spec(labels))
    given = boxes.shape[0]
    # Of no boxes none are kept: Inductor compiles no indexing of them with a dynamic size.
    none = isinstance(given, int) and given == 0
    count = 0 if none else torch.library.get_ctx().new_dynamic_size()
    return boxes.new_empty(count, dtype=torch.int64), boxes.new_empty(
        count, dtype=_wide(boxes, scores)
    )


def _mark_results(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.mark_non_differentiable(*output)


def _no_gradients(ctx: Any, *grads: Tensor | None) -> tuple[None, ...]:
    return (None,) * 9


_nms = define(
    "nms(Tensor boxes, Tensor scores, Tensor? labels, float iou_threshold, float score_threshold, "
    "int max_num, int offset, int method, float sigma) -> (Tensor, Tensor)",
    kernel=_select,
    fake=_select_fake,
    setup_context=_mark_results,
    backward=_no_gradients,
)


def _method(op: str, method: str) -> int:
    if method not in _METHODS:
        message = f"{op}: method is {method!r}, expected one of {', '.join(_METHODS)}"
        raise ValueError(message)
    return _METHODS[method]


def _below(number: float, dtype: torch.dtype) -> float:
    """Return the next smaller number of a dtype: `x > _below(y)` means `x >= y`."""
    real = np.float64 if dtype is torch.float64 else np.float32
    return float(np.nextafter(real(number), real(-np.inf)))


def _check_numbers(op: str, offset: float, sigma: float = 1, min_score: float = 0) -> None:
    """Check what the library would name in other words."""
    if offset not in (0, 1):
        message = f"{op}: offset is {offset!r}, expected 0 or 1"
        raise ValueError(message)
    if not sigma >= 0:
        message = f"{op}: sigma is {sigma!r}, expected 0 or more"
        raise ValueError(message)
    if min_score != min_score:
        message = f"{op}: min_score is {min_score!r}, expected a number"
        raise ValueError(message)


def _soft(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor | None,
    numbers: tuple[float, float, float, int],
    method: int,
) -> tuple[Tensor, Tensor]:
    iou_threshold, sigma, min_score, offset = numbers
    dtype = _wide(boxes, scores)
    if method == 0:  # it removes boxes with an IoU of the threshold too
        iou_threshold = _below(iou_threshold, dtype)
    # sigma is twice that of the library; scores equal to the smallest one stay.
    selected: tuple[Tensor, Tensor] = _nms(
        boxes,
        scores,
        labels,
        iou_threshold,
        _below(min_score, dtype),
        _NO_LIMIT,
        offset,
        method,
        sigma / 2,
    )
    return selected


def _hard(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor | None,
    iou_threshold: float,
    offset: int,
    score_threshold: float,
    max_num: int,
) -> Tensor:
    least = score_threshold if score_threshold > 0 else -math.inf
    most = min(max_num, _NO_LIMIT) if max_num > 0 else _NO_LIMIT
    inds: Tensor = _nms(boxes, scores, labels, iou_threshold, least, most, offset, 0, 0.5)[0]
    return inds


def _as_tensors(boxes: Any, scores: Any) -> tuple[Tensor, Tensor, bool]:
    is_numpy = isinstance(boxes, np.ndarray)
    if is_numpy:
        boxes = torch.from_numpy(boxes)
    if isinstance(scores, np.ndarray):
        scores = torch.from_numpy(scores)
    return boxes, scores, is_numpy


def _detached(op: str, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    check_tensor(op, "boxes", boxes)
    check_tensor(op, "scores", scores)
    return boxes.detach(), scores.detach()


# ------------------------------------------------------------------------------ what users call


def nms(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float,
    offset: int = 0,
    score_threshold: float = 0,
    max_num: int = -1,
) -> tuple[Tensor, Tensor]:
    """Select boxes from the highest score to the lowest, and remove those that overlap them.

    Parameters
    ----------
    boxes : Tensor
        (n, 4), corners (x1, y1, x2, y2); float32, float16, bfloat16 or float64, or a NumPy array.
    scores : Tensor
        (n,).
    iou_threshold : float
        Boxes with a larger IoU with a selected box are removed.
    offset : int
        0, or 1 if the width of a box is x2 - x1 + 1, and its height in the same way.
    score_threshold : float
        If it is positive, only scores above it are selected.
    max_num : int
        If it is positive, the largest number of boxes to select.

    Returns
    -------
    dets : Tensor
        (k, 5), the selected boxes and their scores.
    inds : Tensor
        (k,), int64, their indices, from the highest score to the lowest; of equal scores the lower
        index comes first.
    """
    _check_numbers("nms", offset)
    boxes, scores, is_numpy = _as_tensors(boxes, scores)
    inds = _hard(boxes, scores, None, float(iou_threshold), offset, score_threshold, max_num)
    dets = torch.cat((boxes[inds], scores[inds].reshape(-1, 1)), 1)
    return (dets.numpy(), inds.numpy()) if is_numpy else (dets, inds)  # type: ignore[return-value]


def soft_nms(
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
) -> tuple[Tensor, Tensor]:
    """Select boxes from the highest score to the lowest, and lower the scores of overlapping ones.

    Parameters
    ----------
    boxes, scores, offset
        As for :func:`nms`.
    iou_threshold : float
        From this IoU on, "linear" lowers scores and "naive" removes boxes.
    sigma : float
        The width of the Gaussian: a score is multiplied by ``exp(-IoU**2 / sigma)``.
    min_score : float
        Boxes whose score falls below it are not selected.
    method : {"linear", "gaussian", "naive"}
        How an overlap changes a score.

    Returns
    -------
    dets : Tensor
        (k, 5), the selected boxes and their scores at selection, without gradients.
    inds : Tensor
        (k,), int64, their indices in the order of selection: from the highest score to the lowest,
        if none is negative.
    """
    number = _method("soft_nms", method)
    _check_numbers("soft_nms", offset, sigma, min_score)
    boxes, scores, is_numpy = _as_tensors(boxes, scores)
    boxes, scores = _detached("soft_nms", boxes, scores)
    numbers = (float(iou_threshold), float(sigma), float(min_score), int(offset))
    inds, now = _soft(boxes, scores, None, numbers, number)
    dets = torch.cat((boxes[inds], now[:, None].to(boxes.dtype)), 1)
    return (dets.numpy(), inds.numpy()) if is_numpy else (dets, inds)  # type: ignore[return-value]


def batched_nms(
    boxes: Tensor,
    scores: Tensor,
    idxs: Tensor,
    nms_cfg: dict[str, Any] | None,
    class_agnostic: bool = False,
) -> tuple[Tensor, Tensor]:
    """Select boxes separately for each class.

    No offset is added to the boxes of a class, so nothing is rounded.

    Parameters
    ----------
    boxes, scores : Tensor
        As for :func:`nms`.
    idxs : Tensor
        (n,), the class of each box.
    nms_cfg : dict or None
        The arguments of :func:`nms`, or of :func:`soft_nms` with ``type="soft_nms"``; with
        ``max_num`` for both, and ``class_agnostic``. `split_thr` is ignored. With None, boxes are
        only sorted.
    class_agnostic : bool
        Whether to ignore the classes.

    Returns
    -------
    dets : Tensor
        (k, 5), the selected boxes and their scores, from the highest score to the lowest.
    keep : Tensor
        (k,), int64, their indices.
    """
    if nms_cfg is None:
        scores, keep = scores.sort(descending=True)
        return torch.cat((boxes[keep], scores[:, None]), -1), keep
    if not isinstance(nms_cfg, dict):
        message = f"batched_nms: nms_cfg is {nms_cfg!r}, expected a dict or None"
        raise TypeError(message)
    config = nms_cfg.copy()
    labels = None
    if not config.pop("class_agnostic", class_agnostic):
        check_tensor("batched_nms", "idxs", idxs)
        labels = idxs
    kind, _ = config.pop("type", "nms"), config.pop("split_thr", 0)
    _check_options(kind, config)
    if kind == "nms":
        keep = _batched_hard(boxes, scores, labels, **config)
        return torch.cat((boxes[keep], scores[keep][:, None]), -1), keep
    return _batched_soft(boxes, scores, labels, **config)


def _check_options(kind: str, config: dict[str, Any]) -> None:
    if kind not in _OPTIONS:
        message = f"batched_nms: type is {kind!r}, expected 'nms' or 'soft_nms'"
        raise ValueError(message)
    for option in config:
        if option not in _OPTIONS[kind]:
            expected = ", ".join(_OPTIONS[kind])
            message = f"batched_nms: nms_cfg has {option!r}, expected only {expected}"
            raise TypeError(message)
    if kind == "nms" and "iou_threshold" not in config:
        message = "batched_nms: nms_cfg has no 'iou_threshold'"
        raise TypeError(message)


def _batched_hard(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor | None,
    iou_threshold: float,
    offset: int = 0,
    score_threshold: float = 0,
    max_num: int = -1,
) -> Tensor:
    _check_numbers("batched_nms", offset)
    return _hard(boxes, scores, labels, float(iou_threshold), offset, score_threshold, max_num)


def _batched_soft(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor | None,
    iou_threshold: float = 0.3,
    sigma: float = 0.5,
    min_score: float = 1e-3,
    method: str = "linear",
    offset: int = 0,
    max_num: int = -1,
) -> tuple[Tensor, Tensor]:
    numbers = (float(iou_threshold), float(sigma), float(min_score), int(offset))
    number = _method("batched_nms", method)
    _check_numbers("batched_nms", offset, sigma, min_score)
    keep, now = _soft(*_detached("batched_nms", boxes, scores), labels, numbers, number)
    if max_num > 0:
        keep, now = keep[:max_num], now[:max_num]
    return torch.cat((boxes[keep], now[:, None].to(boxes.dtype)), -1), keep
