# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression: of boxes that overlap, only the one with the highest score is kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, overload

import numpy as np

from pymluops._arguments import ABSENT, Tensor
from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._tensor import FLOAT, INT32, Array, ArrayLike
from pymluops.capi import CData, Layout, ffi, lib
from pymluops.errors import check

Method: TypeAlias = Literal["hard", "linear", "gaussian"]
BoxMode: TypeAlias = Literal["corners", "centre", "center"]
_METHODS = {"hard": 0, "linear": 1, "gaussian": 2}
_BOX_MODES = {"corners": 0, "centre": 1, "center": 1}
_NO_LIMIT = 2**31 - 1
# Arguments that have another name in C.
_NAMES = {
    "confidence": "scores",
    "soft_nms_sigma": "sigma",
    "confidence_threshold": "score_threshold",
}


@overload
def nms(
    boxes: ArrayLike,
    scores: ArrayLike,
    *,
    iou_threshold: SupportsFloat,
    score_threshold: SupportsFloat | None = None,
    max_output_size: SupportsIndex | None = None,
    offset: SupportsFloat = 0,
    method: Method = "hard",
    sigma: SupportsFloat = 0.5,
    box_mode: BoxMode = "corners",
    return_scores: Literal[False] = False,
    handle: Handle | None = None,
) -> Array: ...
@overload
def nms(
    boxes: ArrayLike,
    scores: ArrayLike,
    *,
    iou_threshold: SupportsFloat,
    score_threshold: SupportsFloat | None = None,
    max_output_size: SupportsIndex | None = None,
    offset: SupportsFloat = 0,
    method: Method = "hard",
    sigma: SupportsFloat = 0.5,
    box_mode: BoxMode = "corners",
    return_scores: Literal[True],
    handle: Handle | None = None,
) -> tuple[Array, Array]: ...
def nms(
    boxes: ArrayLike,
    scores: ArrayLike,
    *,
    iou_threshold: SupportsFloat,
    score_threshold: SupportsFloat | None = None,
    max_output_size: SupportsIndex | None = None,
    offset: SupportsFloat = 0,
    method: Method = "hard",
    sigma: SupportsFloat = 0.5,
    box_mode: BoxMode = "corners",
    return_scores: bool = False,
    handle: Handle | None = None,
) -> Any:
    """Select boxes from the highest score to the lowest, and suppress those that overlap them.

    Parameters
    ----------
    boxes : array_like, [n, 4], float16 or float32
        (x1, y1, x2, y2) for each box; the corners may be in any order.
    scores : array_like, [n], the dtype of `boxes`, or float16 with float32 boxes
        Of boxes with equal scores, the one with the lower index comes first. A box whose score is
        NaN or minus infinity is never selected.
    iou_threshold : float
        Hard: boxes with a larger IoU are removed. Linear: boxes with at least this IoU get a lower
        score. Gaussian: not used.
    score_threshold : float, optional
        Only scores above it are selected.
    max_output_size : int, optional
        The largest number of boxes to select.
    offset : float
        0, or 1 if the width of a box is x2 - x1 + 1, and its height in the same way.
    method : {"hard", "linear", "gaussian"}
        "hard" removes boxes. "linear" multiplies scores by ``1 - IoU`` where the IoU is at least
        the threshold, "gaussian" by ``exp(-IoU**2 / (2 * sigma))``.
    sigma : float
        The width of the Gaussian.
    box_mode : {"corners", "centre"}
        With "centre" a box is (x, y, width, height).
    return_scores : bool
        Whether to return the scores at selection too.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    kept : array, int64
        The indices of the selected boxes, in the order of selection.
    scores : array, float32
        With `return_scores`: their scores at selection, after those changes.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10]], np.float32)
    >>> scores = np.array([0.5, 0.75, 0.25], np.float32)
    >>> pymluops.nms(boxes, scores, iou_threshold=0.5)
    array([1, 2])
    """
    function = "mluOpCpuNmsByLabel" if return_scores else "mluOpNms"
    call = Call(function, handle, Layout.ARRAY, _NAMES)
    settings = (iou_threshold, score_threshold, max_output_size, offset, sigma)
    return _run(call, (boxes, scores, ABSENT), settings, (method, box_mode), return_scores)


