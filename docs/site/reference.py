# SPDX-License-Identifier: Apache-2.0
"""Pages of reference for the Python package: what each public module exports."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pymluops
from pymluops import _families

_PAGES = Path(__file__).resolve().parents[1] / "operators"

# The public modules besides pymluops itself.
_MODULES = (
    "pymluops.accuracy",
    "pymluops.capi",
    "pymluops.reference",
    "pymluops.torch",
    "pymluops.torch.mmcv_backend",
    "pymluops.torch.onnx",
)


def pages() -> dict[str, str]:
    """Return the pages, by their places."""
    found = {"reference/python/pymluops.md": _package()}
    for name in _MODULES:
        module = importlib.import_module(name)
        found[f"reference/python/{name}.md"] = _module(module)
    return found


def _package() -> str:
    operators = []
    for family, module in _families.parts("arrays"):
        names = [name for name in pymluops.__all__ if _is_from(name, module)]
        title = (_PAGES / f"{family}.md").read_text().partition("\n")[0]
        operators += [f"##{title}", *map(_entry, names)]
    rest = [
        name
        for name in pymluops.__all__
        if "_families" not in getattr(getattr(pymluops, name), "__module__", "")
        and not name.startswith("__")
    ]
    errors = [name for name in rest if name.endswith("Error")]
    others = [name for name in rest if name not in errors]
    return "\n\n".join(
        [
            "# pymluops",
            _about(pymluops),
            "## Operators",
            *operators,
            "## Handles, threads, layouts, paths",
            *map(_entry, others),
            "## Errors",
            *map(_entry, errors),
            _entry("check", pymluops.errors),
        ]
    )


def _is_from(name: str, module: ModuleType) -> bool:
    return getattr(getattr(pymluops, name), "__module__", "") == module.__name__


def _entry(name: str, module: ModuleType = pymluops) -> str:
    thing = getattr(module, name)
    path = f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        options = ":show-inheritance:\n" + ("" if issubclass(thing, Exception) else ":members:\n")
        return _directive("autoclass", path, options)
    return _directive("autofunction" if callable(thing) else "autodata", path)


def _directive(name: str, argument: str, options: str = "") -> str:
    inner = "".join(f"   {line}\n" for line in options.splitlines())
    return f"```{{eval-rst}}\n.. {name}:: {argument}\n{inner}```"


def _about(module: ModuleType) -> str:
    return _directive("automodule", module.__name__, ":no-members:\n")


def _module(module: ModuleType) -> str:
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    ]
    entries = [_entry(name, module) for name in names if not inspect.ismodule(vars(module)[name])]
    return "\n\n".join([f"# {module.__name__}", _about(module), *entries])
