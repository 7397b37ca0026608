# SPDX-License-Identifier: Apache-2.0
"""Files that the tests of each family have under the same name."""

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parent


@cache
def family_file(family: str, name: str) -> ModuleType:
    """Return tests/<family>/<name>.py as a module."""
    spec = importlib.util.spec_from_file_location(f"{family}_{name}", TESTS / family / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def family_files(name: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield each family that has such a file, and the module."""
    for path in sorted(TESTS.glob(f"*/{name}.py")):
        yield path.parent.name, family_file(path.parent.name, name)
