# SPDX-License-Identifier: Apache-2.0
"""CARAFE: content-aware upsampling. Each output pixel has a kernel of its own."""

from __future__ import annotations

from typing import SupportsIndex

from pymluops._call import Call
from pymluops._descriptor import object_descriptor
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import Array, ArrayLike, Output
from pymluops.capi import CData, Layout


@repeatable
def carafe_forward(
    input: ArrayLike,
    mask: ArrayLike,
    *,
    kernel_size: SupportsIndex,
    group_size: SupportsIndex,
    scale_factor: SupportsIndex,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Upsample with a kernel for each output pixel, given by the mask.

    With k = kernel_size, s = scale_factor, r = (k-1)//2 and g the group of channel c:
    ``output[n, p, q, c] = sum over i, j of
    mask[n, p, q, (g*k + i)*k + j] * input[n, p//s + i - r, q//s + j - r, c]``, where taps outside
    the input are skipped.

    Parameters
    ----------
    input : array_like, [N, H, W, C] or [H, W, C], float16 or float32
        The feature map.
    mask : array_like, [N, s*H, s*W, group_size*k*k], the dtype of `input`
        A kernel for each output pixel and group of channels.
    kernel_size : int
        Odd, at most 45.
    group_size : int
        The number of groups of channels; C must be a multiple of it.
    scale_factor : int
        Output pixels per input pixel along each axis; at most 5.
    out : array, [N, s*H, s*W, C], the dtype of `input`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, s*H, s*W, C], the dtype of `input`
        `out`, or a new array. Sums are made in float32, and rounded once.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A kernel or scale beyond the limits above, or a tensor of 2**31 elements or more.

    Examples
    --------
    A kernel of size 1 and value 1 is nearest-neighbour upsampling.

    >>> import numpy as np, pymluops
    >>> x = np.array([[[[1], [2]]]], np.float32)
    >>> y = pymluops.carafe_forward(x, np.ones((1, 2, 4, 1), np.float32),
    ...                             kernel_size=1, group_size=1, scale_factor=2)
    >>> y[0, :, :, 0]
    array([[1., 1., 2., 2.],
           [1., 1., 2., 2.]], dtype=float32)
    """
    call = Call("mluOpCarafeForward", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    kernels = call.input("mask", mask, batch=True)
    settings, scale = _settings(call, kernel_size, group_size, scale_factor)
    n, h, w, c = x.shape
    y = call.output("out", out, (n, h * scale, w * scale, c), x.dtype, batch=True)
    call.run(settings, x, kernels, y)
    return y.result


@repeatable
def carafe_backward(
    input: ArrayLike,
    mask: ArrayLike,
    *,
    grad_output: ArrayLike,
    kernel_size: SupportsIndex,
    group_size: SupportsIndex,
    scale_factor: SupportsIndex,
    out: tuple[Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array]:
    """Compute the gradients of `carafe_forward` for its input and its mask.

    ``grad_mask[n, p, q, (g*k + i)*k + j]`` is the sum over the channels c of group g of
    ``grad_output[n, p, q, c] * input[n, p//s + i - r, q//s + j - r, c]``, and
    ``grad_input[n, y, x, c]`` the sum of ``grad_output[n, p, q, c] * mask[n, p, q, (g*k + i)*k +
    j]`` over all p, q, i, j for which `carafe_forward` reads ``input[n, y, x, c]``.

    Parameters
    ----------
    input : array_like, [N, H, W, C], float16 or float32
        The input of `carafe_forward`.
    mask : array_like, [N, s*H, s*W, group_size*k*k], the dtype of `input`
        The mask of `carafe_forward`.
    grad_output : array_like, [N, s*H, s*W, C], the dtype of `input`
        The gradient of the result of `carafe_forward`. A keyword argument.
    kernel_size : int
        Odd, at most 137.
    group_size, scale_factor : int
        As in `carafe_forward`.
    out : tuple of two arrays, optional
        The arrays that receive grad_input and grad_mask; None for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    grad_input : array, [N, H, W, C], the dtype of `input`
    grad_mask : array, [N, s*H, s*W, group_size*k*k], the dtype of `input`

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A kernel beyond the limit above, or a tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> x = np.array([[[[1], [2]]]], np.float32)
    >>> ones = np.ones((1, 2, 4, 1), np.float32)
    >>> grad_input, grad_mask = pymluops.carafe_backward(
    ...     x, ones, grad_output=ones, kernel_size=1, group_size=1, scale_factor=2)
    >>> grad_input[0, :, :, 0], grad_mask[0, 0, :, 0]
    (array([[4., 4.]], dtype=float32), array([1., 1., 2., 2.], dtype=float32))
    """
    call = Call("mluOpCarafeBackward", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    kernels = call.input("mask", mask, batch=True)
    dy = call.input("grad_output", grad_output, batch=True)
    settings, _ = _settings(call, kernel_size, group_size, scale_factor)
    out_input, out_mask = call.several(("grad_input", "grad_mask"), out)
    dx = call.output("out[0]", out_input, x.shape, x.dtype, batch=True)
    dmask = call.output("out[1]", out_mask, kernels.shape, x.dtype, batch=True)
    call.run(settings, x, kernels, dy, dx, dmask)
    return dx.result, dmask.result


def _settings(
    call: Call, kernel_size: SupportsIndex, group_size: SupportsIndex, scale_factor: SupportsIndex
) -> tuple[CData, int]:
    """Return the CARAFE descriptor, for which C checks the numbers, and the scale factor."""
    scale = call.integer("scale_factor", scale_factor)
    kernel = call.integer("kernel_size", kernel_size)
    group = call.integer("group_size", group_size)
    return call.parameters(object_descriptor, "Carafe", 4, kernel, group, scale), scale
