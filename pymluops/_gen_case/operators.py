# SPDX-License-Identifier: Apache-2.0
"""How the case of an operator is described, in gen_case.py of its family."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from pymluops import _families, accuracy
from pymluops._cases import SmallCall, small_calls
from pymluops._tensor import Array
from pymluops.demo._run import Picture

Numbers: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Parameters:
    """The block of parameters of an operator."""

    name: str
    """The field of a case that holds it."""
    number: int
    """Of that field; see `PRIVATE`."""
    fields: tuple[str, ...]
    """Such as "int32 kernel_size 2", "repeated int32 pad 2", or "int32 pool_size 1 10", whose
    default is 10."""
    older_names: tuple[str, ...] = ()
    """What files in text form may call the block."""


PRIVATE = 500_000
"""Fields from this number on have one that is not known to us: such blocks are read and written as
text alone."""


@dataclass(frozen=True)
class Values:
    """What a case calls an operator with."""

    inputs: dict[str, Array]
    """By the names of the C function; an optional one may be missing."""
    outputs: dict[str, Array]
    """What was computed: shapes and dtypes are those of the case."""
    numbers: Numbers
    """The parameters, by the names of the C function."""


@dataclass(frozen=True)
class Operator:
    """The case of an operator."""

    name: str
    """What a case says as op_name."""
    function: str
    """The C function."""
    arguments: str
    """What it takes behind the handle, in order. The name of a tensor stands for descriptor and
    data, "*count" for data alone."""
    inputs: dict[str, str]
    """The layout of each input, its dtype where it is no matter of choice, and its shape in the
    words of the rule tables: "NHWC N H W group_size|C", "ARRAY int32 M"."""
    outputs: dict[str, str]
    sizes: Numbers
    """What the letters of shapes, and parameters, are in a new case."""
    parameters: Parameters | None = None
    op_type: int | None = None
    """The number of the operator in the format, where that is known."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Parameters of C that have another name in a case."""
    objects: dict[str, str] = field(default_factory=dict)
    """Descriptors that are not of tensors: the name of their kind, and what they are set to."""
    workspace: str = ""
    """The function that tells how much the operator needs, and what it takes."""
    optional: frozenset[str] = frozenset()
    """Tensors that a case may lack."""
    unused: Callable[[dict[str, Array], Numbers], frozenset[str]] | None = None
    """Inputs that a case has, and the call does not: C gets NULL for them."""
    also: tuple[str, ...] = ()
    """Other C functions whose calls become cases of it."""
    kind: accuracy.Kind | None = None
    """None: that of the operator's small call."""
    more: Callable[[Values], Numbers] | None = None
    """What the reference takes besides inputs and parameters."""
    expected: Callable[[Values], dict[str, Array] | None] | None = None
    """What the outputs should be, if that is not what the reference of its small call returns for
    the arguments of these names. None: there is no reference for such a case."""
    trim: Callable[[dict[str, Array], dict[str, Array]], dict[str, Array]] | None = None
    """Cuts arrays to the part of the outputs that the operator has written, as the latter say."""
    derive: Callable[[Numbers], Numbers] | None = None
    """Names in the shapes of a new case that are no products."""
    values: dict[str, Callable[[np.random.Generator, Numbers], Array]] = field(default_factory=dict)
    """Inputs of a new case that need values of their own, such as regions."""
    bounds: dict[str, tuple[float, float | str]] = field(default_factory=dict)
    """Inputs of a new case that are random numbers other than -1 to 1. A bound may be a
    parameter."""
    pictures: Callable[[Values], list[Picture]] | None = None
    """What `case show` draws."""

    @property
    def accuracy_kind(self) -> accuracy.Kind:
        """Whether its results are computed, or moved bit by bit."""
        return self.kind or self.small_call.kind

    @property
    def small_call(self) -> SmallCall:
        """The call that knows its reference, by the C function."""
        return next(c for c in small_calls().values() if c.c_function == self.function)

    def field_of(self, name: str) -> str:
        """Return how a case names a parameter."""
        return self.renamed.get(name, name.lower())

    def scalars(self) -> list[str]:
        """Return the parameters that C takes, by itself or in a descriptor."""
        words = [word for text in self.objects.values() for word in text.split()[1:]]
        words += [word for word in self.arguments.split() if word not in self.objects]
        tensors = {*self.inputs, *self.outputs, "workspace", "workspace_size"}
        return [word for word in words if word.lstrip("*") not in tensors]


@cache
def operators() -> dict[str, Operator]:
    """Return all operators that have cases, by the names that these have."""
    return {one.name: one for _, part in _families.parts("gen_case") for one in part.OPERATORS}
