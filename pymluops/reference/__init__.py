# SPDX-License-Identifier: Apache-2.0
"""The operators in plain NumPy and float64: independent of the C library, and slow.

A reference can replace its operator: ``pymluops.reference.border_align_forward`` takes the
arguments of `pymluops.border_align_forward`, except `out` and `handle`. It also takes lists and
arrays of float64. Computed results are float64; data that is only moved keeps its dtype.

There is also a module for each family, such as ``pymluops.reference.border_align``, and for each
operator of a family with several operators.
"""

import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pymluops
from pymluops._families import parts
from pymluops._signature import hide_types


def _names(family: str, module: ModuleType) -> set[str]:
    found = (re.fullmatch(r"([a-z]\w*)_(?:for|back)ward", name) for name in vars(module))
    return {family} | {match[1] for match in found if match}


_modules = {
    name: module for family, module in parts("reference") for name in _names(family, module)
}
_functions = {
    name: function
    for module in _modules.values()
    for name, function in vars(module).items()
    if name in pymluops.__all__
}
__all__ = sorted({*_modules, *_functions})

globals().update(_modules)
# An operator named like its family is what that name means.
globals().update(_functions)
# `from pymluops.reference.border_align import border_align_forward` works as well.
sys.modules.update({f"{__name__}.{name}": module for name, module in _modules.items()})

hide_types(*_functions.values())

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
