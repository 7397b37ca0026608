# SPDX-License-Identifier: Apache-2.0
"""Masked im2col and col2im: two table sizes, and sweeps over sizes, densities and kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import NCHW, Case, Peer, Tensor, Workspace


def _positions(height: int, width: int, count: int, order: str) -> list[Tensor]:
    """As nonzero() of a mask gives them (sorted), shuffled, or the map's first rows (dense)."""
    rng = np.random.default_rng(count)
    at = rng.choice(height * width, count, replace=False)
    if order == "sorted":
        at.sort()
    elif order == "dense":
        at = np.arange(count)
    return [Tensor((at // width).astype(np.int32)), Tensor((at % width).astype(np.int32))]


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
    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(kernel)
        feature = rng.standard_normal((1, channels, height, width)).astype(dtype)
        data_col = np.ones((channels * kernel * kernel, count), dtype)
        pad = kernel // 2
        return [
            Tensor(feature, NCHW),
            *_positions(height, width, count, order),
            *(kernel, kernel, pad, pad),
            Workspace(),
            Tensor(data_col, output=True),
        ]

    touched = min(height * width, count * kernel * kernel)
    return Case(
        f"masked_im2col_forward/{_size(height, width, count, order)}-c{channels}-k{kernel}",
        "mluOpMaskedIm2colForward",
        make,
        read=4 * channels * touched,
        written=4 * channels * kernel * kernel * count,
        group=group,
    )


def _col2im(
    group: str, channels: int, height: int, width: int, count: int, order: str = "sorted"
) -> Case:
    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(count)
        col = rng.standard_normal((channels, count)).astype(dtype)
        im = np.ones((1, channels, height, width), dtype)
        return [
            Tensor(col),
            *_positions(height, width, count, order),
            Workspace(size_first=True),
            Tensor(im, NCHW, output=True),
        ]

    return Case(
        f"masked_col2im_forward/{_size(height, width, count, order)}-c{channels}",
        "mluOpMaskedCol2imForward",
        make,
        read=4 * channels * count,
        written=4 * channels * height * width,
        group=group,
    )


CASES = [
    _im2col("table", 256, 20, 20, 200, 3),
    _im2col("table", 256, 20, 20, 200, 1),
    _im2col("table", 256, 200, 304, 20000, 3),
    _col2im("table", 256, 20, 20, 200),
    _col2im("table", 256, 200, 304, 20000),
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


def _masked_im2col_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    out = new((case.C * case.kh * case.kw, case.m))
    inputs = [
        Tensor(data["x"], NCHW),
        Tensor(data["hidx"]),
        Tensor(data["widx"]),
    ]
    numbers = [case.kh, case.kw, case.ph, case.pw]
    return (
        "mluOpMaskedIm2colForward",
        [*inputs, *numbers, Workspace(), Tensor(out)],
        {"out": out},
    )


def _masked_col2im_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
    out = new((1, case.C, case.H, case.W))
    inputs = [Tensor(data["col"]), Tensor(data["hidx"]), Tensor(data["widx"])]
    arguments = [*inputs, Workspace(size_first=True), Tensor(out, NCHW)]
    return "mluOpMaskedCol2imForward", arguments, {"out": out}


#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"masked_im2col": _masked_im2col_peer, "masked_col2im": _masked_col2im_peer}
