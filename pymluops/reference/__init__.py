# SPDX-License-Identifier: Apache-2.0
"""The operators in plain NumPy and float64: independent of the C library, and slow.

There is a module for each family, such as ``pymluops.reference.carafe``. A family with several
operators has a name for each of them too: ``masked_im2col`` and ``masked_col2im`` are ``masked``.
"""

import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from pymluops._families import parts


def _names(family: str, module: ModuleType) -> set[str]:
    found = (re.fullmatch(r"([a-z]\w*)_(?:for|back)ward", name) for name in vars(module))
    return {family} | {match[1] for match in found if match}


_modules = {
    name: module for family, module in parts("reference") for name in _names(family, module)
}
__all__ = sorted(_modules)

globals().update(_modules)
# `from pymluops.reference.carafe import carafe_forward` works as well.
sys.modules.update({f"{__name__}.{name}": module for name, module in _modules.items()})

if TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType: ...
