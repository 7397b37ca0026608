# SPDX-License-Identifier: Apache-2.0
"""Memory layouts of images: from channels first to channels last, and back."""

from typing import Any

import numpy as np

from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._tensor import Array, ArrayLike, Dtypes, Output
from pymluops.capi import Layout

_DTYPES: Dtypes = tuple(
    np.dtype(dtype) for dtype in (np.float32, np.float16, np.int32, np.uint32, np.int16, np.uint16)
)


def to_nhwc(x: ArrayLike, *, out: Output | None = None, handle: Handle | None = None) -> Array:
    """Move images from NCHW to NHWC, the layout of most functions here.

    The result is that of ``numpy.ascontiguousarray(x.transpose(0, 2, 3, 1))``, many times faster.

    Parameters
    ----------
    x : array_like, [N, C, H, W] or [C, H, W]
        float32, float16, or integers of 16 or 32 bits.
    out : array, [N, H, W, C], optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, H, W, C] or [H, W, C], the dtype of `x`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        `x` or `out` is not an array or has the wrong dtype.
    BadParamError
        A shape is wrong; the message says which.

    Examples
    --------
    Two channels of three pixels.

    >>> import numpy as np, pymluops
    >>> x = np.array([[[1, 2, 3]], [[4, 5, 6]]], np.float32)
    >>> pymluops.to_nhwc(x)[0]
    array([[1., 4.],
           [2., 5.],
           [3., 6.]], dtype=float32)
    """
    return _convert(x, out, handle, Layout.NCHW, Layout.NHWC, (0, 2, 3, 1))


def to_nchw(x: ArrayLike, *, out: Output | None = None, handle: Handle | None = None) -> Array:
    """Move images from NHWC to NCHW, the inverse of `to_nhwc`.

    Parameters
    ----------
    x : array_like, [N, H, W, C] or [H, W, C]
        float32, float16, or integers of 16 or 32 bits.
    out : array, [N, C, H, W], optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, C, H, W] or [C, H, W], the dtype of `x`
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        `x` or `out` is not an array or has the wrong dtype.
    BadParamError
        A shape is wrong; the message says which.

    Examples
    --------
    Three pixels of two channels.

    >>> import numpy as np, pymluops
    >>> x = np.array([[[1, 4], [2, 5], [3, 6]]], np.float32)
    >>> pymluops.to_nchw(x)[:, 0]
    array([[1., 2., 3.],
           [4., 5., 6.]], dtype=float32)
    """
    return _convert(x, out, handle, Layout.NHWC, Layout.NCHW, (0, 3, 1, 2))


def _convert(
    x: Any,
    out: Any,
    handle: Handle | None,
    layout: Layout,
    to_layout: Layout,
    order: tuple[int, ...],
) -> Array:
    call = Call("mluOpCpuConvertLayout", handle, layout)
    images = call.input("x", x, dtypes=_DTYPES, batch=True)
    shape = tuple(images.shape[axis] for axis in order)
    converted = call.output("out", out, shape, images.dtype, batch=True, layout=to_layout)
    call.run(images, converted)
    return converted.result
