# SPDX-License-Identifier: Apache-2.0
"""What spawned processes run in test_torch_mmcv_on_cpu.py: they import it, and that is all."""

import warnings

import importable_cv2  # noqa: F401

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
    import pymluops.torch.mmcv_on_cpu  # noqa: F401

    # isort: split
    from mmcv.ops import deform_conv2d

import torch
from torch import Tensor
from torch.utils.data import Dataset


class Convolved(Dataset[Tensor]):
    """Item `i` is what mmcv's deformable convolution makes of random numbers."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        generator = torch.Generator().manual_seed(index)
        features = torch.randn(1, 4, 3, 3, generator=generator)
        offset = torch.randn(1, 2, 3, 3, generator=generator)
        weight = torch.randn(5, 4, 1, 1, generator=generator)
        return deform_conv2d(features, offset, weight)[0]
