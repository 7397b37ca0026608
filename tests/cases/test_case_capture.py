# SPDX-License-Identifier: Apache-2.0
"""What the C library captures is read back bit for bit, and runs again with the same bits."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from case_files import OPERATORS, SIMPLE, captured, in_a_process, run

import pymluops
from pymluops import _cases
from pymluops._gen_case import call
from pymluops._gen_case.operators import operators
from pymluops._gen_case.tensors import tensors_of

CALLS = _cases.small_calls()


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
def test_every_operator_runs_again(name, mode, tmp_path, capsys):
    """With data, to the same bits; with shapes and parameters alone, on random numbers."""
    results = []
    (read,) = captured(tmp_path, lambda: results.append(small_call(name)), mode)
    assert read.node.op_name == name
    assert read.unknown == []
    inputs, outputs = tensors_of(read)
    assert (mode == 1) == any(one.source == "random_data" for one in inputs)
    assert all(one.message.id == one.name for one in inputs + outputs)
    status, shown = run(capsys, read.path)
    assert status == 0, shown
    if mode == 2 and operators()[name].trim is None:  # all of the outputs is written
        with pymluops.Handle() as handle:
            outputs = call.run(read, handle).values.outputs.values()
        first = results[0] if isinstance(results[0], tuple) else results
        assert [one.tobytes() for one in outputs] == [one.tobytes() for one in first]


def test_every_call_of_the_selftest_runs_again(capsys, tmp_path):
    """Ordinary sizes, float and half, every variant."""
    trials = list(_cases.trials(np.random.default_rng(5)))

    def make():
        for one in trials:
            getattr(pymluops, one.name)(*one.arrays, **one.numbers)

    assert len(captured(tmp_path, make, 1)) == len(trials)
    status, shown = run(capsys, tmp_path, "--no-reference")
    assert status == 0, shown


def test_threads_write_files_of_their_own(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    x = np.arange(8, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        files = captured(tmp_path, lambda: list(pool.map(SIMPLE.copy, [x + i for i in range(40)])))
    first = sorted(tensors_of(read)[0][0].values()[0, 0, 0, 0] for read in files)
    assert first == list(range(40))


# ------------------------------------------------------------------ what the environment asks for


def test_decimal_values_and_raw_files(tmp_path, capsys):
    in_a_process(tmp_path / "a", SIMPLE.CALLS, **{"": 2, "_DUMP_DATA": 1, "_DUMP_DATA_OUTPUT": 1})
    in_a_process(
        tmp_path / "b", SIMPLE.CALLS, **{"": 2, "_DUMP_DATA_FILE": 1, "_DUMP_DATA_OUTPUT": 2}
    )
    texts = {
        name: "".join(p.read_text() for p in (tmp_path / name).rglob("*.prototxt")) for name in "ab"
    }
    for word in ("value_f: 1.5\n", "value_f: inf\n", "value_f: nan\n", "value_f: 3.00000024\n"):
        assert word in texts["a"]
    assert "value_h" not in texts["a"] + texts["b"]
    assert len(list((tmp_path / "b").rglob("*_input"))) == 2
    assert len(list((tmp_path / "b").rglob("*_output"))) == 2
    status, shown = run(capsys, tmp_path)
    assert status == 0, shown
    assert shown.count("(stored): same bits") == 4


FIRST, SECOND = SIMPLE.CALLED


@pytest.mark.parametrize(
    ("names", "mode", "expected"),
    [
        (f"{FIRST};abs", 1, {FIRST: False}),
        (f"-{FIRST}", 1, {SECOND: False}),
        (f"+{FIRST}", 1, {SECOND: False, FIRST: True}),
        (FIRST.partition("_")[0], 1, {}),
        ("", 0, {}),
    ],
)
def test_filters(names, mode, expected, tmp_path):
    in_a_process(tmp_path, SIMPLE.CALLS, **{"": mode, "_OP_NAME": names})
    found = {p.parent.name: "value_h" in p.read_text() for p in tmp_path.rglob("*.prototxt")}
    assert found == expected


def test_calls_of_other_functions_are_cases_of_an_operator(tmp_path, capsys):
    for operator in operators().values():
        for function in operator.also:
            found = next(one for one in CALLS.values() if one.c_function == function)
            files = captured(tmp_path / function, lambda found=found: made(found))
            assert [one.node.op_name for one in files] == [operator.name]
            status, shown = run(capsys, files[0].path)
            assert status == 0, shown
