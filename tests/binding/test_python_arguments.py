# SPDX-License-Identifier: Apache-2.0
"""A mistake in any argument of any function gives a typed error that names the argument."""

import inspect
import itertools
import re
import warnings

import numpy as np
import pytest
from python_calls import CALLS, ONE, ONE_ARRAY, assert_blames, facts

import pymluops
from pymluops import BadParamError, BadTypeError, MluOpError

ARRAYS = [(name, array) for name, call in CALLS.items() for array in call.arrays]
NUMBERS = [
    (name, number)
    for name, call in CALLS.items()
    for number, value in call.numbers.items()
    if isinstance(value, int)
]
# Numbers that are real, by their value or their default.
FLOATS = [
    (name, number)
    for name, call in CALLS.items()
    for number, value in call.numbers.items()
    if isinstance(value, float)
]
FLOATS += [
    (name, parameter.name)
    for name, call in CALLS.items()
    for parameter in inspect.signature(call.function).parameters.values()
    if isinstance(parameter.default, float)
]
BATCHED, COORDINATES = facts("BATCHED"), facts("FLOAT32_COORDINATES")
EMPTY_FOR_ZERO, GRADIENT_BY_NAME = facts("EMPTY_FOR_ZERO"), facts("GRADIENT_BY_NAME")


@pytest.mark.parametrize("name", CALLS)
def test_base_calls_work(name):
    call = CALLS[name]
    results = call.results()
    for result, (shape, dtype) in zip(results, call.outputs.values(), strict=True):
        assert result.shape == shape
        assert result.dtype == dtype
        assert np.any(result != 0)


class Hostile:
    """Looks like an array, and fails when it is asked."""

    def __array__(self, *_args, **_kwargs):
        raise ZeroDivisionError("boom")


NO_ARRAYS = {
    "None": None,
    "text": "text",
    "bytes": b"\0" * 96,
    "float": 3.0,
    "int": 3,
    "complex": 1j,
    "object": object(),
    "dict": {},
    "set": {1.0},
    "generator": (number for number in (1.0,)),
    "type": np.ndarray,
    "ragged list": [[1.0, 2.0], [3.0]],
    "list of text": ["1.0"],
    "list of None": [None],
    "list of bools": [True],
    "hostile": Hostile(),
    "numpy.ma": np.ma.array([1.0], mask=[True]),
}


# One argument is given everything; the others show that they are judged as well.
ANY_VALUE = [(*ARRAYS[0], value) for value in NO_ARRAYS]
ONE_VALUE = [(*array, "hostile") for array in ARRAYS[1:]]


@pytest.mark.parametrize(("name", "argument", "value"), [*ANY_VALUE, *ONE_VALUE])
def test_what_is_no_array(name, argument, value):
    with pytest.raises(BadTypeError) as caught:
        CALLS[name](**{argument: NO_ARRAYS[value]})
    assert_blames(caught.value, name, argument + ":")


DTYPES = (
    "bool int8 uint8 int16 uint16 int64 uint32 float64 longdouble complex64 O S4 U4 M8[s] i4,f4"
)


# Any dtype for an argument of each dtype that is wanted; float64 for all.
ANY_DTYPE = [
    (*next(a for a in ARRAYS if CALLS[a[0]].arrays[a[1]].dtype == wanted), dtype)
    for wanted in (np.float32, np.int32)
    for dtype in DTYPES.split()
    if (wanted, dtype) != (np.int32, "int64")  # taken for indices: test_int64_indices
]


@pytest.mark.parametrize(
    ("name", "argument", "dtype"), [*ANY_DTYPE, *((*array, "float64") for array in ARRAYS)]
)
def test_other_dtypes(name, argument, dtype):
    base = CALLS[name].arrays[argument]
    with pytest.raises(BadTypeError) as caught:
        CALLS[name](**{argument: np.zeros(base.shape, dtype)})
    assert_blames(caught.value, name, argument + ": dtype ")
    assert f"expected {'int32' if argument.endswith('idx') else 'float32'}" in str(caught.value)
    if dtype == "float64":
        assert ".astype(numpy." in str(caught.value)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no such dtype")
