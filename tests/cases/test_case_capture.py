# SPDX-License-Identifier: Apache-2.0
"""What the C library captures is read back bit for bit, and runs again with the same bits."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import numpy as np
import pytest
from case_files import OPERATORS, run

import pymluops
from pymluops import _cases
from pymluops._gen_case import call, case
from pymluops._gen_case.operators import operators
from pymluops._gen_case.tensors import tensors_of
from pymluops.capi import ffi, lib

CALLS = _cases.small_calls()


@pytest.fixture
def captured(tmp_path):
    """Return what captures a call: it returns the files that appear."""
    before = ffi.string(lib.mluOpGetGenCaseDirectory())

    def capture(make, mode=2):
        lib.mluOpSetGenCaseMode(mode)
        try:
            make()
        finally:
            lib.mluOpSetGenCaseMode(0)
        files = sorted(tmp_path.rglob("*.prototxt"))
        return [case.load(path) for path in files]

    assert lib.mluOpSetGenCaseDirectory(str(tmp_path).encode()) == 0
    yield capture
    assert lib.mluOpSetGenCaseDirectory(before) == 0


def hostile(array, rng):
    """Every bit pattern may come: NaN with payloads, infinities, subnormal numbers."""
    bits = rng.integers(0, 256, array.nbytes, dtype=np.uint8)
    return bits.view(array.dtype).reshape(array.shape)


# ------------------------------------------------------------------------------------ bits


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_inputs_are_read_back_bit_for_bit(dtype, captured, rng):
    x, mask = (hostile(np.zeros(shape, dtype), rng) for shape in ((1, 2, 3, 4), (1, 4, 6, 9)))
    numbers = {"kernel_size": 3, "group_size": 1, "scale_factor": 2}
    (read,) = captured(lambda: pymluops.carafe_forward(x, mask, **numbers))
    assert read.unknown == []
    inputs, outputs = tensors_of(read)
    assert [one.values().tobytes() for one in inputs] == [x.tobytes(), mask.tobytes()]
    assert [one.message.id for one in inputs + outputs] == ["input", "mask", "output"]
    assert [one.shape for one in outputs] == [(1, 4, 6, 4)]
    assert not outputs[0].is_stored
    name = r"carafe_forward_\d{8}_\d\d_\d\d_\d\d_\d{6}_tid\d+_device0\.prototxt"
    assert re.fullmatch(name, read.path.name)
    assert read.path.parent.name == "carafe_forward"
    assert read.path.parent.parent.name == "gen_case"


def test_integers_are_read_back(captured):
    h, w = np.int32([2**31 - 1, -(2**31), 0]), np.int32([1, 0, -1])
    feature = np.ones((1, 1, 2, 2), np.float32)

    def make():
        pymluops.masked_im2col_forward(feature, h, w, kernel_h=2, kernel_w=1, pad_h=-3, pad_w=7)

    (read,) = captured(make)
    inputs, _ = tensors_of(read)
    assert [one.values().tolist() for one in inputs[1:]] == [h.tolist(), w.tolist()]
    operator = operators()["masked_im2col_forward"]
    numbers = {"kernel_h": 2, "kernel_w": 1, "pad_h": -3, "pad_w": 7}
    assert call.numbers_of(read, operator) == numbers


@pytest.mark.parametrize("mode", [1, 2])
def test_tensors_without_elements(mode, captured, capsys):
    col, none = np.zeros((3, 0), np.float32), np.zeros(0, np.int32)
    (read,) = captured(
        lambda: pymluops.masked_col2im_forward(col, none, none, height=2, width=2), mode
    )
    assert [one.values().shape for one in tensors_of(read)[0]] == [(3, 0), (0,), (0,)]
    assert run(capsys, read.path)[0] == 0


def small_call(name):
    """Make the NumPy call of a C function."""
    function = operators()[name].function
    return made(next(one for one in CALLS.values() if one.c_function == function))


def made(found):
    given = inspect.signature(found.function).parameters
    positional = [n for n, p in given.items() if p.kind == p.POSITIONAL_OR_KEYWORD]
    arrays = [found.arrays[n] for n in positional if n in found.arrays]
    rest = {n: a for n, a in found.arrays.items() if n not in positional}
    return found.function(*arrays, **rest, **found.numbers)


@pytest.mark.parametrize("mode", [1, 2])
@pytest.mark.parametrize("name", [name for name in OPERATORS if not name.startswith("cpu_")])
def test_every_operator_runs_again(name, mode, captured, capsys):
    """With data, to the same bits; with shapes and parameters alone, on random numbers."""
    results = []
    (read,) = captured(lambda: results.append(small_call(name)), mode)
    assert read.node.op_name == name
    assert read.unknown == []
    inputs, outputs = tensors_of(read)
    assert (mode == 1) == any(one.source == "random_data" for one in inputs)
    assert all(one.message.id == one.name for one in inputs + outputs)
    status, shown = run(capsys, read.path)
    assert status == 0, shown
    if mode == 2 and name != "nms":
        with pymluops.Handle() as handle:
            outputs = call.run(read, handle).values.outputs.values()
        first = results[0] if isinstance(results[0], tuple) else results
        assert [one.tobytes() for one in outputs] == [one.tobytes() for one in first]


def test_every_call_of_the_selftest_runs_again(captured, capsys, tmp_path):
    """Ordinary sizes, float and half, every variant."""
    trials = list(_cases.trials(np.random.default_rng(5)))

    def make():
        for one in trials:
            getattr(pymluops, one.name)(*one.arrays, **one.numbers)

    assert len(captured(make, 1)) == len(trials)
    status, shown = run(capsys, tmp_path, "--no-reference")
    assert status == 0, shown


def test_threads_write_files_of_their_own(captured):
    from concurrent.futures import ThreadPoolExecutor

    x = np.arange(8, dtype=np.float32)

    def one(i):
        pymluops.psamask_forward((x + i).reshape(8, 1, 1, 1), psa_type=0, h_mask=1, w_mask=1)

    with ThreadPoolExecutor(4) as pool:
        files = captured(lambda: list(pool.map(one, range(40))))
    first = sorted(tensors_of(read)[0][0].values()[0, 0, 0, 0] for read in files)
    assert first == list(range(40))


# ------------------------------------------------------------------ what the environment asks for


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


MOVE = """
import numpy as np, pymluops
x = np.array([1.5, -2, np.inf, np.nan, 1e-40, 3.0000002], np.float32)
pymluops.psamask_forward(x.reshape(6, 1, 1, 1), psa_type=0, h_mask=1, w_mask=1)
pymluops.carafe_forward(x.reshape(1, 2, 3, 1), np.ones((1, 2, 3, 1), np.float32), kernel_size=1,
                        group_size=1, scale_factor=1)
