# SPDX-License-Identifier: Apache-2.0
"""What the families say about their cases, beside the header and the sources in C."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from case_files import OPERATORS

from pymluops._gen_case.operators import operators
from pymluops._gen_case.schema import node_class

ROOT = Path(__file__).resolve().parents[2]
HEADERS = "".join((ROOT / "include" / name).read_text() for name in ("mlu_op.h", "mlu_op_cpu.h"))
SOURCES = "".join(path.read_text() for path in sorted((ROOT / "c_src/families").glob("*/*.[ch]")))


def parameters(function):
    """The names of a C function's parameters, without the handle."""
    found = re.search(rf"\b{function}\(([^;]*)\);", re.sub(r"/\*.*?\*/", "", HEADERS, flags=re.S))
    assert found is not None, function
    return [re.search(r"(\w+)(\[\])?$", one.strip())[1] for one in found[1].split(",")][1:]


def spelled(operator, text, described):
    """What the words of a description stand for in C."""
    tensors = {*operator.inputs, *operator.outputs}
    for word in text.split():
        if word.removesuffix("_desc") in tensors:
            yield from ([word] if described else [f"{word}_desc", word])
        else:
            yield word.lstrip("*")


@pytest.mark.parametrize("name", OPERATORS)
def test_arguments_are_those_of_the_header(name):
    operator = operators()[name]
    assert list(spelled(operator, operator.arguments, False)) == parameters(operator.function)
    if operator.workspace:
        query, *words = operator.workspace.split()
        assert list(spelled(operator, " ".join(words), True)) == parameters(query)[:-1]
    else:
        assert "workspace" not in operator.arguments
    for made in operator.objects.values():
        kind, *values = made.split()
        base, _, version = kind.partition("_")
        setter = f"mluOpSet{base}Descriptor" + (f"_{version}" if version else "")
        assert values == parameters(setter)  # behind the descriptor


@pytest.mark.parametrize("name", [name for name in OPERATORS if not name.startswith("cpu_")])
def test_tensors_stand_in_the_order_of_the_header(name):
    """Only their order counts in a file, and the accelerator's is that of the parameters.

    Functions that only this library has need not agree with it.
    """
    operator = operators()[name]
    order = parameters(operator.function)
    for group in (operator.inputs, operator.outputs):
        assert list(group) == [word for word in order if word in group]


@pytest.mark.parametrize("name", OPERATORS)
def test_parameters_have_fields(name):
    """Every scalar has one, and sizes for a new case."""
    operator = operators()[name]
    node = node_class()()
    fields = set()
    if operator.parameters is not None:
        block = getattr(node, operator.parameters.name)
        fields = set(block.DESCRIPTOR.fields_by_name)
    assert {operator.field_of(one) for one in operator.scalars()} <= fields
    assert set(operator.scalars()) <= set(operator.sizes)


def test_c_and_python_name_the_same_operators():
    """The texts in C begin with them; a name may be put together with a macro."""
    said = set(re.findall(r'\.gen_case =\s*"(\w+)', SOURCES))
    assert said == set(OPERATORS)


def test_c_and_python_name_the_same_parameters():
    """Blocks, and parameters that have another name."""
    for operator in operators().values():
        found = re.search(rf'\.gen_case =\s*"{operator.name}\s?([^"]*)"\s*(\w*)', SOURCES)
        assert found is not None
        macro = re.search(rf'#define {found[2]} "([^"]*)"', SOURCES) if found[2] else None
        words = (found[1] + (macro[1] if macro else "")).split()
        block = operator.parameters.name if operator.parameters else None
        assert (words[0] if words else None) == block
        renamed = dict(word.split("=") for word in words[1:])
        assert {name: field for name, field in renamed.items() if field} == operator.renamed