def test_dtypes_without_a_byte_order():
    text = np.array([[[["a"]]]], np.dtypes.StringDType())
    with pytest.raises(BadTypeError, match=f"{ONE_ARRAY}: dtype StringDType"):
        ONE(**{ONE_ARRAY: text})


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_other_ranks(name, argument):
    base = CALLS[name].arrays[argument]
    noun = "dim" if base.ndim == 1 else "dims"
    expected = "3 or 4 dims" if (argument, base.ndim) == ("boxes", 3) else f"{base.ndim} {noun}"
    if argument == BATCHED.get(name, ("",))[0]:
        expected = "3 or 4 dims"  # one image: tests/binding/test_python_conveniences.py
    for array in (base[None, None], base.reshape(-1), base.reshape(-1)[0], base[:0][None, None]):
        if array.ndim == base.ndim:
            continue
        with pytest.raises(BadParamError) as caught:
            CALLS[name](**{argument: array})
        assert_blames(caught.value, name, f"{argument}: {array.ndim} dim")
        assert f"expected {expected}" in str(caught.value)


# Whose extents no other argument fixes: any value of theirs is a valid call.
FREE = facts("FREE")


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_extents_that_do_not_fit(name, argument):
    base = CALLS[name].arrays[argument]
    for axis in range(base.ndim):
        longer = np.concatenate((base, np.take(base, [0], axis)), axis)
        if axis in FREE.get((name, argument), ()):
            CALLS[name](**{argument: longer})
            continue
        with pytest.raises(BadParamError) as caught:
            CALLS[name](**{argument: longer})
        blamed = re.match(r"\[\w+\] (\w+)", caught.value.message)[1]
        assert (
            blamed.startswith("grad_")
            or blamed in inspect.signature(CALLS[name].function).parameters
        )
        assert caught.value.function == CALLS[name].c_function


def message_of(call, **changes):
    """Return what a call says of wrong values, or nothing."""
    try:
        call(**changes)
    except BadParamError as error:
        return error.message
    return ""


def test_channels_at_the_wrong_place():
    """An error for images in NCHW says their shape, and that they were read as NHWC."""
    said = []
    for call in CALLS.values():
        images = {key: array for key, array in call.arrays.items() if array.ndim == 4}
        moved = {key: np.ascontiguousarray(np.moveaxis(a, 3, 1)) for key, a in images.items()}
        message = message_of(call, **moved)
        if message:
            said.append(message)
            blamed, shape = re.search(r"\] (\w+): dim .*; \1 is \[([\d,]+)\]", message).groups()
            assert blamed not in moved or shape == ",".join(map(str, moved[blamed].shape))
    assert sum(", read as [N,H,W,C]: N=" in message for message in said) >= 8, said


NO_NUMBERS = {
    "None": None,
    "text": "3",
    "list": [],
    "object": object(),
    "array": np.array([1, 2]),
    "complex": 1j,
    "fraction": 2.5,  # the last: a float argument takes it
}
ANY_NUMBER = [(*NUMBERS[0], value) for value in NO_NUMBERS]
ANY_NUMBER += [(*FLOATS[0], value) for value in [*NO_NUMBERS][:-1]]


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [*ANY_NUMBER, *((*number, "text") for number in [*NUMBERS[1:], *FLOATS[1:]])],
)
def test_what_is_no_number(name, argument, value):
    with pytest.raises((BadTypeError, BadParamError)) as caught:
        CALLS[name](**{argument: NO_NUMBERS[value]})
    assert_blames(caught.value, name, argument + ": ")


BEYOND_INT = {"2**31": 2**31, "-2**31-1": -(2**31) - 1, "2**64": 2**64, "-10**5000": -(10**5000)}


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        *((*NUMBERS[0], value) for value in BEYOND_INT),
        *((*number, "2**31") for number in NUMBERS[1:]),
    ],
)
def test_numbers_beyond_int(name, argument, value):
    with pytest.raises(BadParamError) as caught:
        CALLS[name](**{argument: BEYOND_INT[value]})
    assert_blames(caught.value, name, argument + ": ")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [1e39, -1e300, 10**400], ids=["1e39", "-1e300", "10**400"])
@pytest.mark.parametrize(("name", "argument"), FLOATS)
def test_numbers_beyond_float(name, argument, value):
    with pytest.raises(BadParamError) as caught:
        CALLS[name](**{argument: value})
    assert_blames(caught.value, name, argument + ": ")


@pytest.mark.parametrize("value", [-(2**31)])
@pytest.mark.parametrize(("name", "argument"), NUMBERS)
def test_negative_numbers(name, argument, value):
    if argument in ("pad_h", "pad_w", "sampling_ratio"):
        CALLS[name](**{argument: value})
        return
    with pytest.raises(BadParamError) as caught:
        CALLS[name](**{argument: value})
    assert_blames(caught.value, name, argument)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "argument"),
    [pair for pair in NUMBERS if pair[1] not in ("psa_type", "pad_h", "pad_w", "sampling_ratio")],
)
def test_zero(name, argument):
    if name in EMPTY_FOR_ZERO:
        assert CALLS[name](**{argument: 0}).shape == EMPTY_FOR_ZERO[name]
        return
    with pytest.raises(BadParamError):
        CALLS[name](**{argument: 0})


