# SPDX-License-Identifier: Apache-2.0
"""The MLU-OPS vision operators on CPUs, as NumPy functions over a C library."""

import importlib
import pkgutil
from types import ModuleType

# In a source folder whose package is installed elsewhere, the compiled part comes from there.
__path__ = pkgutil.extend_path(__path__, __name__)

from pymluops import _log, _signature
from pymluops._config import include_path, library_path, show_config
from pymluops._config import version as __version__
from pymluops._descriptor import TensorDescriptor
from pymluops._families.border_align.arrays import border_align_backward, border_align_forward
from pymluops._families.carafe.arrays import carafe_backward, carafe_forward
from pymluops._families.dcn.arrays import (
    deform_conv_backward_data,
    deform_conv_backward_weight,
    deform_conv_forward,
)
from pymluops._families.deform_roi_pool.arrays import (
    deform_roi_pool_backward,
    deform_roi_pool_forward,
)
from pymluops._families.masked.arrays import masked_col2im_forward, masked_im2col_forward
from pymluops._families.nms.arrays import batched_nms, nms
from pymluops._families.psamask.arrays import psamask_backward, psamask_forward
from pymluops._families.roi_align.arrays import roi_align_backward, roi_align_forward
from pymluops._handle import Handle, supported_isas
from pymluops._layout import to_nchw, to_nhwc
from pymluops._threads import default_handle, get_num_threads, set_num_threads, threads
from pymluops.errors import (
    AllocFailedError,
    ArchMismatchError,
    BadParamError,
    BadTypeError,
    ExecutionFailedError,
    InternalError,
    MluOpError,
    NotInitializedError,
    NotSupportedError,
    NumericalOverflowError,
)

__all__ = [
    "AllocFailedError",
    "ArchMismatchError",
    "BadParamError",
    "BadTypeError",
    "ExecutionFailedError",
    "Handle",
    "InternalError",
    "MluOpError",
    "NotInitializedError",
    "NotSupportedError",
    "NumericalOverflowError",
    "TensorDescriptor",
    "__version__",
    "batched_nms",
    "border_align_backward",
    "border_align_forward",
    "carafe_backward",
    "carafe_forward",
    "default_handle",
    "deform_conv_backward_data",
    "deform_conv_backward_weight",
    "deform_conv_forward",
    "deform_roi_pool_backward",
    "deform_roi_pool_forward",
    "get_num_threads",
    "include_path",
    "library_path",
    "masked_col2im_forward",
    "masked_im2col_forward",
    "nms",
    "psamask_backward",
    "psamask_forward",
    "roi_align_backward",
    "roi_align_forward",
    "set_num_threads",
    "show_config",
    "supported_isas",
    "threads",
    "to_nchw",
    "to_nhwc",
]

_log.install()
_signature.hide_types(*map(globals().get, __all__))

# Imported when they are first asked for.
_SUBMODULES = ("accuracy", "capi", "errors", "reference")


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__doc__", "__file__", "__name__", "__path__"})
