# SPDX-License-Identifier: Apache-2.0
"""Deformable convolution as modules, which may predict their offsets and masks."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec

import torch
from torch import Tensor, nn

from pymluops._families.dcn.tensors import deform_conv2d, modulated_deform_conv2d
from pymluops.torch._operators import check_tensor
from pymluops.torch._tensors import pair

_Pair = int | tuple[int, ...]
_P = ParamSpec("_P")


def _with_old_name(init: Callable[_P, None]) -> Callable[_P, None]:
    """Let a constructor take deform_groups by the name deformable_groups, as mmcv does."""

    @functools.wraps(init)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> None:
        if "deformable_groups" in kwargs:
            where, old, new = (
                f"{type(args[0]).__name__}.__init__",
                "deformable_groups",
                "deform_groups",
            )
            if new in kwargs:
                raise TypeError(f"{where}: {old} is the old name of {new}, expected one of them")
            message = f'"{old}" is deprecated in `{where}`, please use "{new}" instead'
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            kwargs[new] = kwargs.pop(old)
        init(*args, **kwargs)

    return wrapper


class _Conv(nn.Module):
    """What both kinds have: the numbers, and the weight."""

    bias: nn.Parameter | None

    def __init__(
        self,
        channels: tuple[int, int],
        kernel_size: _Pair,
        stride: _Pair,
        padding: _Pair,
        dilation: _Pair,
        groups: int,
        deform_groups: int,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels, self.out_channels = channels
        self.kernel_size = pair(name, "kernel_size", kernel_size)
        self.stride = pair(name, "stride", stride)
        self.padding = pair(name, "padding", padding)
        self.dilation = pair(name, "dilation", dilation)
        self.groups = groups
        self.deform_groups = deform_groups
        # What is made for nn.Conv2d looks at these.
        self.transposed = False
        self.output_padding = (0,)
        for what, count in (("in_channels", channels[0]), ("out_channels", channels[1])):
            if count % groups != 0:
                message = f"{name}: {what} is {count}, expected a multiple of groups ({groups})"
                raise ValueError(message)
        shape = (channels[1], channels[0] // groups, *self.kernel_size)
        self.weight = nn.Parameter(torch.empty(shape))

    def _numbers(self) -> tuple[Any, ...]:
        return self.stride, self.padding, self.dilation, self.groups, self.deform_groups

    def _predictor(self, numbers_per_tap: int) -> nn.Conv2d:
        """Return the convolution that predicts so many numbers for each tap."""
        taps = self.deform_groups * self.kernel_size[0] * self.kernel_size[1]
        return nn.Conv2d(
            self.in_channels,
            numbers_per_tap * taps,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
        )

    def extra_repr(self) -> str:
        """Return the parameters for ``repr``."""
        has_bias = self._parameters.get("bias") is not None
        return (
            f"in_channels={self.in_channels}, out_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, groups={self.groups}, "
            f"deform_groups={self.deform_groups}, bias={has_bias}"
        )


class _Pack(_Conv):
    """What predicts its offsets: checkpoints of before version 2 have another key for that."""

    _version = 2
    conv_offset: nn.Conv2d

    def init_offset(self) -> None:
        """Initialise so that all offsets are 0, as in a plain convolution."""
        nn.init.zeros_(self.conv_offset.weight)
        if self.conv_offset.bias is not None:
            nn.init.zeros_(self.conv_offset.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:
            for name in ("weight", "bias"):
                now, before = f"{prefix}conv_offset.{name}", f"{prefix[:-1]}_offset.{name}"
                if now not in state_dict and before in state_dict:
                    state_dict[now] = state_dict.pop(before)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class DeformConv2d(_Conv):
    """The operator :func:`deform_conv2d` as a module with a weight.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups
        As for ``torch.nn.Conv2d``.
    deform_groups : int
        The number of groups of input channels; each group has offsets of its own.
    bias : bool
        Must be False.
    im2col_step : int
        A larger batch must be a multiple of it. It does not change the result.
    """

    @_with_old_name
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Pair,
        stride: _Pair = 1,
        padding: _Pair = 0,
        dilation: _Pair = 1,
        groups: int = 1,
        deform_groups: int = 1,
        bias: bool = False,
        im2col_step: int = 32,
    ) -> None:
        channels = (in_channels, out_channels)
        super().__init__(channels, kernel_size, stride, padding, dilation, groups, deform_groups)
        if bias:
            raise ValueError(f"{type(self).__name__}: bias is {bias}, expected False")
        self.im2col_step = im2col_step
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the weight randomly."""
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu")

    def forward(self, x: Tensor, offset: Tensor) -> Tensor:
        """Apply :func:`deform_conv2d`."""
        numbers = (*self._numbers(), False, self.im2col_step)
        return deform_conv2d(x, offset, self.weight, *numbers)


