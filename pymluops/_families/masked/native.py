# SPDX-License-Identifier: Apache-2.0
"""The C functions of masked im2col and col2im on torch tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from pymluops._arguments import pointer_to
from pymluops._call import workspace, workspace_size
from pymluops._families.masked import reference
from pymluops.torch._double import in_double, is_double
from pymluops.torch._native_calls import array_descriptor, call, nchw_descriptor, pointer

if TYPE_CHECKING:
    from torch import Tensor

    from pymluops.capi import CData

#: Rows and columns of positions, (2, count) and contiguous.
Positions: TypeAlias = npt.NDArray[np.int32]


@lru_cache(maxsize=1024)
def _prepared(
    name: str, dtype: torch.dtype, image: torch.Size, column: torch.Size, count: int, *numbers: int
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
    features: Tensor,
    positions: Positions,
    data_col: Tensor,
    kernel_size: tuple[int, int],
    padding: tuple[int, int],
) -> None:
    """Call it with contiguous features and columns."""
    if is_double(features):
        given: tuple[Any, ...] = (features, *positions, *kernel_size, *padding)
        data_col.copy_(in_double(reference.masked_im2col_forward, *given))
        return
    name = "MaskedIm2colForward"
    kinds = (features.dtype, features.shape, data_col.shape, positions.shape[1])
    im, at, col, size = _prepared(name, *kinds, *kernel_size)
    h, w = _rows(positions)
    x, y, room = pointer(features), pointer(data_col), workspace(name, size)
    call(f"mluOp{name}", im, x, at, h, at, w, *kernel_size, *padding, *room, col, y)


def col2im(columns: Tensor, positions: Positions, image: Tensor) -> None:
    """Call it with contiguous columns and image; what no column names becomes 0."""
    if is_double(columns):
        given = (columns, *positions, *image.shape[2:])
        image.copy_(in_double(reference.masked_col2im_forward, *given))
        return
    name = "MaskedCol2imForward"
    kinds = (columns.dtype, image.shape, columns.shape, positions.shape[1])
    im, at, col, size = _prepared(name, *kinds)
    h, w = _rows(positions)
    x, y, (memory, size) = pointer(columns), pointer(image), workspace(name, size)
    call(f"mluOp{name}", col, x, at, h, at, w, size, memory, im, y)
