# SPDX-License-Identifier: Apache-2.0
"""CARAFE as modules, and the upsampler that predicts its masks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pymluops._families.carafe.tensors import carafe
from pymluops.torch._operators import check_tensor
from pymluops.torch._tensors import check_dims, spec


class CARAFE(nn.Module):
    """The operator :func:`carafe` as a module.

    Parameters
    ----------
    kernel_size, group_size, scale_factor : int
        As for :func:`carafe`.
    """

    def __init__(self, kernel_size: int, group_size: int, scale_factor: int) -> None:
        super().__init__()
        for name, value in (
            ("kernel_size", kernel_size),
            ("group_size", group_size),
            ("scale_factor", scale_factor),
        ):
            if not isinstance(value, int):
                message = f"{type(self).__name__}: {name} is {value!r}, expected an int"
                raise TypeError(message)
        self.kernel_size = kernel_size
        self.group_size = group_size
        self.scale_factor = scale_factor

    def forward(self, features: Tensor, masks: Tensor) -> Tensor:
        """Apply :func:`carafe`."""
        return carafe(features, masks, self.kernel_size, self.group_size, self.scale_factor)

    def extra_repr(self) -> str:
        """Return the parameters for ``repr``."""
        return (
            f"kernel_size={self.kernel_size}, group_size={self.group_size}, "
            f"scale_factor={self.scale_factor}"
        )


class CARAFENaive(CARAFE):
    """The same as :class:`CARAFE`; mmcv has both names."""


class CARAFEPack(nn.Module):
    """An upsampler that predicts the kernels of CARAFE from the features themselves.

    A 1x1 convolution compresses the channels, a second one predicts a kernel for each output
    pixel, softmax normalises it, and :func:`carafe` applies it.

    Parameters
    ----------
    channels : int
        Channels of the features.
    scale_factor : int
        Output pixels per input pixel along each axis.
    up_kernel, up_group : int
        ``kernel_size`` and ``group_size`` of :func:`carafe`.
    encoder_kernel, encoder_dilation : int
        Kernel size and dilation of the convolution that predicts the kernels.
    compressed_channels : int
        Channels between the two convolutions.
    """

    def __init__(
        self,
        channels: int,
        scale_factor: int,
        up_kernel: int = 5,
        up_group: int = 1,
        encoder_kernel: int = 3,
        encoder_dilation: int = 1,
        compressed_channels: int = 64,
    ) -> None:
        super().__init__()
        self.channels = channels
        self.scale_factor = scale_factor
        self.up_kernel = up_kernel
        self.up_group = up_group
        self.encoder_kernel = encoder_kernel
        self.encoder_dilation = encoder_dilation
        self.compressed_channels = compressed_channels
        self.channel_compressor = nn.Conv2d(channels, compressed_channels, 1)
        self.content_encoder = nn.Conv2d(
            compressed_channels,
            up_kernel * up_kernel * up_group * scale_factor * scale_factor,
            encoder_kernel,
            padding=(encoder_kernel - 1) * encoder_dilation // 2,
            dilation=encoder_dilation,
        )
        self.init_weights()

    def init_weights(self) -> None:
        """Initialise so that every predicted kernel is close to a plain average."""
        for convolution in (self.channel_compressor, self.content_encoder):
            nn.init.xavier_uniform_(convolution.weight)
            if convolution.bias is not None:
                nn.init.zeros_(convolution.bias)
        nn.init.normal_(self.content_encoder.weight, std=0.001)

    def kernel_normalizer(self, mask: Tensor) -> Tensor:
        """Rearrange the predicted values to output pixels, and normalise each kernel to the sum 1.

        Works on NHWC memory, where a kernel's values are neighbours: the result is
        channels_last and goes into :func:`carafe` without another copy.
        """
        s = self.scale_factor
        n, c, h, w = mask.shape
        channels = c // (s * s)
        pixels = mask.permute(0, 2, 3, 1).reshape(n, h, w, channels, s, s)
        shuffled = pixels.permute(0, 1, 4, 2, 5, 3).reshape(
            n, h * s, w * s, channels // self.up_kernel**2, self.up_kernel**2
        )
        normalized = torch.softmax(shuffled, dim=-1, dtype=mask.dtype)
        return normalized.reshape(n, h * s, w * s, channels).permute(0, 3, 1, 2)

    def feature_reassemble(self, x: Tensor, mask: Tensor) -> Tensor:
        """Apply normalised kernels."""
        return carafe(x, mask, self.up_kernel, self.up_group, self.scale_factor)

    def forward(self, x: Tensor) -> Tensor:
        """Upsample (N, channels, H, W) to (N, channels, scale_factor * H, scale_factor * W)."""
        check_tensor("CARAFEPack", "x", x)
        check_dims("CARAFEPack", "x", spec(x), "N, C, H, W")
        mask = self.content_encoder(self.channel_compressor(x))
        return self.feature_reassemble(x, self.kernel_normalizer(mask))
