# SPDX-License-Identifier: Apache-2.0
"""Models that upsample by CARAFE, and CARAFE in plain torch."""

from parts import Model
from torch import Tensor
from torch.nn import functional

MODELS = {
    "carafe faster-rcnn": Model(
        "mmdet", "carafe/faster-rcnn_r50_fpn-carafe_1x_coco.py", channels_last=True
    ),
    "carafe mask-rcnn": Model("mmdet", "carafe/mask-rcnn_r50_fpn-carafe_1x_coco.py", autocast=True),
}


def carafe(features: Tensor, masks: Tensor, kernel: int, group: int, scale: int) -> Tensor:
    n, c, h, w = features.shape
    windows = functional.unfold(features, kernel, padding=kernel // 2)
    windows = windows.view(n, c * kernel**2, h, w)
    windows = functional.interpolate(windows, scale_factor=scale, mode="nearest")
    windows = windows.view(n, group, c // group, kernel**2, h * scale, w * scale)
    kernels = masks.view(n, group, 1, kernel**2, h * scale, w * scale)
    return (windows * kernels).sum(3).view(n, c, h * scale, w * scale)


STAND_INS = {"carafe.carafe": ("carafe", carafe)}
