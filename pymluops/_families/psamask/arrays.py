# SPDX-License-Identifier: Apache-2.0
"""PSAMask: point-wise spatial attention, from masks around pixels to the whole map and back."""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypeAlias

from pymluops._arguments import Size
from pymluops._call import Call
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import FLOAT, Array, ArrayLike, Output
from pymluops.capi import Layout

PsaType: TypeAlias = Literal["collect", "distribute", 0, 1]
_TYPES = {"collect": 0, "distribute": 1}


@repeatable
def psamask_forward(
    x: ArrayLike,
    *,
    psa_type: PsaType,
    h_mask: SupportsIndex | None = None,
    w_mask: SupportsIndex | None = None,
    mask_size: Size = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Write the mask of each pixel to the positions of the map that it refers to.

    With the position (th, tw) = (h + u - (h_mask-1)//2, w + v - (w_mask-1)//2) on the map,
    collect: ``y[n, h, w, th*W + tw] = x[n, h, w, u*w_mask + v]``, and
    distribute: ``y[n, th, tw, h*W + w] = x[n, h, w, u*w_mask + v]``; 0 everywhere else.

    Parameters
    ----------
    x : array_like, [N, H, W, h_mask*w_mask] or [H, W, h_mask*w_mask], float32
        A mask for each pixel.
    psa_type : int or str
        0 or "collect", 1 or "distribute".
    h_mask, w_mask : int
        Height and width of the masks.
    mask_size : int or (int, int), optional
        Instead of `h_mask` and `w_mask`: (h_mask, w_mask), or one number for both.
    out : array, [N, H, W, H*W], float32, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, H, W, H*W], float32
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        `x` or `out` is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.

    Examples
    --------
    One pixel looks at itself and its right neighbour.

    >>> import numpy as np, pymluops
    >>> x = np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32)
    >>> pymluops.psamask_forward(x, psa_type="collect", h_mask=1, w_mask=3)[0, 0]
    array([[2., 3.],
           [4., 5.]], dtype=float32)
    """
    call = Call("mluOpPsamaskForward", handle, Layout.NHWC)
    masks = call.input("x", x, dtypes=FLOAT, batch=True)
    kind = _kind(call, psa_type)
    height, width = call.pair(("mask_size", mask_size), ("h_mask", h_mask), ("w_mask", w_mask))
    n, h, w, _ = masks.shape
    y = call.output("out", out, (n, h, w, h * w), masks.dtype, batch=True)
    call.run(kind, masks, height, width, y)
    return y.result


@repeatable
def psamask_backward(
    dy: ArrayLike,
    *,
    psa_type: PsaType,
    h_mask: SupportsIndex | None = None,
    w_mask: SupportsIndex | None = None,
    mask_size: Size = None,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Compute the gradient of `psamask_forward`.

    Each ``dx[n, h, w, u*w_mask + v]`` is the element of `dy` to which `psamask_forward` writes that
    element of `x`, and 0 if its position is not on the map.

    Parameters
    ----------
    dy : array_like, [N, H, W, H*W] or [H, W, H*W], float32
        The gradient of the result of `psamask_forward`.
    psa_type : int or str
        0 or "collect", 1 or "distribute".
    h_mask, w_mask : int
        Height and width of the masks.
    mask_size : int or (int, int), optional
        Instead of `h_mask` and `w_mask`: (h_mask, w_mask), or one number for both.
    out : array, [N, H, W, h_mask*w_mask], float32, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, H, W, h_mask*w_mask], float32
        `out`, or a new array. Values are copied bit by bit.

    Raises
    ------
    BadTypeError
        `dy` or `out` is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> dy = np.array([[[[2, 3], [4, 5]]]], np.float32)
    >>> pymluops.psamask_backward(dy, psa_type="collect", h_mask=1, w_mask=3)[0, 0]
    array([[0., 2., 3.],
           [4., 5., 0.]], dtype=float32)
    """
    call = Call("mluOpPsamaskBackward", handle, Layout.NHWC)
    spread = call.input("dy", dy, dtypes=FLOAT, batch=True)
    kind = _kind(call, psa_type)
    height, width = call.pair(("mask_size", mask_size), ("h_mask", h_mask), ("w_mask", w_mask))
    n, h, w, _ = spread.shape
    shape = (n, h, w, max(height, 0) * max(width, 0))
    dx = call.output("out", out, shape, spread.dtype, batch=True)
    call.run(kind, spread, height, width, dx)
    return dx.result


def _kind(call: Call, psa_type: PsaType) -> int:
    kind = _TYPES.get(psa_type, -1) if isinstance(psa_type, str) else psa_type
    if call.integer("psa_type", kind) not in (0, 1):
        call.refuse("psa_type", f'{psa_type!r} given, expected "collect" (0) or "distribute" (1)')
    return int(kind)