def batched_nms(
    boxes: ArrayLike,
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    iou_threshold: SupportsFloat,
    score_threshold: SupportsFloat | None = None,
    max_output_size: SupportsIndex | None = None,
    offset: SupportsFloat = 0,
    method: Method = "hard",
    sigma: SupportsFloat = 0.5,
    box_mode: BoxMode = "corners",
    return_scores: bool = False,
    handle: Handle | None = None,
) -> Any:
    """Select boxes as `nms` does, separately for each label.

    Boxes of different labels do not affect each other. The results of all labels are sorted
    together, from the highest score to the lowest; of boxes with equal scores, the one with the
    lower index comes first.

    Parameters
    ----------
    boxes : array_like, [n, 4], float16 or float32
        As for `nms`.
    scores : array_like, [n]
        As for `nms`.
    labels : array_like, [n], int32 or int64
        Any numbers that fit int32.
    iou_threshold, score_threshold, offset, method, sigma, box_mode, return_scores, handle
        As for `nms`.
    max_output_size : int, optional
        The largest number of boxes to select, for all labels together.

    Returns
    -------
    kept : array, int64
        The indices of the selected boxes, from the highest score to the lowest.
    scores : array, float32
        With `return_scores`: their scores at selection.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10]], np.float32)
    >>> scores = np.array([0.5, 0.75, 0.25], np.float32)
    >>> pymluops.batched_nms(boxes, scores, [0, 0, 1], iou_threshold=0.5)
    array([1, 2])
    """

    def select(limit: SupportsIndex | None) -> Any:
        call = Call("mluOpCpuNmsByLabel", handle, Layout.ARRAY, _NAMES)
        settings = (iou_threshold, score_threshold, limit, offset, sigma)
        arrays = (boxes, scores, labels)
        return _run(call, arrays, settings, (method, box_mode), return_scores or method != "hard")

    selected = select(max_output_size)
    if method == "hard":
        return selected
    kept, now = selected
    if (now <= 0).any():
        # Negative scores grow when they decay, up to -0: one that is selected later may be higher,
        # or as high and have the lower index.
        kept, now = selected if max_output_size is None else select(None)
        order = np.lexsort((kept, -now))[:max_output_size]
        kept, now = kept[order], now[order]
    return (kept, now) if return_scores else kept


def _run(
    call: Call,
    arrays: tuple[ArrayLike, ArrayLike, ArrayLike | Tensor],
    settings: tuple[Any, ...],
    words: tuple[str, str],
    return_scores: bool,
) -> Any:
    scores = call.input("scores", arrays[1], ndim=1)
    boxes = call.rois("boxes", arrays[0])
    if boxes.shape[1] != 4:  # C has boxes of seven numbers, too
        call.refuse("boxes", f"dim 1 is {boxes.shape[1]}, expected 4 numbers for each box")
    labels = arrays[2]
    if not isinstance(labels, Tensor):
        labels = call.input("labels", labels, 1, INT32)
    parameters = _parameters(call, settings, words)
    call.flag("return_scores", return_scores)
    room = (min(boxes.shape[0], parameters[2]),)
    kept = call.output("kept", None, room, INT32[0])
    count = np.zeros(1, np.int32)
    size = ffi.from_buffer("int32_t[]", count)
    made = call.parameters(descriptor, *parameters)
    if call.function == "mluOpNms":
        call.run(made, boxes, scores, ffi.NULL, 0, kept, size)
        return kept.array[: count[0]].astype(np.int64)
    at_selection = call.output("scores", None, room, FLOAT[0]) if return_scores else ABSENT
    call.run(made, boxes, scores, labels, kept, at_selection, size)
    indices = kept.array[: count[0]].astype(np.int64)
    return (indices, at_selection.array[: count[0]].copy()) if return_scores else indices


def _parameters(call: Call, settings: tuple[Any, ...], words: tuple[str, str]) -> tuple[Any, ...]:
    iou_threshold, score_threshold, max_output_size, offset, sigma = settings
    limit = _NO_LIMIT
    if max_output_size is not None:
        limit = call.integer("max_output_size", max_output_size)
        if limit < 0:
            call.refuse("max_output_size", f"{limit} given, expected 0 or more")
    threshold = -np.inf if score_threshold is None else score_threshold
    return (
        call.word("method", words[0], _METHODS),
        call.word("box_mode", words[1], _BOX_MODES),
        limit,
        call.real("iou_threshold", iou_threshold),
        call.real("score_threshold", threshold),
        call.real("offset", offset),
        call.real("sigma", sigma),
    )


@lru_cache(maxsize=64)
def descriptor(
    method: int,
    box_mode: int,
    limit: int,
    iou_threshold: float,
    score_threshold: float,
    offset: float,
    sigma: float,
) -> CData:
    """Return a descriptor for indices of boxes whose numbers stand together."""
    out: Any = ffi.new("mluOpNmsDescriptor_t *")
    check(lib.mluOpCreateNmsDescriptor(out), "mluOpCreateNmsDescriptor")
    made = ffi.gc(out[0], lib.mluOpDestroyNmsDescriptor)
    status = lib.mluOpSetNmsDescriptor(
        made,
        box_mode,
        lib.MLUOP_NMS_OUTPUT_TARGET_INDICES,
        lib.MLUOP_NMS_ALGO_INCLUDE_BOUNDARY,
        method,
        iou_threshold,
        sigma,
        limit,
        score_threshold,
        offset,
        0,
        False,
    )
    check(status, "mluOpSetNmsDescriptor")
    return made