@pytest.mark.parametrize("value", [2**31 - 1])
@pytest.mark.parametrize(("name", "argument"), NUMBERS)
def test_huge_numbers(name, argument, value):
    if argument in ("pad_h", "pad_w", "sampling_ratio", "pool_size"):
        CALLS[name](**{argument: value})  # allowed, and no reason to take long
        return
    with pytest.raises((BadParamError, pymluops.NotSupportedError)):
        CALLS[name](**{argument: value})


@pytest.mark.parametrize(("name", "argument"), NUMBERS)
def test_truth_is_no_number(name, argument):
    with pytest.raises(BadTypeError, match=f"{argument}: True given, expected an int"):
        CALLS[name](**{argument: True})


@pytest.mark.parametrize(("name", "argument"), FLOATS)
def test_truth_is_no_fraction(name, argument):
    for value in (True, np.False_):
        with pytest.raises(BadTypeError, match=rf"{argument}: \w+ given, expected a float"):
            CALLS[name](**{argument: value})


def test_only_truth_is_truth():
    """Where a bool is expected, 'no' would count as true."""
    flags = [
        (name, parameter.name)
        for name, call in CALLS.items()
        for parameter in inspect.signature(call.function).parameters.values()
        if isinstance(parameter.default, bool)
    ]
    assert flags
    for name, argument in flags:
        for value in ("no", 1, None):
            with pytest.raises(BadTypeError, match=f"{argument}: .* given, expected a bool"):
                CALLS[name](**{argument: value})
        CALLS[name](**{argument: np.True_})


def test_mixed_dtypes():
    for name, argument in ARRAYS:
        base = CALLS[name].arrays[argument]
        others = {n for n, array in CALLS[name].arrays.items() if array.dtype == np.float32}
        others -= {argument, COORDINATES.get(name)}  # float32 boxes go with half maps
        if base.dtype == np.float32 and others:
            with pytest.raises(
                BadTypeError, match=r"expected float.*, the dtype of \w+; convert it"
            ):
                CALLS[name](**{argument: base.astype(np.float16)})


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("handle", ["handle", 0, object()], ids=["text", "0", "object"])
def test_what_is_no_handle(name, handle):
    with pytest.raises(BadTypeError) as caught:
        CALLS[name](handle=handle)
    assert_blames(caught.value, name, "handle: ")


@pytest.mark.parametrize("name", CALLS)
def test_scalars_are_keywords(name):
    call = CALLS[name]
    with pytest.raises(TypeError, match="positional argument"):
        call.function(*call.arrays.values(), *call.numbers.values())


def test_gradients_come_first_or_by_name():
    """An exchanged call would be accepted where all shapes are the same."""
    for name, call in CALLS.items():
        if name.endswith("backward") and name not in GRADIENT_BY_NAME:
            first = next(iter(inspect.signature(call.function).parameters))
            assert first in ("grad_output", "dy")
    for name in GRADIENT_BY_NAME:
        call = CALLS[name]
        with pytest.raises(TypeError, match="positional argument"):
            call.function(*call.arrays.values(), **call.numbers)


@pytest.mark.parametrize("name", CALLS)
def test_any_two_mistakes_at_once(name):
    """No combination of mistakes escapes the typed errors."""
    call = CALLS[name]
    parameters = inspect.signature(call.function).parameters
    optional = {array for array in call.arrays if parameters[array].default is None}
    allowed = {"pad_h", "pad_w", "sampling_ratio", "pool_size"}

    def harmless(argument, value):
        return argument in allowed or (argument in optional and value is None)

    mistakes = [
        *((array, value) for array in call.arrays for value in (None, ["x"], np.zeros((0, 0, 0)))),
        *((number, value) for number in call.numbers for value in (None, -1, 2**31 - 1)),
    ]
    if call.takes_out:
        mistakes += [("out", np.zeros(3)), ("out", "text")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, two in itertools.combinations(mistakes, 2):
            if one[0] == two[0] or (harmless(*one) and harmless(*two)):
                continue
            with pytest.raises(MluOpError):
                call(**dict([one, two]))
