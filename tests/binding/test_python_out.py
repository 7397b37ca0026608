# SPDX-License-Identifier: Apache-2.0
"""Results that go where ``out=`` says, and places where they do not fit."""

import numpy as np
import pytest
from python_calls import WITH_OUT as CALLS
from python_calls import as_tuple, assert_blames, facts

from pymluops import BadParamError, BadTypeError

OUTPUTS = [(name, output) for name, call in CALLS.items() for output in call.outputs]


def replaced(name, output, value):
    """Return an ``out=`` in which one array is another one, and the arrays of it."""
    outputs = CALLS[name].outputs
    arrays = [np.full(shape, 7, dtype) for shape, dtype in outputs.values()]
    arrays[list(outputs).index(output)] = value
    return tuple(arrays) if len(arrays) > 1 else value


@pytest.mark.parametrize("name", CALLS)
def test_results_go_to_out(name):
    call = CALLS[name]
    out = call.new_outputs()
    returned = call(out=out)
    for given, got, fresh in zip(
        out if isinstance(out, tuple) else (out,),
        returned if isinstance(returned, tuple) else (returned,),
        call.results(),
        strict=True,
    ):
        assert got is given
        assert np.array_equal(given, fresh)


def test_one_of_two_outputs():
    call = next(call for call in CALLS.values() if len(call.outputs) == 2)
    given = call.new_outputs()[1]
    first, second = call(out=(None, given))
    assert second is given
    assert np.array_equal(first, call()[0])
    assert np.array_equal(second, call()[1])
    assert np.array_equal(call(out=[None, None])[0], first)


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
def test_out_that_does_not_fit(name, output):
    shape, dtype = CALLS[name].outputs[output]
    good = np.full(shape, 7, dtype)
    read_only = good.copy()
    read_only.flags.writeable = False
    bytes_ = np.zeros(good.nbytes + 1, np.uint8)
    wrong = {
        "dtype float64": (good.astype(np.float64), BadTypeError),
        "dtype float16": (good.astype(np.float16), BadTypeError),
        "dtype >": (good.astype(good.dtype.newbyteorder()), BadTypeError),
        f"shape {(1, *shape)}": (good[None], BadParamError),
        "shape (": (np.concatenate((good, good)), BadParamError),
        "a read-only array": (read_only, BadParamError),
        "strides": (np.repeat(good, 2, -1)[..., ::2], BadParamError),
        "an unaligned array": (bytes_[1:].view(dtype).reshape(shape), BadParamError),
        "list": (good.tolist(), BadTypeError),
        "'text'": ("text", BadTypeError),
        "object": (object(), BadTypeError),
        "numpy.ma": (np.ma.array(good), BadTypeError),
    }
    for problem, (value, kind) in wrong.items():
        out = replaced(name, output, value)
        with pytest.raises(kind) as caught:
            CALLS[name](out=out)
        assert_blames(caught.value, name, f"{output}: ")
        if problem != "dtype >":
            assert problem in str(caught.value)
        for array in as_tuple(out):
            if isinstance(array, np.ndarray) and array.dtype.kind in "fi" and array is not value:
                assert np.all(array == 7)


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
def test_out_that_is_an_input(name, output):
    """An output may not share memory with an input, and stays as it is."""
    call = CALLS[name]
    shape, dtype = call.outputs[output]
    for argument, base in call.arrays.items():
        if base.dtype != dtype:
            continue
        pool = np.zeros(base.size + int(np.prod(shape)), dtype)
        source = pool[: base.size].reshape(base.shape)
        source[:] = base
        out = pool[: int(np.prod(shape))].reshape(shape)
        before = pool.copy()
        with pytest.raises(BadParamError, match="overlap"):
            call(**{argument: source, "out": replaced(name, output, out)})
        assert np.array_equal(pool, before)


COORDINATES = {k: v for k, v in facts("FLOAT32_COORDINATES").items() if k in CALLS}


@pytest.mark.parametrize("name", COORDINATES)
def test_out_of_float16_with_float32_coordinates(name):
    """Memory may not be shared either where C sees copies in float32."""
    call = CALLS[name]
    values = {
        argument: base.astype(np.float16)
        for argument, base in call.arrays.items()
        if base.dtype == np.float32 and argument != COORDINATES[name]
    }
    outs = [
        np.full(shape, 7, np.float16 if dtype == np.float32 else dtype)
        for shape, dtype in call.outputs.values()
    ]
    whole = tuple(outs) if len(outs) > 1 else outs[0]
    call(**values, out=whole)
    pool = np.zeros(max(array.nbytes for array in (*outs, *values.values())), np.uint8)

    def pooled(array):
        view = pool[: array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    for i, out in enumerate(outs):
        for argument, array in values.items():
            shared = [*outs[:i], pooled(out), *outs[i + 1 :]]
            changes = {**values, argument: pooled(array)}
            before = pool.copy()
            with pytest.raises(BadParamError, match="overlap"):
                call(**changes, out=tuple(shared) if len(shared) > 1 else shared[0])
            assert np.array_equal(pool, before)
    if len(outs) > 1:
        with pytest.raises(BadParamError, match="overlap"):
            call(**values, out=tuple(pooled(out) for out in outs))


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if len(call.outputs) == 2])
def test_out_for_two_results(name):
    good = CALLS[name].new_outputs()
    for wrong in (good[0], good[:1], (*good, good[0]), "text", {}):
        with pytest.raises(BadTypeError) as caught:
            CALLS[name](out=wrong)
        assert_blames(caught.value, name, "out: ")
