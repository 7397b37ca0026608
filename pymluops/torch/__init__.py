# SPDX-License-Identifier: Apache-2.0
"""The operators for PyTorch, with the names and the signatures that mmcv.ops gives them.

Tensors are (N, C, H, W) on the CPU, in float32, float16, bfloat16 or float64. A channels_last
tensor is not converted, and gives a channels_last result. All operators have first derivatives,
and work with torch.compile and torch.export.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = "pymluops.torch needs PyTorch: pip install torch"
    raise ModuleNotFoundError(message, name="torch") from error

from pymluops._families.border_align.tensors import BorderAlign, border_align
from pymluops._families.carafe.modules import CARAFE, CARAFENaive, CARAFEPack
from pymluops._families.carafe.tensors import carafe, carafe_naive
from pymluops._families.dcn.modules import (
    DeformConv2d,
    DeformConv2dPack,
    ModulatedDeformConv2d,
    ModulatedDeformConv2dPack,
)
from pymluops._families.dcn.tensors import deform_conv2d, modulated_deform_conv2d
from pymluops._families.deform_roi_pool.modules import (
    DeformRoIPool,
    DeformRoIPoolPack,
    ModulatedDeformRoIPoolPack,
)
from pymluops._families.deform_roi_pool.tensors import deform_roi_pool
from pymluops._families.masked.modules import MaskedConv2d
from pymluops._families.masked.tensors import masked_conv2d
from pymluops._families.nms.tensors import batched_nms, nms, soft_nms
from pymluops._families.psamask.tensors import PSAMask, psa_mask
from pymluops._families.roi_align.tensors import RoIAlign, roi_align
from pymluops._signature import hide_types as _hide_types
from pymluops.torch._memory import empty_cache
from pymluops.torch._operators import refuse_scripting as _refuse_scripting

__all__ = [
    "CARAFE",
    "BorderAlign",
    "CARAFENaive",
    "CARAFEPack",
    "DeformConv2d",
    "DeformConv2dPack",
    "DeformRoIPool",
    "DeformRoIPoolPack",
    "MaskedConv2d",
    "ModulatedDeformConv2d",
    "ModulatedDeformConv2dPack",
    "ModulatedDeformRoIPoolPack",
    "PSAMask",
    "RoIAlign",
    "batched_nms",
    "border_align",
    "carafe",
    "carafe_naive",
    "deform_conv2d",
    "deform_roi_pool",
    "empty_cache",
    "masked_conv2d",
    "modulated_deform_conv2d",
    "nms",
    "psa_mask",
    "roi_align",
    "soft_nms",
]

_hide_types(*map(globals().get, __all__))
for _name in __all__:
    globals()[_name].__prepare_scriptable__ = _refuse_scripting(_name)
