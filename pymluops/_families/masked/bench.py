# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im: two sizes of networks, and sweeps over sizes, densities and kernels."""

from typing import Any

import numpy as np

from pymluops.bench._case import NCHW, Arguments, Case, Tensor, Workspace


def _positions(height: int, width: int, count: int, order: str) -> Arguments:
    """As nonzero() of a mask gives them (sorted), shuffled, or the map's first rows (dense)."""
    rng = np.random.default_rng(count)
    at = rng.choice(height * width, count, replace=False)
    if order == "sorted":
        at.sort()
    elif order == "dense":
        at = np.arange(count)
    rows, columns = (at // width).astype(np.int32), (at % width).astype(np.int32)
    return {"rows": Tensor(rows), "columns": Tensor(columns)}


def _size(height: int, width: int, count: int, order: str) -> str:
    return f"{height}x{width}-m{count}" + ("" if order == "sorted" else f"-{order}")


def _im2col(
    group: str,
    channels: int,
    height: int,
    width: int,
    count: int,
    kernel: int,
    order: str = "sorted",
) -> Case:
    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(kernel)
        feature = rng.standard_normal((1, channels, height, width), np.float32).astype(dtype)
        data_col = np.ones((channels * kernel * kernel, count), dtype)
        pad = kernel // 2
        return {
            "feature": Tensor(feature, NCHW),
            **_positions(height, width, count, order),
            "kernel_h": kernel,
            "kernel_w": kernel,
            "pad_h": pad,
            "pad_w": pad,
            "workspace": Workspace(),
            "out": Tensor(data_col, output=True),
        }

    touched = min(height * width, count * kernel * kernel)
    return Case(
        f"masked_im2col_forward/{_size(height, width, count, order)}-c{channels}-k{kernel}",
        "mluOpMaskedIm2colForward",
        make,
        {"kernel": kernel},
        read=4 * channels * touched,
        written=4 * channels * kernel * kernel * count,
        group=group,
    )


def _col2im(
    group: str, channels: int, height: int, width: int, count: int, order: str = "sorted"
) -> Case:
    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(count)
        col = rng.standard_normal((channels, count), np.float32).astype(dtype)
        im = np.ones((1, channels, height, width), dtype)
        return {
            "col": Tensor(col),
            **_positions(height, width, count, order),
            "workspace": Workspace(size_first=True),
            "out": Tensor(im, NCHW, output=True),
        }

    return Case(
        f"masked_col2im_forward/{_size(height, width, count, order)}-c{channels}",
        "mluOpMaskedCol2imForward",
        make,
        {"height": height, "width": width},
        read=4 * channels * count,
        written=4 * channels * height * width,
        group=group,
    )


CASES = [
    _im2col("networks", 256, 200, 304, 20000, 3),
    _im2col("networks", 256, 20, 20, 200, 3),
    _im2col("networks", 256, 20, 20, 200, 1),
    _im2col("sizes", 256, 50, 76, 1250, 3),
    _im2col("sizes", 256, 100, 152, 5000, 3),
    _im2col("sizes", 16, 20, 20, 200, 3),
    _col2im("networks", 256, 200, 304, 20000),
    _col2im("networks", 256, 20, 20, 200),
    _col2im("sizes", 256, 50, 76, 1250),
    _col2im("sizes", 256, 100, 152, 5000),
    _col2im("sizes", 16, 20, 20, 200),
    _im2col("sweep", 1, 1, 1, 1, 1),
    _im2col("sweep", 3, 8, 8, 10, 3),
    _im2col("sweep", 256, 20, 20, 3, 3),
    _im2col("sweep", 2048, 7, 7, 20, 3),
    _im2col("sweep", 64, 56, 56, 300, 7),
    _im2col("sweep", 64, 100, 152, 500, 3),
    _im2col("sweep", 64, 100, 152, 7000, 3, "dense"),
    _im2col("sweep", 64, 100, 152, 7000, 3, "shuffled"),
    _im2col("sweep", 256, 200, 304, 20000, 3, "shuffled"),
    _im2col("sweep", 1, 1200, 1200, 1000000, 3),
    _col2im("sweep", 1, 1, 1, 1),
    _col2im("sweep", 3, 8, 8, 10),
    _col2im("sweep", 2048, 7, 7, 20),
    _col2im("sweep", 64, 100, 152, 7000, "dense"),
    _col2im("sweep", 64, 100, 152, 7000, "shuffled"),
    _col2im("sweep", 1, 1200, 1200, 1000000),
]
