# SPDX-License-Identifier: Apache-2.0
"""What the tests of test cases share: files, and the command that runs them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from families import family_files

from pymluops import __main__ as cli
from pymluops._gen_case import case
from pymluops._gen_case.operators import operators
from pymluops.capi import ffi, lib

pytest.importorskip(
    "google.protobuf", reason="protobuf is not installed (it is in the extra 'test')"
)

OPERATORS = sorted(operators())

((_, SIMPLE),) = family_files("simple_case")


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


def one_pixel(values, stored="", more=""):
    """Return a case of one pixel: y = x."""
    x = tensor("input", (1, 1, 1, 1), values)
    y = tensor("output", (1, 1, 1, 1), stored)
    return f'op_name: "{SIMPLE.NAME}"\n{x}{y}{SIMPLE.BLOCK} {{ {SIMPLE.PARAMETERS} }}\n{more}'


def output_of(capsys, folder, said, *options):
    """Run a case, and return what :func:`run` does."""
    (folder / "it.prototxt").write_text(said)
    return run(capsys, folder / "it.prototxt", *options)


def captured(folder, make, mode=2):
    """Make calls, and return the cases that the C library writes of them."""
    before = ffi.string(lib.mluOpGetGenCaseDirectory())
    assert lib.mluOpSetGenCaseDirectory(str(folder).encode()) == 0
    lib.mluOpSetGenCaseMode(mode)
    try:
        make()
    finally:
        lib.mluOpSetGenCaseMode(0)
        assert lib.mluOpSetGenCaseDirectory(before) == 0
    return [case.load(path) for path in sorted(folder.rglob("*.prototxt"))]


def in_a_process(folder, code, **environment):
    """Run Python with these variables, which the library reads once; return what it prints."""
    variables = {f"MLUOP_GEN_CASE{name}": str(value) for name, value in environment.items()}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "/usr/bin", "OMP_NUM_THREADS": "1", "MLUOP_GEN_CASE_DIR": str(folder)}
        | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
