# SPDX-License-Identifier: Apache-2.0
"""The numbers of a deformable convolution, and the descriptor that C has for them."""

from __future__ import annotations

from typing import SupportsIndex

from pymluops._arguments import Sizes
from pymluops._call import ABSENT, Call, Tensor
from pymluops._descriptor import object_descriptor
from pymluops._tensor import ArrayLike
from pymluops.capi import CData, DataType

# A plain number: hashing an enumerator takes longer than the rest of the look-up.
_FLOAT = int(DataType.FLOAT)


def descriptor(
    pad: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    deformable_group: int,
    conv_group: int,
    im2col_step: int,
) -> CData:
    """Return the descriptor of these numbers, which C judges; `pad` is that of all four sides."""
    groups = (deformable_group, conv_group, im2col_step)
    return object_descriptor("DCN", 4, pad, stride, dilation, *groups, _FLOAT)


class Form:
    """The numbers of a call."""

    def __init__(
        self,
        call: Call,
        pad: Sizes,
        stride: Sizes,
        dilation: Sizes,
        groups: tuple[SupportsIndex, SupportsIndex, SupportsIndex],
    ) -> None:
        pads = call.sizes("pad", pad, (2, 4))
        self.pad = pads if len(pads) == 4 else (pads[0], pads[0], pads[1], pads[1])
        self.stride = call.sizes("stride", stride)
        self.dilation = call.sizes("dilation", dilation)
        deformable_group = call.integer("deformable_group", groups[0])
        self.conv_group = call.integer("conv_group", groups[1])
        step = call.integer("im2col_step", groups[2])
        sides = (self.pad, self.stride, self.dilation)
        self.made = call.parameters(descriptor, *sides, deformable_group, self.conv_group, step)

    def output_size(self, image: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, int]:
        """Return rows and columns of the result."""
        top, bottom, left, right = self.pad
        (dilation_h, dilation_w), (stride_h, stride_w) = self.dilation, self.stride
        return (
            _extent(image[0] + top + bottom, kernel[0], dilation_h, stride_h),
            _extent(image[1] + left + right, kernel[1], dilation_w, stride_w),
        )


def _extent(padded: int, taps: int, dilation: int, stride: int) -> int:
    """Return the pixels of an axis; 1 where the library is to find that no filter fits."""
    return max((padded - dilation * (taps - 1) - 1) // stride + 1, 1)


def optional(call: Call, name: str, value: ArrayLike | None) -> Tensor:
    """Return the tensor of an argument for each image that may be None."""
    return ABSENT if value is None else call.input(name, value, batch=True)


def descriptors(*tensors: Tensor) -> list[CData]:
    """Return what a function that asks for sizes takes."""
    return [tensor.descriptor for tensor in tensors]
