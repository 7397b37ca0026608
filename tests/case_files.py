# SPDX-License-Identifier: Apache-2.0
"""What the tests of test cases share: files, and the command that runs them."""

from __future__ import annotations

import re

import pytest

from pymluops import __main__ as cli
from pymluops._gen_case.operators import operators

pytest.importorskip(
    "google.protobuf", reason="protobuf is not installed (it is in the extra 'test')"
)

OPERATORS = sorted(operators())


def small(folder, name, *settings):
    """Write a small case of an operator, and return its path and its text."""
    path = folder / f"{name}.prototxt"
    sizes = ["--shape", *settings] if settings else []
    assert cli.main(["case", "new", name, *sizes, "-o", str(path)]) == 0
    return path, path.read_text()


def run(capsys, *arguments):
    """Run cases, and return the exit status and what is printed."""
    status = cli.main(["case", "run", *map(str, arguments)])
    shown = capsys.readouterr()
    return status, shown.out + shown.err


def tensor(kind, dims, body="", layout="NHWC", dtype="FLOAT", name="t"):
    """Return the text of a tensor."""
    extents = " ".join(f"dims: {dim}" for dim in dims)
    return (
        f'{kind} {{ id: "{name}" shape {{ {extents} }}\n'
        f"layout: LAYOUT_{layout} dtype: DTYPE_{dtype}\n{body} }}\n"
    )


def psamask(values, stored="", more=""):
    """Return a case of one pixel: y = x."""
    x = tensor("input", (1, 1, 1, 1), values)
    y = tensor("output", (1, 1, 1, 1), stored)
    parameters = "psamask_forward_param { psa_type: 0 h_mask: 1 w_mask: 1 }\n"
    return f'op_name: "psamask_forward"\n{x}{y}{parameters}{more}'


def output_of(capsys, folder, said, *options):
    """Run a case, and return what :func:`run` does."""
    (folder / "it.prototxt").write_text(said)
    return run(capsys, folder / "it.prototxt", *options)


def line_of(text, part):
    """Return the number of the first line that has a part."""
    return next(i for i, line in enumerate(text.splitlines(), 1) if re.search(part, line))
