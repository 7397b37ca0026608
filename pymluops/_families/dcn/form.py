# SPDX-License-Identifier: Apache-2.0
"""The numbers of a deformable convolution, and the descriptor that C has for them."""

from __future__ import annotations

from typing import SupportsIndex

from pymluops._arguments import Sizes
from pymluops._call import ABSENT, Call, Tensor
from pymluops._descriptor import object_descriptor
from pymluops._tensor import ArrayLike
from pymluops.capi import CData, DataType


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
    return object_descriptor("DCN", 4, pad, stride, dilation, *groups, int(DataType.FLOAT))


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
        names = ("deformable_group", "conv_group", "im2col_step")
        numbers = [call.integer(*each) for each in zip(names, groups, strict=True)]
        self.conv_group = numbers[1]
        settings = (self.pad, self.stride, self.dilation, *numbers)
        self.made = call.parameters(descriptor, *settings)

    def output_size(self, image: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, ...]:
        """Return rows and columns of the result; 1 where the library is to find that none fit."""
        return tuple(
            max((size + pads - dilation * (taps - 1) - 1) // stride + 1, 1)
            for size, taps, pads, stride, dilation in zip(
                image,
                kernel,
                (sum(self.pad[:2]), sum(self.pad[2:])),
                self.stride,
                self.dilation,
                strict=True,
            )
        )


def optional(call: Call, name: str, value: ArrayLike | None) -> Tensor:
    """Return the tensor of an argument for each image that may be None."""
    return ABSENT if value is None else call.input(name, value, batch=True)


def descriptors(*tensors: Tensor) -> list[CData]:
    """Return what a function that asks for sizes takes."""
    return [tensor.descriptor for tensor in tensors]
