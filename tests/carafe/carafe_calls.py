# SPDX-License-Identifier: Apache-2.0
"""Calls of CARAFE, and how near a result is."""

from __future__ import annotations

from typing import Any

import numpy as np

import pymluops

Rng = np.random.Generator
DTYPES = (np.float32, np.float16)
BAR = {np.float32: 1e-6, np.float16: 5e-4}


class Shape:
    """Sizes of a call, and random tensors for it."""

    def __init__(self, n: int, h: int, w: int, c: int, k: int, g: int, s: int) -> None:
        """Take the extents of the input [n, h, w, g * c], and the parameters."""
        self.n, self.h, self.w, self.c, self.k, self.g, self.s = n, h, w, c, k, g, s
        self.map = (n, h, w, g * c)
        self.masks = (n, s * h, s * w, g * k * k)
        self.upscaled = (n, s * h, s * w, g * c)
        self.parameters = {"kernel_size": k, "group_size": g, "scale_factor": s}

    def __repr__(self) -> str:
        """Name the sizes in a test's id."""
        return f"n{self.n}-{self.h}x{self.w}-c{self.c}-k{self.k}-g{self.g}-s{self.s}"

    def tensors(self, rng: Rng, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return input, mask and grad_output."""
        sizes = (self.map, self.masks, self.upscaled)
        return tuple(  # type: ignore
            rng.standard_normal(size, np.float32).astype(dtype, copy=False) for size in sizes
        )


def forward(shape: Shape, x: np.ndarray, m: np.ndarray, **more: Any) -> np.ndarray:
    return pymluops.carafe_forward(x, m, **shape.parameters, **more)


def backward(shape: Shape, x: np.ndarray, m: np.ndarray, go: np.ndarray, **more: Any) -> tuple:
    return pymluops.carafe_backward(x, m, grad_output=go, **shape.parameters, **more)


def assert_close(evaluated: np.ndarray, expected: np.ndarray, bar: float) -> None:
    """Both error measures of the contract, diff1 and diff2, are within the bar."""
    error = np.abs(evaluated.astype(np.float64) - expected)
    assert error.sum() <= bar * np.abs(expected).sum()
    assert np.square(error).sum() <= bar**2 * np.square(expected).sum()
