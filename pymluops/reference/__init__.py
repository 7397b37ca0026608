# SPDX-License-Identifier: Apache-2.0
"""The operators in plain NumPy and float64: independent of the C library, and slow."""

import sys

from pymluops._families.border_align import reference as border_align
from pymluops._families.carafe import reference as carafe
from pymluops._families.deform_roi_pool import reference as deform_roi_pool
from pymluops._families.masked import col2im_reference as masked_col2im
from pymluops._families.masked import im2col_reference as masked_im2col
from pymluops._families.psamask import reference as psamask

__all__ = [
    "border_align",
    "carafe",
    "deform_roi_pool",
    "masked_col2im",
    "masked_im2col",
    "psamask",
]

# `from pymluops.reference.carafe import carafe_forward` works as well.
for _name in __all__:
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
