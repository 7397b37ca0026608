# SPDX-License-Identifier: Apache-2.0
"""The C functions of masked im2col and col2im on torch tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pymluops._arguments import pointer_to
from pymluops._call import workspace, workspace_size
from pymluops._families.masked import reference
from pymluops.torch._double import in_double, is_double
from pymluops.torch._memory import new_memory
from pymluops.torch._native_calls import array_descriptor, call, nchw_descriptor, pointer

if TYPE_CHECKING:
    from pymluops.capi import CData

#: Rows and columns of positions, (2, count) and contiguous.
Positions: TypeAlias = npt.NDArray[np.int32]


@lru_cache(maxsize=1024)
def _prepared(
    name: str,
    dtype: torch.dtype,
    image: tuple[int, ...],
    column: tuple[int, ...],
    count: int,
    *numbers: int,
) -> tuple[CData, CData, CData, int]:
    """Return descriptors of an image, positions and columns; and the size of the workspace."""
    im, col = nchw_descriptor(dtype, image), array_descriptor(dtype, column)
    at = array_descriptor(torch.int32, (count,))
    first, last = (im, col) if numbers else (col, im)
    size = workspace_size(f"mluOpGet{name}WorkspaceSize", first, at, at, *numbers, last)
    return im, at, col, size


def _rows(positions: Positions) -> tuple[CData, CData]:
    rows = pointer_to(positions)
    return rows, rows + positions.nbytes // 2


def im2col(
    features: Tensor, positions: Positions, kernel: tuple[int, int], padding: tuple[int, int]
) -> Tensor:
    """Return the windows of contiguous features: a column of (C, *kernel) values for each."""
    if is_double(features):
        given: tuple[Any, ...] = (features, *positions, *kernel, *padding)
        made: Tensor = in_double(reference.masked_im2col_forward, *given)
        return made
    name, count = "MaskedIm2colForward", positions.shape[1]
    shape = (features.shape[1] * kernel[0] * kernel[1], count)
    columns = new_memory(shape, dtype=features.dtype)
    im, at, col, size = _prepared(name, features.dtype, features.shape, shape, count, *kernel)
    h, w = _rows(positions)
    x, y, room = pointer(features), pointer(columns), workspace(name, size)
    call(f"mluOp{name}", im, x, at, h, at, w, *kernel, *padding, *room, col, y)
    return columns


def col2im(columns: Tensor, positions: Positions, height: int, width: int) -> Tensor:
    """Return a (1, C, height, width) image with contiguous columns of C values, and 0 elsewhere."""
    if is_double(columns):
        given = (columns, *positions, height, width)
        made: Tensor = in_double(reference.masked_col2im_forward, *given)
        return made
    name, count = "MaskedCol2imForward", positions.shape[1]
    column = columns.shape
    shape = (1, column[0], height, width)
    image = new_memory(shape, dtype=columns.dtype)
    im, at, col, size = _prepared(name, columns.dtype, shape, column, count)
    h, w = _rows(positions)
    x, y, (memory, size) = pointer(columns), pointer(image), workspace(name, size)
    call(f"mluOp{name}", col, x, at, h, at, w, size, memory, im, y)
    return image
