# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution: each tap of the filter is moved by an offset, and may have a weight."""

from __future__ import annotations

from typing import SupportsIndex

from pymluops._arguments import Sizes
from pymluops._call import ABSENT, Call
from pymluops._families.dcn.form import Form, descriptors, optional
from pymluops._handle import Handle
from pymluops._repeat import repeatable
from pymluops._tensor import Array, ArrayLike, Output
from pymluops.capi import Layout


@repeatable
def deform_conv_forward(
    input: ArrayLike,
    offset: ArrayLike,
    filter: ArrayLike,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    *,
    pad: Sizes = 0,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    deformable_group: SupportsIndex = 1,
    conv_group: SupportsIndex = 1,
    im2col_step: SupportsIndex = 1,
    out: Output | None = None,
    handle: Handle | None = None,
) -> Array:
    """Convolve with a filter whose taps are moved, and may be weighted, at each pixel.

    Tap (i, j) of output pixel (p, q) samples `input` between pixels, bilinearly, at row
    ``p*stride - pad + i*dilation + offset[n, p, q, ((d*kh + i)*kw + j)*2]`` and at the column that
    the next offset gives, d being the deformable group of the channel. The sample is multiplied by
    ``mask[n, p, q, (d*kh + i)*kw + j]``, and replaces the pixel of a plain convolution. Outside the
    map there are zeros.

    Parameters
    ----------
    input : array_like, [N, H, W, C] or [H, W, C], float16 or float32
        The feature map.
    offset : array_like, [N, ho, wo, deformable_group*kh*kw*2], the dtype of `input`
        How far each tap moves, down and to the right, in pixels. Any number is allowed: a sample
        outside the map, at NaN or at infinity, is 0.
    filter : array_like, [co, kh, kw, C/conv_group], the dtype of `input`
        The weights.
    mask : array_like, [N, ho, wo, deformable_group*kh*kw], the dtype of `input`, optional
        The factor of each sample; without it, 1.
    bias : array_like, [co], the dtype of `input`, optional
        A number that is added to each channel of the result.
    pad : int, (int, int) or (int, int, int, int), default 0
        Zeros around the map: one number for all sides, (rows, columns), or (top, bottom, left,
        right).
    stride, dilation : int or (int, int), default 1
        Pixels between two windows, and between two taps: one number, or (rows, columns).
    deformable_group : int, default 1
        The number of groups of input channels; each group has offsets and masks of its own.
    conv_group : int, default 1
        The number of groups of the convolution.
    im2col_step : int, default 1
        How many images an accelerator computes at once. N must be a multiple of it; it does not
        change the result.
    out : array, [N, ho, wo, co], the dtype of `input`, optional
        The array that receives the result.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    array, [N, ho, wo, co], the dtype of `input`
        `out`, or a new array; ``ho = (H + top + bottom - (dilation*(kh - 1) + 1)) // stride + 1``,
        and wo in the same way. Sums are made in float32 or wider, and rounded once.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    One tap, moved half a pixel to the right; half of what is behind the last pixel is 0.

    >>> import numpy as np, pymluops
    >>> image = np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1)
    >>> offset = np.tile(np.array([0, 0.5], np.float32), (1, 1, 3, 1))
    >>> moved = pymluops.deform_conv_forward(image, offset, np.ones((1, 1, 1, 1), np.float32))
    >>> moved[0, :, :, 0]
    array([[1.5, 3. , 2. ]], dtype=float32)
    """
    call = Call("mluOpDCNForward", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    moves = call.input("offset", offset, batch=True)
    weights = call.input("filter", filter)
    scale = optional(call, "mask", mask)
    added = ABSENT if bias is None else call.input("bias", bias, ndim=1)
    form = Form(call, pad, stride, dilation, (deformable_group, conv_group, im2col_step))
    shape = (x.shape[0], *form.output_size(x.shape[1:3], weights.shape[1:3]), weights.shape[0])
    y = call.output("out", out, shape, x.dtype, batch=True)
    tensors = (x, moves, scale, weights, added)
    room = call.workspace("mluOpGetDCNForwardWorkspaceSize", form.made, *descriptors(*tensors, y))
    call.run(form.made, *tensors, *room, y)
    return y.result


@repeatable
def deform_conv_backward_data(
    input: ArrayLike,
    offset: ArrayLike,
    filter: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    grad_output: ArrayLike,
    pad: Sizes = 0,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    deformable_group: SupportsIndex = 1,
    conv_group: SupportsIndex = 1,
    im2col_step: SupportsIndex = 1,
    out: tuple[Output | None, Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array, Array | None]:
    """Compute the gradients of `deform_conv_forward` for its input, its offset and its mask.

    Each sample adds ``weight * mask * gradient of the sample`` to the four pixels around it. The
    gradients of its offsets are the derivatives of its value downwards and to the right, times its
    gradient. A sample outside the map has the gradient 0, and adds nothing.

    Parameters
    ----------
    input, offset, filter, mask : array_like
        As in `deform_conv_forward`.
    grad_output : array_like, [N, ho, wo, co], the dtype of `input`
        The gradient of the result of `deform_conv_forward`. A keyword argument.
    pad, stride, dilation, deformable_group, conv_group, im2col_step
        As in `deform_conv_forward`.
    out : tuple of three arrays, optional
        The arrays that receive grad_input, grad_offset and grad_mask; None for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    grad_input : array, [N, H, W, C], the dtype of `input`
    grad_offset : array, the shape of `offset`, the dtype of `input`
    grad_mask : array, the shape of `mask`, the dtype of `input`, or None
        None without a mask.

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> image = np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1)
    >>> offset = np.tile(np.array([0, 0.5], np.float32), (1, 1, 3, 1))
    >>> ones = np.ones((1, 1, 3, 1), np.float32)
    >>> grad_input, grad_offset, _ = pymluops.deform_conv_backward_data(
    ...     image, offset, ones[:, :, :1], grad_output=ones)
    >>> grad_input[0, :, :, 0], grad_offset[0, 0, :, 1]
    (array([[0.5, 1. , 1. ]], dtype=float32), array([ 1.,  2., -4.], dtype=float32))
    """
    call = Call("mluOpDCNBackwardData", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    moves = call.input("offset", offset, batch=True)
    weights = call.input("filter", filter)
    scale = optional(call, "mask", mask)
    dy = call.input("grad_output", grad_output, batch=True)
    form = Form(call, pad, stride, dilation, (deformable_group, conv_group, im2col_step))
    out_input, out_offset, out_mask = call.several(("grad_input", "grad_offset", "grad_mask"), out)
    dx = call.output("out[0]", out_input, x.shape, x.dtype, batch=True)
    dmoves = call.output("out[1]", out_offset, moves.shape, x.dtype, batch=True)
    dscale = ABSENT
    if scale is not ABSENT:
        dscale = call.output("out[2]", out_mask, scale.shape, x.dtype, batch=True)
    elif out_mask is not None:
        call.refuse("out[2]", "given, expected None as there is no mask")
    tensors, results = (x, moves, scale, weights, dy), (dx, dmoves, dscale)
    room = call.workspace(
        "mluOpGetDCNBakcwardDataWorkspaceSize", form.made, *descriptors(*tensors, *results)
    )
    call.run(form.made, *tensors, *room, *results)
    return dx.result, dmoves.result, None if dscale is ABSENT else dscale.result


@repeatable
def deform_conv_backward_weight(
    input: ArrayLike,
    offset: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    grad_output: ArrayLike,
    kernel_size: Sizes,
    pad: Sizes = 0,
    stride: Sizes = 1,
    dilation: Sizes = 1,
    deformable_group: SupportsIndex = 1,
    conv_group: SupportsIndex = 1,
    im2col_step: SupportsIndex = 1,
    out: tuple[Output | None, Output | None] | None = None,
    handle: Handle | None = None,
) -> tuple[Array, Array]:
    """Compute the gradients of `deform_conv_forward` for its filter and its bias.

    ``grad_filter[o, i, j, c]`` is the sum over all output pixels of the gradient in channel o times
    the sample of tap (i, j) in channel c times its mask. ``grad_bias[o]`` is the sum of the
    gradient in channel o.

    Parameters
    ----------
    input, offset, mask : array_like
        As in `deform_conv_forward`.
    grad_output : array_like, [N, ho, wo, co], the dtype of `input`
        The gradient of the result of `deform_conv_forward`. A keyword argument.
    kernel_size : int or (int, int)
        Rows and columns of the filter.
    pad, stride, dilation, deformable_group, conv_group, im2col_step
        As in `deform_conv_forward`.
    out : tuple of two arrays, optional
        The arrays that receive grad_filter and grad_bias; None for a new array.
    handle : Handle, optional
        The handle to run with; by default that of this thread.

    Returns
    -------
    grad_filter : array, [co, kh, kw, C/conv_group], the dtype of `input`
    grad_bias : array, [co], the dtype of `input`

    Raises
    ------
    BadTypeError
        An argument is not an array or has the wrong dtype, or a scalar is not a number.
    BadParamError
        A shape or a value is wrong; the message says which.
    NotSupportedError
        A tensor of 2**31 elements or more.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> image = np.array([1, 2, 4], np.float32).reshape(1, 1, 3, 1)
    >>> offset = np.tile(np.array([0, 0.5], np.float32), (1, 1, 3, 1))
    >>> grad_filter, grad_bias = pymluops.deform_conv_backward_weight(
    ...     image, offset, grad_output=np.ones((1, 1, 3, 1), np.float32), kernel_size=1)
    >>> grad_filter.item(), grad_bias.item()
    (6.5, 3.0)
    """
    call = Call("mluOpDCNBackwardWeight", handle, Layout.NHWC)
    x = call.input("input", input, batch=True)
    moves = call.input("offset", offset, batch=True)
    scale = optional(call, "mask", mask)
    dy = call.input("grad_output", grad_output, batch=True)
    form = Form(call, pad, stride, dilation, (deformable_group, conv_group, im2col_step))
    kernel = [call.extent("kernel_size", size) for size in call.sizes("kernel_size", kernel_size)]
    out_filter, out_bias = call.several(("grad_filter", "grad_bias"), out)
    channels, outputs = x.shape[3] // form.conv_group, dy.shape[3]
    dweights = call.output("out[0]", out_filter, (outputs, *kernel, channels), x.dtype)
    dadded = call.output("out[1]", out_bias, (outputs,), x.dtype)
    tensors, results = (x, moves, scale, dy), (dweights, dadded)
    room = call.workspace(
        "mluOpGetDCNBackwardWeightWorkspaceSize", form.made, *descriptors(*tensors, *results)
    )
    call.run(form.made, *tensors, *room, *results)
    return dweights.result, dadded.result
