# SPDX-License-Identifier: Apache-2.0
"""Short ways to say the same: they give the bits that the long way gives."""

import numpy as np
import pytest
from python_calls import CALLS, as_tuple, facts, same

from pymluops import BadParamError, BadTypeError

# ------------------------------------------------------------------------------------ numbers

SIZES = facts("SIZES")


@pytest.mark.parametrize("name", SIZES)
def test_two_sizes_in_one(name):
    call = CALLS[name]
    short, long, _ = SIZES[name]
    pair = tuple(call.numbers[each] for each in long)
    numbers = {key: value for key, value in call.numbers.items() if key not in long}
    arrays = call.arrays.values()
    assert same(call.function(*arrays, **numbers, **{short: pair}), call())
    assert same(call.function(*arrays, **numbers, **{short: list(pair)}), call())
    with pytest.raises(BadParamError, match=f"{short}: given beside {long[0]}, expected one of"):
        call(**{short: pair})
    for wrong in ((1, 2, 3), ()):
        with pytest.raises(BadParamError, match=f"{short}: {len(wrong)} numbers given"):
            call.function(*arrays, **numbers, **{short: wrong})
    with pytest.raises(BadTypeError, match=f"{short}: 'two' given, expected an int"):
        call.function(*arrays, **numbers, **{short: "two"})
    with pytest.raises(
        BadTypeError, match=f"{long[0]}: missing; pass {long[0]} and {long[1]}, or {short}$"
    ):
        call.function(*arrays, **numbers)


# -------------------------------------------------------------------------------------- images

BATCHED = facts("BATCHED")
# Results that have no dim of images.
UNBATCHED_RESULTS = facts("UNBATCHED_RESULTS")


@pytest.mark.parametrize("name", BATCHED)
def test_an_image_without_a_batch(name):
    call = CALLS[name]
    first = {argument: call.arrays[argument][:1] for argument in BATCHED[name]}
    if "rois" in call.arrays:
        first["rois"] = call.arrays["rois"] * np.float32([0, 1, 1, 1, 1])
    single = first | {argument: first[argument][0] for argument in BATCHED[name]}
    expected = [
        result if (name, i) in UNBATCHED_RESULTS else result[0]
        for i, result in enumerate(call.results(**first))
    ]
    assert same(call.results(**single), tuple(expected))
    out = tuple(np.empty_like(result) for result in expected)
    returned = as_tuple(call(**single, out=out if len(out) > 1 else out[0]))
    assert all(got is given for got, given in zip(returned, out, strict=True))
    assert same(out, tuple(expected))
    strided = {key: np.repeat(value, 2, -1)[..., ::2] for key, value in single.items()}
    assert same(call.results(**strided), tuple(expected))


# ------------------------------------------------------------------------------------ positions


def test_int64_indices():
    for call in CALLS.values():
        for argument, base in call.arrays.items():
            if base.dtype == np.int32:
                assert same(call(**{argument: base.astype(np.int64)}), call())
                assert same(call(**{argument: list(base.astype(np.int64))}), call())
                wrong = base.astype(np.int64)
                wrong.flat[0] = 2**32
                with pytest.raises(
                    BadParamError, match=f"{argument}: 4294967296 given, which does not"
                ):
                    call(**{argument: wrong})


# ------------------------------------------------------------------------------------- regions


#: Operators over a list of regions, boxes or positions, which may be empty: the first of these.
LISTS = {
    name: next(key for key in ("rois", "boxes", "mask_h_idx") if key in call.arrays)
    for name, call in CALLS.items()
    if any(getattr(call.arrays.get(key), "ndim", 9) <= 2 for key in ("rois", "boxes", "mask_h_idx"))
}


@pytest.mark.parametrize("name", LISTS)
def test_nothing_was_found(name):
    """Ordinary in detection: results are empty, and the gradient of the map is 0."""
    call = CALLS[name]
    count = len(call.arrays[LISTS[name]])
    axes = {key: a.shape.index(count) for key, a in call.arrays.items() if count in a.shape}
    axes = {key: axis for key, axis in axes.items() if key not in ("input", "feature")}
    none = {key: np.take(call.arrays[key], [], axis) for key, axis in axes.items()}
    for result, (shape, dtype) in zip(call.results(**none), call.outputs.values(), strict=True):
        assert result.dtype == dtype
        assert result.size == 0 or (result.shape == shape and not result.any())


FLOAT32_COORDINATES = facts("FLOAT32_COORDINATES")


@pytest.mark.parametrize("name", FLOAT32_COORDINATES)
def test_half_maps_with_float32_coordinates(name):
    """Where float16 holds the coordinates, the bits are those of a call in float16 alone."""
    call = CALLS[name]
    half = {
        argument: base.astype(np.float16) if base.dtype == np.float32 else base
        for argument, base in call.arrays.items()
    }
    argument = FLOAT32_COORDINATES[name]
    mixed = half | {argument: half[argument].astype(np.float32)}
    assert same(call(**mixed), call(**half))
    if call.takes_out:
        out = tuple(np.full_like(result, 7) for result in call.results(**half))
        assert same(call(**mixed, out=out if len(out) > 1 else out[0]), call(**half))
        assert same(out, call.results(**half))
    with pytest.raises(BadTypeError, match=f"{argument}: dtype float16 given, expected float32"):
        call(**{argument: half[argument]})
