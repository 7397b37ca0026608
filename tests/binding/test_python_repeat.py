# SPDX-License-Identifier: Apache-2.0
"""Calls like an earlier one do the same without the work that the earlier one has done."""

import itertools
import sys
import threading

import numpy as np
import pytest
from python_calls import ONE, ONE_ARRAY, as_tuple, same
from python_calls import WITH_OUT as CALLS

import pymluops
from pymluops import _repeat
from pymluops._call import recording


@pytest.fixture
def repeats(monkeypatch):
    """Count the calls that were repeated, from the first one on."""
    counted = []
    repeat = _repeat._repeat

    def count(*args):
        counted.append(args)
        return repeat(*args)

    monkeypatch.setattr(_repeat, "_repeat", count)
    _repeat._known.cache_clear()
    return counted


def changed(array):
    """Return an array with other numbers that an operator takes as well."""
    if array.dtype.kind == "i":
        return np.roll(array, 1, -1)
    other = array.copy()
    other[..., -1] += 0.25
    return other


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, call in CALLS.items() for each in call.arrays]
)
def test_each_array_counts(name, argument, repeats):
    call = CALLS[name]
    other = {argument: changed(call.arrays[argument])}
    expected = call(**other)
    _repeat._known.cache_clear()
    before = call()
    assert same(call(**other), expected)
    assert same(call(), before)
    assert len(repeats) == 2


@pytest.mark.parametrize("name", CALLS)
def test_results_are_new(name, repeats):
    call = CALLS[name]
    first, second, third = call.results(), call.results(), call.results()
    assert len(repeats) == 2
    for one, two, three in zip(first, second, third, strict=True):
        assert type(two) is np.ndarray
        assert not np.shares_memory(one, two)
        assert not np.shares_memory(two, three)


@pytest.mark.parametrize("name", CALLS)
def test_out_is_written_and_returned(name, repeats):
    call = CALLS[name]
    expected = call.results()
    call(out=call.new_outputs())
    assert not repeats
    out = call.new_outputs()
    results = as_tuple(call(out=out))
    assert len(repeats) == 1
    assert all(one is other for one, other in zip(results, as_tuple(out), strict=True))
    assert same(results, expected)


def test_what_is_not_plain_goes_the_long_way(repeats):
    array = ONE.arrays[ONE_ARRAY]
    expected = ONE()
    read_only = array.copy()
    read_only.flags.writeable = False
    others = (array.tolist(), memoryview(array), array.astype(">f4"), np.asfortranarray(array))
    for other in (*others, array.view(np.recarray), read_only):
        assert same(ONE(**{ONE_ARRAY: other}), expected)
        assert same(ONE(**{ONE_ARRAY: other}), expected)
    assert not repeats
    with pytest.raises(pymluops.BadTypeError, match=r"numpy\.ma"):
        ONE(**{ONE_ARRAY: np.ma.array(array)})
    read_only_out = ONE.new_outputs()
    ONE(out=read_only_out)
    read_only_out.flags.writeable = False
    with pytest.raises(pymluops.BadParamError, match="read-only"):
        ONE(out=read_only_out)


def test_equal_numbers_of_other_types():
    call = next(call for call in CALLS.values() if "pad" in call.numbers)
    for one, two in ((1, True), (1, 1.0), ((1, 1), (1, True)), ((1, 1), (1.0, 1))):
        call(pad=one)
        call(pad=one)
        with pytest.raises(pymluops.BadTypeError, match=r"pad: (True|1\.0) given"):
            call(pad=two)
    assert same(call(pad=np.int64(1)), call(pad=1))
    assert same(call(pad=[1, 1]), call(pad=(1, 1)))


@pytest.mark.parametrize(
    ("one", "two"), [((0.0,), (-0.0,)), (((1, 2), 3), (1, (2, 3))), ((1,), (1.0,)), ((0,), (None,))]
)
def test_keys_differ(one, two):
    keys = [], []
    assert _repeat._read(one, keys[0], [])
    assert _repeat._read(two, keys[1], [])
    assert keys[0] != keys[1]


def test_shapes_of_the_same_size(repeats):
    array = ONE.arrays[ONE_ARRAY]
    other = array.reshape(1, -1, *array.shape[2:])
    expected = ONE(**{ONE_ARRAY: other})
    _repeat._known.cache_clear()
    ONE()
    assert same(ONE(**{ONE_ARRAY: other}), expected)
    assert not repeats


def test_a_function_that_does_more(repeats):
    """Nothing but one call of C, whose outputs are the results, is repeated."""
    plain = ONE.function.__wrapped__
    array = ONE.arrays[ONE_ARRAY]

    @_repeat.repeatable
    def twice(array):
        return plain(array, **ONE.numbers) * 2

    @_repeat.repeatable
    def both(array):
        return plain(array, **ONE.numbers), plain(array, **ONE.numbers)

    for function in (twice, both):
        assert same(function(array), function(array))
    assert not repeats
    assert same(twice(array), ONE() * 2)
    assert recording.runs is None


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        (name, one, two)
        for name, call in CALLS.items()
        for one, two in itertools.combinations(call.arrays, 2)
        if call.arrays[one].shape == call.arrays[two].shape
        and call.arrays[one].dtype == call.arrays[two].dtype
    ],
)
def test_an_array_that_is_given_twice(name, one, two, repeats):
    """Such a call does not tell which of two other arrays goes where."""
    call = CALLS[name]
    expected = call()
    _repeat._known.cache_clear()
    call(**{one: call.arrays[two]})
    assert same(call(), expected)
    assert not repeats


@pytest.mark.parametrize("name", CALLS)
def test_errors_are_those_of_the_first_call(name):
    """C finds an output in the place of an input; the message is in the words of the function."""
    call = CALLS[name]
    array, (shape, dtype) = next(iter(call.arrays)), next(iter(call.outputs.values()))
    size = max(call.arrays[array].size, int(np.prod(shape)))
    memory = np.zeros(size, np.float32)
    given = {array: memory[: call.arrays[array].size].reshape(call.arrays[array].shape)}
    out = call.new_outputs()
    clash = memory.view(dtype)[: int(np.prod(shape))].reshape(shape)
    bad = (clash, *out[1:]) if isinstance(out, tuple) else clash
    messages = []
    for _ in range(2):
        with pytest.raises(pymluops.BadParamError) as error:
            call(**given, out=bad)
        messages.append((str(error.value), error.value.function))
        call(**given, out=out)  # what was kept is of a call that was good
    assert messages[0] == messages[1]


def test_handles_and_threads(repeats):
    expected = ONE()
    handle = pymluops.Handle(num_threads=1)
    for _ in range(2):
        assert same(ONE(handle=handle), expected)
    assert len(repeats) == 1
    handle.close()
    with pytest.raises(pymluops.NotInitializedError, match="closed"):
        ONE(handle=handle)
    found = []
    threads = [threading.Thread(target=lambda: found.append(ONE())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(result, expected) for result in found)


def test_nothing_of_a_call_is_kept_alive(repeats):
    array = ONE.arrays[ONE_ARRAY].copy()
    for _ in range(3):
        ONE(**{ONE_ARRAY: array})
    assert len(repeats) == 2
    repeats.clear()
    assert sys.getrefcount(array) == 2
