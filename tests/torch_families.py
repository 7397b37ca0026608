# SPDX-License-Identifier: Apache-2.0
"""The PyTorch cases of all families: each has its own in tests/<family>/torch_cases.py."""

from types import ModuleType

from families import family_file, family_files


def of_family(family: str) -> ModuleType:
    """Return the cases of a family, and its reference in stock operations."""
    return family_file(family, "torch_cases")


FAMILIES = [family for family, _ in family_files("torch_cases")]
EVERY_CASE = [case for family in FAMILIES for case in of_family(family).CASES]
#: Those with a tensor of numbers as result, and gradients. A family without has tests of its own.
CASES = [case for case in EVERY_CASE if case.differentiable]
#: One of each family, for what costs seconds per case.
FIRST_CASES = [
    of_family(family).CASES[0] for family in FAMILIES if of_family(family).CASES[0] in CASES
]
MODULES = {name: made for family in FAMILIES for name, made in of_family(family).MODULES.items()}
#: What ONNX files say of modules: module, inputs, attributes.
ONNX = {
    name: made
    for family in FAMILIES
    for name, made in getattr(of_family(family), "ONNX", {}).items()
}
