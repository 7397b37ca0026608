# SPDX-License-Identifier: Apache-2.0
"""Windows at chosen positions as columns, and columns put at their positions, in PyTorch.

Positions of the operators are (2, count): rows and columns of the map, in any integer dtype.
"""

from __future__ import annotations

import torch
from torch import Tensor

from pymluops._families.masked import native
from pymluops._families.masked.native import Positions
from pymluops.torch._operators import define
from pymluops.torch._tensors import new_memory, to_dense, wide_dtype


def im2col(
    image: Tensor, positions: Positions, kernel: tuple[int, int], pad: tuple[int, int]
) -> Tensor:
    """Return the windows of a (1, C, H, W) image: a column of (C, *kernel) values for each."""
    return native.im2col(to_dense(image, wide_dtype(image)), positions, kernel, pad)


def _as_positions(positions: Tensor) -> Positions:
    if positions.dim() != 2 or positions.shape[0] != 2:
        message = f"positions has shape {tuple(positions.shape)}, expected (2, count)"
        raise ValueError(message)
    made: Positions = to_dense(positions, torch.int32).numpy()
    return made


def _im2col(
    image: Tensor, positions: Tensor, kernel_h: int, kernel_w: int, pad_h: int, pad_w: int
) -> Tensor:
    return im2col(image, _as_positions(positions), (kernel_h, kernel_w), (pad_h, pad_w))


def _im2col_fake(
    image: Tensor, positions: Tensor, kernel_h: int, kernel_w: int, *pad: int
) -> Tensor:
    shape = (image.shape[1] * kernel_h * kernel_w, positions.shape[1])
    return new_memory(shape, dtype=wide_dtype(image), device=image.device)


def _col2im(columns: Tensor, positions: Tensor, height: int, width: int) -> Tensor:
    dense = to_dense(columns, wide_dtype(columns))
    return native.col2im(dense, _as_positions(positions), height, width)


def _col2im_fake(columns: Tensor, positions: Tensor, height: int, width: int) -> Tensor:
    shape = (1, columns.shape[0], height, width)
    return new_memory(shape, dtype=wide_dtype(columns), device=columns.device)


masked_im2col = define(
    "masked_im2col(Tensor image, Tensor positions, int kernel_h, int kernel_w, int pad_h, "
    "int pad_w) -> Tensor",
    kernel=_im2col,
    fake=_im2col_fake,
)
masked_col2im = define(
    "masked_col2im(Tensor columns, Tensor positions, int height, int width) -> Tensor",
    kernel=_col2im,
    fake=_col2im_fake,
)
