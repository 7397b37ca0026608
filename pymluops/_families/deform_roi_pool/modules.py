# SPDX-License-Identifier: Apache-2.0
"""Deformable RoI pooling as modules, which may predict the offsets."""

from __future__ import annotations

from torch import Tensor, nn

from pymluops._families.deform_roi_pool.tensors import deform_roi_pool
from pymluops.torch._operators import check_tensor
from pymluops.torch._tensors import check_dims, pair, spec


class DeformRoIPool(nn.Module):
    """The operator :func:`deform_roi_pool` as a module.

    Parameters
    ----------
    output_size, spatial_scale, sampling_ratio, gamma
        As for :func:`deform_roi_pool`.
    """

    def __init__(
        self,
        output_size: int | tuple[int, ...],
        spatial_scale: float = 1.0,
        sampling_ratio: int = 0,
        gamma: float = 0.1,
    ) -> None:
        super().__init__()
        self.output_size = pair(type(self).__name__, "output_size", output_size)
        self.spatial_scale = float(spatial_scale)
        self.sampling_ratio = int(sampling_ratio)
        self.gamma = float(gamma)

    def forward(self, input: Tensor, rois: Tensor, offset: Tensor | None = None) -> Tensor:
        """Apply :func:`deform_roi_pool`."""
        return deform_roi_pool(
            input,
            rois,
            offset,
            self.output_size,
            self.spatial_scale,
            self.sampling_ratio,
            self.gamma,
        )

    def extra_repr(self) -> str:
        """Return the parameters for ``repr``."""
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, gamma={self.gamma}"
        )


class DeformRoIPoolPack(DeformRoIPool):
    """Deformable RoI pooling that predicts the offsets from the regions themselves.

    Parameters
    ----------
    output_size, spatial_scale, sampling_ratio, gamma
        As for :func:`deform_roi_pool`.
    output_channels : int
        Channels of the features.
    deform_fc_channels : int
        Width of the layers that predict the offsets.
    """

    def __init__(
        self,
        output_size: int | tuple[int, ...],
        output_channels: int,
        deform_fc_channels: int = 1024,
        spatial_scale: float = 1.0,
        sampling_ratio: int = 0,
        gamma: float = 0.1,
    ) -> None:
        super().__init__(output_size, spatial_scale, sampling_ratio, gamma)
        self.output_channels = output_channels
        self.deform_fc_channels = deform_fc_channels
        bins = self.output_size[0] * self.output_size[1]
        self.offset_fc = nn.Sequential(
            nn.Linear(bins * output_channels, deform_fc_channels),
            nn.ReLU(inplace=True),
            nn.Linear(deform_fc_channels, deform_fc_channels),
            nn.ReLU(inplace=True),
            nn.Linear(deform_fc_channels, bins * 2),
        )
        _zero(self.offset_fc[-1])

    def forward(self, input: Tensor, rois: Tensor) -> Tensor:  # type: ignore[override]
        """Pool, predict offsets from the result, and pool again with them."""
        return _deformed_bins(self, input, rois, _regular_bins(self, input, rois))


class ModulatedDeformRoIPoolPack(DeformRoIPoolPack):
    """As :class:`DeformRoIPoolPack`, with a predicted weight for each bin.

    Parameters
    ----------
    output_size, output_channels, deform_fc_channels, spatial_scale, sampling_ratio, gamma
        As for :class:`DeformRoIPoolPack`.
    """

    def __init__(
        self,
        output_size: int | tuple[int, ...],
        output_channels: int,
        deform_fc_channels: int = 1024,
        spatial_scale: float = 1.0,
        sampling_ratio: int = 0,
        gamma: float = 0.1,
    ) -> None:
        super().__init__(
            output_size, output_channels, deform_fc_channels, spatial_scale, sampling_ratio, gamma
        )
        bins = self.output_size[0] * self.output_size[1]
        self.mask_fc = nn.Sequential(
            nn.Linear(bins * output_channels, deform_fc_channels),
            nn.ReLU(inplace=True),
            nn.Linear(deform_fc_channels, bins),
            nn.Sigmoid(),
        )
        _zero(self.mask_fc[2])

    def forward(self, input: Tensor, rois: Tensor) -> Tensor:  # type: ignore[override]
        """Pool as the parent does, and weight the bins."""
        regular = _regular_bins(self, input, rois)
        mask: Tensor = self.mask_fc(regular).unflatten(1, (1, *self.output_size))
        return _deformed_bins(self, input, rois, regular) * mask


# Functions, as mmcv's classes have the methods that call them, too.


def _regular_bins(module: DeformRoIPoolPack, input: Tensor, rois: Tensor) -> Tensor:
    """Pool without offsets, one row of numbers per region."""
    check_tensor(type(module).__name__, "input", input)
    check_dims(type(module).__name__, "input", spec(input), "N, C, H, W")
    if input.size(1) != module.output_channels:
        message = (
            f"{type(module).__name__}: input has {input.size(1)} channels, expected "
            f"output_channels ({module.output_channels})"
        )
        raise ValueError(message)
    return DeformRoIPool.forward(module, input, rois).flatten(1)


def _deformed_bins(
    module: DeformRoIPoolPack, input: Tensor, rois: Tensor, regular: Tensor
) -> Tensor:
    offset = module.offset_fc(regular).unflatten(1, (2, *module.output_size))
    return DeformRoIPool.forward(module, input, rois, offset)


def _zero(layer: nn.Module) -> None:
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
