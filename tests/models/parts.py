# SPDX-License-Identifier: Apache-2.0
"""What families say of models, in tests/<family>/models.py, and what their plain operators share.

MODELS are the models of mmdet and mmseg that are there for its operators. STAND_INS are the
operators in plain torch, by the place where mmcv.ops has them, EXTENSION those of mmcv's compiled
module, each with the name of the operator that takes its place. Nothing of pymluops is imported
there.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor


class Model(NamedTuple):
    """A model as it is shipped."""

    package: str
    config: str
    channels_last: bool = False
    """Is tried in channels_last, too."""
    autocast: bool = False
    """Is tried with bfloat16, too."""
    one_class: bool = False
    """Tells only whether there is something."""

    @property
    def classes(self) -> int:
        return 150 if "ade20k" in self.config else 19


def sample(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Sample a (C, H, W) image at points (P,): (C, P). Beyond -1 and H or W there is nothing."""
    _, height, width = image.shape
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    return corners(image, y.clamp(0, height - 1), x.clamp(0, width - 1)) * inside


def with_slopes(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """As :func:`sample`, with the derivatives by y and x that pooling with offsets defines.

    They are not those of the value where a sample lies on the border of the map.
    """
    _, height, width = image.shape
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y0 = y.detach().clamp(0, height - 1).floor().long()
    x0 = x.detach().clamp(0, width - 1).floor().long()
    y1, x1 = (y0 + 1).clamp(max=height - 1), (x0 + 1).clamp(max=width - 1)
    up, down, right, left = (at.detach() for at in (y - y0, y1 - y, x - x0, x1 - x))
    v00, v01, v10, v11 = (
        image.detach()[:, rows, columns]
        for rows, columns in ((y0, x0), (y0, x1), (y1, x0), (y1, x1))
    )
    by_x = v11 * up + v01 * down - v10 * up - v00 * down
    by_y = v11 * right + v10 * left - v01 * right - v00 * left
    moved = by_x * (x - x.detach()) + by_y * (y - y.detach())
    return sample(image, y.detach(), x.detach()) + moved * inside


def corners(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    channels, height, width = image.shape
    y0, x0 = y.detach().floor(), x.detach().floor()
    total = 0
    pixels = image.reshape(channels, -1)
    for rows, of_y in ((y0, 1 - (y - y0)), (y0 + 1, y - y0)):
        for columns, of_x in ((x0, 1 - (x - x0)), (x0 + 1, x - x0)):
            exists = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
            index = rows.clamp(0, height - 1).long() * width + columns.clamp(0, width - 1).long()
            total = total + pixels[:, index] * (of_y * of_x * exists)
    return total


def pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)


def points(low: Tensor, size: Tensor, bins: int, count: int) -> Tensor:
    """The samples of bins along an axis: (bins, count)."""
    bin_size = size / bins
    samples = (torch.arange(count) + 0.5) * bin_size / count
    return low + torch.arange(bins)[:, None] * bin_size + samples
