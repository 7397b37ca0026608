# SPDX-License-Identifier: Apache-2.0
"""Running test cases: what passes, what fails, with which numbers; reports; new cases; pictures."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from case_files import OPERATORS, SIMPLE, one_pixel, output_of, run, small

import pymluops
from pymluops import __main__ as cli
from pymluops import accuracy
from pymluops._gen_case import case, text
from pymluops._gen_case.figures import measure
from pymluops._gen_case.operators import operators

# The API has some for float alone.
IN_HALF = [n for n in OPERATORS if "float32" not in next(iter(operators()[n].inputs.values()))]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float") for name in OPERATORS] + [(name, "half") for name in IN_HALF],
)
def test_a_new_case_of_every_operator_passes(name, dtype, tmp_path, capsys):
    path = tmp_path / "it.pb"
    assert cli.main(["case", "new", name, "--dtype", dtype, "-o", str(path)]) == 0
    text = tmp_path / "it.prototxt"
    assert cli.main(["case", "new", name, "--dtype", dtype, "-o", str(text)]) == 0
    status, shown = run(capsys, text)
    assert status == 0, shown
    assert shown.startswith(f"PASS   {name} ")
    outputs = re.findall(r"^ +(\w+) \(reference\): ", shown, re.MULTILINE)
    assert outputs == list(operators()[name].outputs)
    assert "1 case: 1 passed, 0 failed" in shown


# --------------------------------------------------------------------------------- judgement


def test_moved_values_are_exact(tmp_path, capsys):
    status, shown = output_of(capsys, tmp_path, one_pixel("value_f: 1", 'value_h: "3f800001"'))
    assert status == 1
    assert "FAILED: diff3_2 1.19e-07, expected at most 0" in shown
    payload = one_pixel('value_h: "7fc12345"', 'value_h: "7fc12345"')
    status, shown = output_of(capsys, tmp_path, payload)
    assert status == 0
    assert "y (stored): same bits" in shown
    status, shown = output_of(capsys, tmp_path, one_pixel("value_f: nan", "value_f: 1"))
    assert status == 1
    assert "diff3_2 inf" in shown


def test_an_output_with_random_data_is_no_stored_result(tmp_path, capsys):
    status, shown = output_of(capsys, tmp_path, one_pixel("value_f: 1", "random_data { seed: 1 }"))
    assert status == 0
    assert "stored" not in shown


def test_a_refused_call_fails_with_its_message(tmp_path, capsys):
    said = one_pixel("value_f: 1").replace("LAYOUT_NHWC", "LAYOUT_NCHW", 1)
    status, shown = output_of(capsys, tmp_path, said)
    assert status == 1
    assert "FAIL " in shown
    assert f"refused: [{SIMPLE.FUNCTION}] x: layout is MLUOP_LAYOUT_NCHW" in shown
    said = one_pixel("value_f: 1").replace("h_mask: 1", "h_mask: 2")
    assert "x: dim 3 is 1, expected 2" in output_of(capsys, tmp_path, said)[1]


def test_figures_are_those_of_accuracy(rng):
    """Also where there is more than one part, and where values are not finite."""
    b = rng.standard_normal(600_000) * 10.0 ** rng.integers(-9, 9, 600_000)
    for dtype in (np.float32, np.float16):
        with np.errstate(over="ignore"):
            e = (b * (1 + 1e-5 * rng.standard_normal(b.size))).astype(dtype)
            e[::7] = b[::7].astype(dtype)
            b32 = np.where(np.isinf(e), e, b).astype(np.float64)
        found = measure(e, b32)
        for name in ("diff1", "diff2", "diff3", "diff3_2"):
            assert getattr(found, name) == pytest.approx(getattr(accuracy, name)(e, b32), 1e-12)
        assert found.diff4 == pytest.approx(accuracy.diff4(e, b32))
    assert not np.isfinite(measure(np.float32([1, np.inf]), np.float64([1, 2])).diff1)
    equal = measure(np.float32([np.nan, 1]), np.float32([np.nan, 1]))
    assert equal.same_bits
    assert str(equal) == "same bits"


# ------------------------------------------------------------------------------------ reports


def test_a_run_over_folders_and_its_report(tmp_path, capsys):
    folder = tmp_path / "cases"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.prototxt").write_text(one_pixel("value_f: 1"))
    (folder / "b.prototxt").write_text(one_pixel("value_f: 1", "value_f: 2"))
    (folder / "deep/c.prototxt").write_text('op_name: "abs" who: "<knows>"')
    (folder / "d.prototxt").write_text("op_name: \x01")
    (folder / "note.txt").write_text("no case")
    report = tmp_path / "report.xml"
    status, shown = run(capsys, folder, "--junit-xml", report)
    assert status == 1
    last = shown.splitlines()[-1]
    assert last == (
        "4 cases: 1 passed, 1 failed, 1 could not be run, 1 of operators that are not here (abs)"
    )
    suite = ET.parse(report).getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    cases = {one.get("name").rpartition("/")[2]: one for one in suite}
    assert cases["a.prototxt"].get("classname") == SIMPLE.NAME
    assert float(cases["a.prototxt"].get("time")) > 0
    failure = cases["b.prototxt"].find("failure").get("message")
    assert failure == "y (stored): diff3_2 1, expected at most 0"
    assert "d.prototxt:1: op_name" in cases["d.prototxt"].find("error").get("message")
    assert cases["c.prototxt"].find("skipped") is not None
    assert run(capsys, folder / "deep")[0] == 0


def test_nothing_to_run(tmp_path, capsys):
    status, shown = run(capsys, tmp_path)
    assert status == 2
    assert f"no file ends with .prototxt or .pb: {tmp_path}" in shown


def test_a_long_run_has_a_bar_on_a_terminal(tmp_path, capsys, monkeypatch):
    for name in "abc":
        (tmp_path / f"{name}.prototxt").write_text(one_pixel("value_f: 1"))
    assert "[" not in run(capsys, tmp_path)[1].split("PASS")[0]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert cli.main(["case", "run", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "[##########....................] 1/3 b.prototxt" in shown.err
    assert "#" not in shown.out


def test_without_protobuf(tmp_path, capsys, monkeypatch):
    """The command says what to install; the others do without."""
    import builtins
    import sys

    for name in list(sys.modules):
        if name.startswith(("google", "pymluops._gen_case.")) and "cli" not in name:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "pymluops._gen_case.errors", raising=False)
    real = builtins.__import__

    def without(name, *arguments, **more):
        if name.startswith("google"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **more)

    from pymluops._gen_case import cli as commands

    monkeypatch.setattr(builtins, "__import__", without)
    from pymluops._gen_case.errors import CaseError

    monkeypatch.setattr(commands, "CaseError", CaseError)
    for action in ("run", "show", "new"):
        assert cli.main(["case", action, str(tmp_path)]) == 1
        assert f"{sys.executable} -m pip install protobuf" in capsys.readouterr().err


# --------------------------------------------------------------------------- new cases, pictures


def test_a_new_case_of_no_operator(capsys):
    assert cli.main(["case", "new", "nothing"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("pymluops case: ")
    assert "OP: nothing given, expected one of " in error


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["new", "nothing", "-o", "case.txt"], "expected a name that ends with .prototxt or .pb"),
        (["new", "nothing", "-o", "missing/case.pb"], "missing is not a folder"),
        (["show", "case.pb", "--picture", "it.jpg"], "expected a name that ends with .png"),
        (["run", "case.pb", "--junit-xml", "report.json"], "expected a name that ends with .xml"),
    ],
)
def test_wrong_outputs_are_refused_before_the_work(command, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["case", *command]) == 1
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.startswith("pymluops case: ")
    assert shown.out == ""
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", OPERATORS)
def test_pictures(name, tmp_path, capsys):
    path, _ = small(tmp_path, name)
    picture = tmp_path / "it.png"
    assert cli.main(["case", "show", str(path), "--picture", str(picture)]) == 0
    if operators()[name].pictures is None:
        assert "a picture would say no more" in capsys.readouterr().out
        assert not picture.exists()
        return
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 300
    assert height == 280


# ---------------------------------------------------------------------------------- the gallery


GALLERY = sorted(Path(__file__).parent.glob("gallery/*.prototxt"))
SMALL_ENOUGH = 1_000_000


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery(path, capsys):
    """All of it is read, and written again as it was; what is small runs."""
    read = case.load(path)
    assert read.unknown == []
    assert read.operator is not None
    assert path.stem.startswith(read.operator.name)
    assert text.write(read.node) == path.read_text()
    elements = sum(
        int(np.prod(one.shape.dims, dtype=np.int64))
        for one in (*read.node.input, *read.node.output)
    )
    if elements < SMALL_ENOUGH:
        assert run(capsys, path)[0] == 0


def test_one_case_that_breaks_the_runner_is_an_error(tmp_path, capsys, monkeypatch):
    """The rest of the run goes on."""
    from pymluops._gen_case import judge

    def broken(*arguments):
        raise MemoryError("all of it")

    (tmp_path / "a.prototxt").write_text(one_pixel("value_f: 1"))
    monkeypatch.setattr(judge, "reference_of", broken)
    (tmp_path / "b.prototxt").write_text('op_name: "abs"')
    status, shown = run(capsys, tmp_path)
    assert status == 1
    assert "a.prototxt: MemoryError: all of it" in shown
    assert "2 cases: 0 passed, 0 failed, 1 could not be run, 1 of operators" in shown


def test_the_rounding_of_the_handle(tmp_path):
    from pymluops._gen_case import call
    from pymluops.capi import ffi, lib

    said = one_pixel("value_f: 1", more="handle_param { round_mode: ROUND_OFF_ZERO }\n")
    path = tmp_path / "it.prototxt"
    mode = ffi.new("mluOpQuantizeRoundMode_t *")
    with pymluops.Handle() as handle:
        for text, expected in ((said, 2), (one_pixel("value_f: 1"), 0)):
            path.write_text(text)
            call.run(case.load(path), handle)
            assert lib.mluOpGetQuantizeRoundMode(handle.cdata, mode) == 0
            assert mode[0] == expected