class DeformConv2dPack(DeformConv2d, _Pack):
    """A deformable convolution that predicts its offsets by a plain one.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, deform_groups, bias
        As for :class:`DeformConv2d`.
    im2col_step : int
        As for :class:`DeformConv2d`.
    """

    @_with_old_name
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Pair,
        stride: _Pair = 1,
        padding: _Pair = 0,
        dilation: _Pair = 1,
        groups: int = 1,
        deform_groups: int = 1,
        bias: bool = False,
        im2col_step: int = 32,
    ) -> None:
        numbers = (stride, padding, dilation, groups, deform_groups, bias, im2col_step)
        super().__init__(in_channels, out_channels, kernel_size, *numbers)
        self.conv_offset = self._predictor(2)
        self.init_offset()

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Predict the offsets, and convolve."""
        check_tensor(type(self).__name__, "x", x)
        return super().forward(x, self.conv_offset(x))


class ModulatedDeformConv2d(_Conv):
    """The operator :func:`modulated_deform_conv2d` as a module with weight and bias.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As for ``torch.nn.Conv2d``.
    deform_groups : int
        The number of groups of input channels; each group has offsets and masks of its own.
    """

    @_with_old_name
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Pair,
        stride: _Pair = 1,
        padding: _Pair = 0,
        dilation: _Pair = 1,
        groups: int = 1,
        deform_groups: int = 1,
        bias: bool | str = True,
    ) -> None:
        channels = (in_channels, out_channels)
        super().__init__(channels, kernel_size, stride, padding, dilation, groups, deform_groups)
        self.register_parameter("bias", nn.Parameter(torch.empty(out_channels)) if bias else None)
        self.init_weights()

    def init_weights(self) -> None:
        """Initialise the weight randomly, and the bias with 0."""
        bound = 1 / math.sqrt(self.in_channels * self.kernel_size[0] * self.kernel_size[1])
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
        """Apply :func:`modulated_deform_conv2d`."""
        return modulated_deform_conv2d(x, offset, mask, self.weight, self.bias, *self._numbers())


class ModulatedDeformConv2dPack(ModulatedDeformConv2d, _Pack):
    """A modulated deformable convolution that predicts offsets and masks by a plain one.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, deform_groups, bias
        As for :class:`ModulatedDeformConv2d`.
    """

    @_with_old_name
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Pair,
        stride: _Pair = 1,
        padding: _Pair = 0,
        dilation: _Pair = 1,
        groups: int = 1,
        deform_groups: int = 1,
        bias: bool | str = True,
    ) -> None:
        numbers = (stride, padding, dilation, groups, deform_groups, bias)
        super().__init__(in_channels, out_channels, kernel_size, *numbers)
        self.conv_offset = self._predictor(3)
        self.init_weights()

    def init_weights(self) -> None:
        """Initialise the weight randomly; the bias, the offsets and the masks begin at 0."""
        super().init_weights()
        if hasattr(self, "conv_offset"):
            self.init_offset()

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """Predict offsets and masks, and convolve."""
        check_tensor(type(self).__name__, "x", x)
        first, second, mask = torch.chunk(self.conv_offset(x), 3, dim=1)
        return super().forward(x, torch.cat((first, second), dim=1), torch.sigmoid(mask))
