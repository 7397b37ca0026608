# SPDX-License-Identifier: Apache-2.0
"""mluOpNms with all that its descriptor says, which pymluops.nms leaves out."""

from typing import Any

import numpy as np

from pymluops._descriptor import packed_descriptor
from pymluops.capi import Layout, ffi, lib
from pymluops.errors import check

UNTOUCHED = 77
COLUMNS = (1, 5, 5, 3)


def call_nms(
    handle: Any,
    boxes: np.ndarray,
    scores: np.ndarray | None,
    *,
    threshold: float = 0.5,
    mode: int = 0,
    method: int = 0,
    limit: int = 2**31 - 1,
    least: float = -np.inf,
    layout: int = 0,
    pad: bool = False,
    extra_room: int = 3,
) -> tuple[np.ndarray, int]:
    """Return the output, of which what is not written has UNTOUCHED, and the number of results."""
    n = boxes.shape[-1 if layout else -2]
    images, classes = (1, 1) if scores is None or scores.ndim == 1 else scores.shape[:2]
    most = n if scores is None else limit if pad else min(limit, n)
    room = most * images * classes + extra_room
    shape = {1: (room,), 3: (room, 3)}[COLUMNS[mode]] if mode in (0, 3) else (room, 5)
    shape = shape[::-1] if mode == 2 else shape
    output = np.full(shape, UNTOUCHED, np.int32 if mode in (0, 3) else boxes.dtype)
    desc = _descriptor(0, mode, 0, method, threshold, 0.5, limit, least, 0, layout, pad)
    count = ffi.new("int32_t *", -1)
    second = (ffi.NULL, ffi.NULL) if scores is None else _tensor(scores)
    arguments = (desc, *_tensor(boxes), *second, ffi.NULL, 0, *_tensor(output), count)
    handle.invoke("mluOpNms", arguments)
    return output, count[0]


def call_by_label(
    handle: Any,
    boxes: np.ndarray,
    scores: np.ndarray,
    labels: np.ndarray,
    kept: np.ndarray,
    now: np.ndarray,
    mode: int = 0,
) -> int:
    """Call mluOpCpuNmsByLabel, and return the number of results."""
    desc = _descriptor(0, mode, 0, 0, 0.5, 0.5, 2**31 - 1, -np.inf, 0, 0, False)
    count = ffi.new("int32_t *", -1)
    tensors = [part for array in (boxes, scores, labels, kept, now) for part in _tensor(array)]
    handle.invoke("mluOpCpuNmsByLabel", (desc, *tensors, count))
    return int(count[0])


def _descriptor(*parameters: Any) -> Any:
    place = ffi.new("mluOpNmsDescriptor_t *")
    check(lib.mluOpCreateNmsDescriptor(place), "mluOpCreateNmsDescriptor")
    made = ffi.gc(place[0], lib.mluOpDestroyNmsDescriptor)
    check(lib.mluOpSetNmsDescriptor(made, *parameters), "mluOpSetNmsDescriptor")
    return made


def _tensor(array: np.ndarray) -> tuple[Any, Any]:
    assert array.flags.c_contiguous
    return packed_descriptor(array.shape, array.dtype, int(Layout.ARRAY)), ffi.from_buffer(array)
