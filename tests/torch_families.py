# SPDX-License-Identifier: Apache-2.0
"""The PyTorch cases of all families: each has its own in tests/<family>/torch_cases.py."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parent


@cache
def of_family(family: str) -> ModuleType:
    """Return the cases of a family, and its reference in stock operations."""
    name = f"{family}_torch_cases"
    spec = importlib.util.spec_from_file_location(name, TESTS / family / "torch_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAMILIES = sorted(path.parent.name for path in TESTS.glob("*/torch_cases.py"))
CASES = [case for family in FAMILIES for case in of_family(family).CASES]
#: One of each family, for what costs seconds per case.
FIRST_CASES = [of_family(family).CASES[0] for family in FAMILIES]
MODULES = {name: made for family in FAMILIES for name, made in of_family(family).MODULES.items()}
#: Modules that mmcv cannot train, while ours can be.
NO_GRADIENTS_IN_MMCV = {
    name for family in FAMILIES for name in getattr(of_family(family), "NO_GRADIENTS_IN_MMCV", ())
}