"""


def test_decimal_values_and_raw_files(tmp_path, capsys):
    in_a_process(tmp_path / "a", MOVE, **{"": 2, "_DUMP_DATA": 1, "_DUMP_DATA_OUTPUT": 1})
    in_a_process(tmp_path / "b", MOVE, **{"": 2, "_DUMP_DATA_FILE": 1, "_DUMP_DATA_OUTPUT": 2})
    texts = {
        name: "".join(p.read_text() for p in (tmp_path / name).rglob("*.prototxt")) for name in "ab"
    }
    for word in ("value_f: 1.5\n", "value_f: inf\n", "value_f: nan\n", "value_f: 3.00000024\n"):
        assert word in texts["a"]
    assert "value_h" not in texts["a"] + texts["b"]
    assert len(list((tmp_path / "b").rglob("*_input"))) == 3
    assert len(list((tmp_path / "b").rglob("*_output"))) == 2
    status, shown = run(capsys, tmp_path)
    assert status == 0, shown
    assert shown.count("(stored): same bits") == 4


@pytest.mark.parametrize(
    ("names", "mode", "expected"),
    [
        ("carafe_forward;abs", 1, {"carafe_forward": False}),
        ("-carafe_forward", 1, {"psamask_forward": False}),
        ("+carafe_forward", 1, {"psamask_forward": False, "carafe_forward": True}),
        ("carafe", 1, {}),
        ("", 0, {}),
    ],
)
def test_filters(names, mode, expected, tmp_path):
    in_a_process(tmp_path, MOVE, **{"": mode, "_OP_NAME": names})
    found = {p.parent.name: "value_h" in p.read_text() for p in tmp_path.rglob("*.prototxt")}
    assert found == expected


STEP = """
import torch, pymluops.torch as ours
torch.manual_seed(3)
compress, encode = torch.nn.Conv2d(6, 4, 1), torch.nn.Conv2d(4, 4 * 9, 3, padding=1)
upsample = ours.CARAFE(3, 1, 2)
parameters = [*compress.parameters(), *encode.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
x = torch.randn(2, 6, 5, 7, requires_grad=True)
masks = torch.nn.functional.pixel_shuffle(encode(compress(x)), 2).softmax(1)
loss = upsample(x, masks).square().mean()
loss.backward()
optimizer.step()
ours.nms(torch.tensor([[0.0, 0, 8, 8], [0, 0, 8, 7], [20, 0, 30, 8]]), torch.rand(3), 0.5)
mask = torch.randn(1, 9, 4, 5, requires_grad=True)
ours.PSAMask("collect", (3, 3))(mask).sum().backward()
"""


def test_calls_of_other_functions_are_cases_of_an_operator(captured, capsys):
    for operator in operators().values():
        for function in operator.also:
            found = next(one for one in CALLS.values() if one.c_function == function)
            files = captured(lambda found=found: made(found))
            assert [one.node.op_name for one in files] == [operator.name]
            status, shown = run(capsys, files[0].path)
            assert status == 0, shown


def test_what_torch_calls_runs_again_bit_for_bit(tmp_path, capsys):
    """A training step of CARAFE in a model, captured, and replayed from the files.

    So is what torch calls in functions that only this library has.
    """
    pytest.importorskip("torch", reason="torch is not installed")
    in_a_process(tmp_path, STEP, **{"": 2, "_DUMP_DATA_OUTPUT": 2})
    files = {path.parent.name: path for path in tmp_path.rglob("*.prototxt")}
    ours = {"cpu_nms_by_label", "cpu_psamask_nchw_forward", "cpu_psamask_nchw_backward"}
    assert set(files) == {"carafe_forward", "carafe_backward", *ours}
    status, shown = run(capsys, *(files[name] for name in sorted(ours)))
    assert status == 0, shown
    status, shown = run(capsys, files["carafe_backward"], files["carafe_forward"])
    assert status == 0, shown
    same = re.findall(r"(\w+) \(stored\): same bits", shown)
    assert same == ["grad_input", "grad_mask", "output"]
    assert shown.count("(reference): diff1 ") == 3
    # Another stored value, and the replay notices.
    path = files["carafe_backward"]
    inputs, _, outputs = path.read_text().partition("output {")
    outputs = re.sub(r'value_h: "(\w+)"', 'value_h: "3f800000"', outputs, count=1)
    path.write_text(f"{inputs}output {{{outputs}")
    status, shown = run(capsys, path, "--no-reference")
    assert status == 1
    assert "grad_input (stored): diff1" in shown
    assert "grad_mask (stored): same bits" in shown
