# SPDX-License-Identifier: Apache-2.0
"""Random values that a case asks for: reproducible, though not those of the card."""

import math
from typing import TYPE_CHECKING

import numpy as np

from pymluops._tensor import Array

if TYPE_CHECKING:
    from pymluops._gen_case.tensors import Tensor

_LARGEST = 2.0**62


def drawn(tensor: "Tensor") -> Array:
    """Return the values of a tensor; its place in the file is part of the seed."""
    random = tensor.message.random_data
    rng = np.random.default_rng((random.seed & 0xFFFFFFFF, tensor.index))
    kind = random.DESCRIPTOR.fields_by_name["distribution"].enum_type
    name = kind.values_by_number[random.distribution].name
    double = "_double" if random.HasField("upper_bound_double") else ""
    # Dumps of several operators have them the wrong way round: between them is between them.
    low, high = (getattr(random, f"{end}_bound{double}") for end in ("lower", "upper"))
    count, whole = tensor.elements, tensor.dtype.kind in "iub"
    if not (math.isfinite(low) and math.isfinite(high) and abs(low) + abs(high) < _LARGEST):
        raise tensor.fail(f"{low:g} to {high:g} given, expected finite bounds", "random_data")
    values: Array
    if name == "GAUSSIAN":
        double = "_double" if random.HasField("mu_double") else ""
        values = rng.standard_normal(count, np.float32)
        values *= getattr(random, f"sigma{double}")
        values += getattr(random, f"mu{double}")
    elif name == "DISCRETE_UNIFORM" or (name == "UNIFORM" and whole):
        first, last = sorted((math.ceil(low), math.floor(high)))
        values = rng.integers(first, last + 1, count)
    elif name == "UNIFORM":
        values = rng.random(count, np.float32 if tensor.dtype.itemsize <= 4 else np.float64)
        values *= high - low
        values += low
    elif name == "BINOMIAL":
        values = rng.integers(0, 2, count)
    elif name == "UNIQUE_INDEX":
        values = _unique(tensor, rng, random.begin_index, random.end_index)
    else:
        raise tensor.fail(f"{name} is not supported", "random_data.distribution")
    with np.errstate(over="ignore", invalid="ignore"):
        return (np.rint(values) if whole else values).astype(tensor.dtype, copy=False)


def _unique(tensor: "Tensor", rng: np.random.Generator, begin: int, end: int) -> Array:
    if end - begin < tensor.elements:
        problem = f"{begin} to {end} given for {tensor.elements} different numbers"
        raise tensor.fail(problem, "random_data.end_index")
    values: Array = rng.choice(end - begin, tensor.elements, replace=False) + begin
    return np.sort(values) if tensor.message.random_data.sorted_status else values
