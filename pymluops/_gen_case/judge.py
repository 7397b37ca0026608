# SPDX-License-Identifier: Apache-2.0
"""Whether what a case gives is right: by its stored outputs, and by our reference in float64."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pymluops._gen_case.call import Result
from pymluops._gen_case.case import Case
from pymluops._gen_case.figures import Figures, measure
from pymluops._gen_case.operators import Operator, Values
from pymluops._gen_case.tensors import Tensor
from pymluops._tensor import Array

_CONTRACT = {"float16": 3e-3, "float32": 1e-5, "float64": 1e-5}
_JUDGED = ("DIFF1", "DIFF2", "DIFF3", "DIFF3_2", "DIFF4")


@dataclass
class Comparison:
    """An output beside one baseline."""

    output: str
    baseline: str
    """"stored" or "reference"."""
    figures: Figures
    limits: dict[str, float]
    """By the names of the format."""

    @property
    def failures(self) -> list[str]:
        """The differences that are beyond their limits."""
        return [
            f"{name.lower()} {value:.3g}, expected at most {self.limits[name]:g}"
            for name in self.limits
            if not (value := _figure(self.figures, name)) <= self.limits[name]
        ]


def _figure(figures: Figures, name: str) -> float:
    if name == "DIFF4":
        return max(figures.diff4.above, figures.diff4.below)
    return float(getattr(figures, name.lower()))


def compare(case: Case, result: Result, with_reference: bool) -> Iterator[Comparison]:
    """Yield each output beside each baseline that there is."""
    operator = case.operator
    assert operator is not None
    stored = {t.name: t.values() for t in result.outputs if t.is_stored}
    yield from _compared(case, operator, result, "stored", stored)
    if with_reference:
        expected = reference_of(operator, result.values)
        if expected is not None:
            yield from _compared(case, operator, result, "reference", expected)


def _compared(
    case: Case, operator: Operator, result: Result, baseline: str, expected: dict[str, Array]
) -> Iterator[Comparison]:
    outputs = result.values.outputs
    here = operator.trim(outputs, outputs) if operator.trim else outputs
    there = operator.trim(expected, outputs) if operator.trim else expected
    for tensor in result.outputs:
        if tensor.name in expected:
            figures = measure(here[tensor.name], there[tensor.name])
            yield Comparison(tensor.name, baseline, figures, _limits(case, operator, tensor))


def _limits(case: Case, operator: Operator, tensor: Tensor) -> dict[str, float]:
    """Return the file's thresholds, or else those of the contract."""
    node = case.node
    kinds = node.DESCRIPTOR.fields_by_name["evaluation_criterion"].enum_type.values_by_number
    names = [kinds[number].name for number in node.evaluation_criterion]
    own = list(tensor.message.thresholds.evaluation_threshold)
    limits = own or list(node.evaluation_threshold)
    where = "evaluation_threshold"
    if not names or not limits:
        names = [kinds[number].name for number in node.test_param.error_func]
        limits = own or list(node.test_param.error_threshold)
        where = "test_param.error_threshold"
    if names and len(limits) != len(names):
        raise case.fail(f"{len(limits)} given, expected {len(names)}: {', '.join(names)}", where)
    given = {name: limit for name, limit in zip(names, limits, strict=False) if name in _JUDGED}
    if given:
        return given
    if tensor.dtype.kind != "f" or operator.accuracy_kind == "movement":
        return {"DIFF3_2": 0.0}
    limit = _CONTRACT[tensor.dtype.name]
    return {"DIFF1": limit, "DIFF2": limit}


def reference_of(operator: Operator, values: Values) -> dict[str, Array] | None:
    """Return what the outputs should be, mostly in float64; None without a reference."""
    if operator.expected is not None:
        return operator.expected(values)
    function = operator.small_call.reference
    given = {**values.inputs, **values.numbers}
    if operator.more is not None:
        given.update(operator.more(values))
    wanted = inspect.signature(function).parameters
    result = function(**{name: value for name, value in given.items() if name in wanted})
    results = result if isinstance(result, tuple) else (result,)
    named = zip(operator.outputs, results, strict=True)
    return {name: np.asarray(one) for name, one in named if name in values.outputs}
