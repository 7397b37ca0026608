# SPDX-License-Identifier: Apache-2.0
"""Models that convolve where anchors are guided to, and masked convolution in plain torch."""

from typing import Any

from parts import Model
from torch import Tensor
from torch.nn import functional

_GUIDED = "guided_anchoring/{}_r50_fpn_1x_coco.py"
MODELS = {
    "ga-retinanet": Model("mmdet", _GUIDED.format("ga-retinanet")),
    "ga-rpn": Model("mmdet", _GUIDED.format("ga-rpn"), one_class=True),
    "ga-faster-rcnn": Model("mmdet", _GUIDED.format("ga-faster-rcnn")),
}


def masked_conv2d(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    return functional.conv2d(features, weight, bias, stride, padding) * (mask > 0)


STAND_INS = {"masked_conv.masked_conv2d": ("masked_conv2d", masked_conv2d)}
