# SPDX-License-Identifier: Apache-2.0
"""Masked convolution as a module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pymluops._families.masked.tensors import masked_conv2d


class MaskedConv2d(nn.Conv2d):
    """A convolution that computes only where a mask is positive, if there is a mask.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As for ``torch.nn.Conv2d``. With a mask, stride, dilation and groups must be 1.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )

    def forward(self, input: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply :func:`masked_conv2d`; without a mask, ``torch.nn.Conv2d``.

        The result has the same dtype with a mask and without, under autocast too.
        """
        if mask is None:
            return nn.Conv2d.forward(
                self, input
            )  # not super(): it is a method of mmcv's class, too
        for name, value, supported in (
            ("dilation", self.dilation, (1, 1)),
            ("groups", self.groups, 1),
        ):
            if value != supported:
                message = f"MaskedConv2d: {name} is {value}, expected 1 where a mask is given"
                raise ValueError(message)
        result = masked_conv2d(input, mask, self.weight, self.bias, self.padding, self.stride)
        if torch.is_autocast_enabled("cpu") and result.dtype is torch.float32:
            return result.to(torch.get_autocast_dtype("cpu"))
        return result
