# SPDX-License-Identifier: Apache-2.0
"""Toy: multiplies by a factor."""

from typing import SupportsFloat

from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._tensor import FLOAT, Array, ArrayLike, Output
from pymluops.capi import Layout


def toy(
    x: ArrayLike,
    *,
    factor: SupportsFloat,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Return ``factor * x``."""
    call = Call("mluOpToy", handle, Layout.NHWC)
    numbers = call.input("x", x, ndim=2, dtypes=FLOAT)
    y = call.output("out", out, numbers.shape, numbers.dtype)
    call.run(numbers, call.real("factor", factor), y)
    return y.result
