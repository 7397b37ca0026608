# SPDX-License-Identifier: Apache-2.0
"""Arrays of any kind and layout give the same results, or an error; none is changed."""

import ctypes
import itertools

import numpy as np
import pytest
import torch
from python_calls import CALLS, ONE, ONE_ARRAY, WITH_OUT, as_tuple, facts

import pymluops
from pymluops import BadTypeError

ARRAYS = [(name, argument) for name, call in CALLS.items() for argument in call.arrays]
HALF = [name for name, call in CALLS.items() if np.float16 in call.dtypes]


def unaligned(base):
    memory = np.zeros(base.nbytes + 1, np.uint8)
    result = memory[1:].view(base.dtype).reshape(base.shape)
    result[...] = base
    assert not result.flags.aligned
    return result


def read_only(base):
    result = base.copy()
    result.flags.writeable = False
    return result


class Subclass(np.ndarray):
    pass


class OnlyInterface:
    def __init__(self, base):
        self.base = base
        self.__array_interface__ = base.__array_interface__


class OnlyDLPack:
    def __init__(self, base):
        self.base = base

    def __dlpack__(self, **kwargs):
        return self.base.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.base.__dlpack_device__()


LAYOUTS = {
    "fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "every other": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "part of a larger one": lambda a: np.pad(a, 1)[(slice(1, -1),) * a.ndim],
    "unaligned": unaligned,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "byte-swapped and reversed": lambda a: a.astype(a.dtype.newbyteorder())[::-1].copy()[::-1],
    "read-only": read_only,
    "subclass": lambda a: a.view(Subclass),
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "memoryview": memoryview,
    "interface": OnlyInterface,
    "dlpack": OnlyDLPack,
    "torch": torch.from_numpy,
    "torch, other strides": lambda a: torch.from_numpy(np.ascontiguousarray(a.T)).permute(
        *reversed(range(a.ndim))
    ),
}


@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_layouts_give_the_same_bits(name, argument):
    call = CALLS[name]
    base = call.arrays[argument]
    expected = call.results()
    for layout, made in LAYOUTS.items():
        given = made(base.copy())
        for got, want in zip(call.results(**{argument: given}), expected, strict=True):
            assert type(got) is np.ndarray, layout
            assert got.dtype == want.dtype, layout
            assert got.tobytes() == want.tobytes(), layout
        if isinstance(given, np.ndarray):
            assert np.array_equal(given, base), layout


def test_broadcast_input():
    same = np.broadcast_to(np.float32(2), ONE.arrays[ONE_ARRAY].shape)
    assert np.array_equal(ONE(**{ONE_ARRAY: same}), ONE(**{ONE_ARRAY: same.copy()}))


def test_inputs_are_read_in_place():
    """Contiguous arrays are handed over as they are, whatever library they come from."""
    from pymluops._tensor import FLOAT, as_input, as_readable, is_readable

    def taken_as(value):
        array, dtype = as_input("f", "x", value, FLOAT, (2,))
        return array if is_readable(array, dtype) else as_readable("f", "x", array, dtype)

    base = np.ones((2, 3), np.float32)
    for given in (
        base,
        read_only(base),
        base.view(Subclass),
        torch.from_numpy(base),
        OnlyDLPack(base),
    ):
        taken = taken_as(given)
        where = given.data_ptr() if isinstance(given, torch.Tensor) else None
        if isinstance(given, np.ndarray):
            where = given.ctypes.data
        assert taken.ctypes.data == (where or base.ctypes.data)
    assert not np.shares_memory(taken_as(base.T), base)
    for given in (base.T, unaligned(base), base.astype(">f4"), unaligned(base.astype(">f4"))):
        flags = taken_as(given).flags
        assert flags.aligned
        assert flags.c_contiguous


@pytest.mark.parametrize("name", HALF)
def test_results_have_the_dtype_of_the_input(name):
    call = CALLS[name]
    half = {
        argument: base.astype(np.float16) if base.dtype == np.float32 else base
        for argument, base in call.arrays.items()
    }
    for got, full in zip(call.results(**half), call.results(), strict=True):
        assert got.dtype == (full.dtype if full.dtype.kind == "i" else np.float16)
        np.testing.assert_allclose(got, full, rtol=1e-3, atol=1e-3)
    if call.takes_out:
        out = tuple(np.empty(r.shape, r.dtype) for r in call.results(**half))
        call(**half, out=out if len(out) > 1 else out[0])


def test_buffers_of_the_standard_library():
    array_type = ctypes.c_float
    for extent in reversed(ONE.arrays[ONE_ARRAY].shape):
        array_type *= extent
    raw = array_type.from_buffer_copy(ONE.arrays[ONE_ARRAY].tobytes())
    assert np.array_equal(ONE(**{ONE_ARRAY: raw}), ONE())


def test_lists():
    one = ONE.arrays[ONE_ARRAY]
    numbers = ONE(**{ONE_ARRAY: np.round(one).astype(int).tolist()})
    assert numbers.dtype == np.float32
    assert np.array_equal(numbers, ONE(**{ONE_ARRAY: np.round(one)}))
    too_large = np.full(one.shape, 1e39).tolist()
    with pytest.raises(pymluops.BadParamError, match=rf"{ONE_ARRAY}: 1e\+39 given, which does not"):
        ONE(**{ONE_ARRAY: too_large})
    assert np.isinf(ONE(**{ONE_ARRAY: np.full(one.shape, np.inf).tolist()})).any()


def test_lists_of_arrays_are_not_cast():
    one = ONE.arrays[ONE_ARRAY]
    double = one.astype(np.float64)
    assert np.array_equal(ONE(**{ONE_ARRAY: list(one)}), ONE())
    assert np.array_equal(ONE(**{ONE_ARRAY: [list(row) for row in one]}), ONE())
    for wrong in (list(double), [list(row) for row in double]):
        with pytest.raises(BadTypeError, match=rf"{ONE_ARRAY}: dtype float64 given, .*\.astype"):
            ONE(**{ONE_ARRAY: wrong})
    endless: list = []
    endless.append(endless)
    with pytest.raises(BadTypeError, match=f"{ONE_ARRAY}: "):
        ONE(**{ONE_ARRAY: endless})


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (torch.zeros(1, 1, 1, 1, requires_grad=True), "detach"),
        (torch.zeros(1, 1, 1, 1, dtype=torch.bfloat16), "torch.Tensor"),
        (torch.zeros(1, 1, 1, 1, device="meta"), "meta"),
        (torch.zeros(1, 1, 1, 1, dtype=torch.float64), "float64"),
        (torch.zeros(1, 1, 1, 1).to_sparse(), "torch.Tensor"),
    ],
    ids=["requires_grad", "bfloat16", "meta", "float64", "sparse"],
)
def test_tensors_that_cannot_be_read(tensor, reason):
    with pytest.raises(BadTypeError, match=reason):
        ONE(**{ONE_ARRAY: tensor})


def test_tensors_with_other_numbers_than_their_memory():
    """The imaginary part of a conjugate has its negative bit set, which DLPack does not carry."""
    x = torch.from_numpy(ONE.arrays[ONE_ARRAY])
    z = torch.complex(torch.zeros_like(x), x)
    negative = z.conj().imag
    assert negative.is_neg()
    advice = rf"{ONE_ARRAY}: tensor with is_neg\(\) .* pass {ONE_ARRAY}.resolve_neg\(\)"
    with pytest.raises(BadTypeError, match=advice):
        ONE(**{ONE_ARRAY: negative})
    assert np.array_equal(
        ONE(**{ONE_ARRAY: negative.resolve_neg().contiguous()}), ONE(**{ONE_ARRAY: -x})
    )
    out = torch.from_numpy(ONE.new_outputs())
    with pytest.raises(BadTypeError, match=r"out: tensor with is_neg\(\)"):
        ONE(out=torch.complex(out, out).conj().imag)
    with pytest.raises(BadTypeError, match=rf"{ONE_ARRAY}: tensor with is_conj\(\)"):
        ONE(**{ONE_ARRAY: z.conj()})


def test_autograd_notices_what_is_written():
    """A tensor that autograd has kept, and that a result then goes into, has no right gradient."""
    kept = torch.from_numpy(ONE.new_outputs())
    weight = torch.ones_like(kept, requires_grad=True)
    product = (weight * kept).sum()
    with pytest.raises(pymluops.MluOpError):
        ONE(**{ONE_ARRAY: ONE.arrays[ONE_ARRAY][0], "out": kept})
    version = kept._version
    ONE(out=kept)
    assert kept._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    with torch.inference_mode():
        ONE(out=torch.from_numpy(ONE.new_outputs()))


@pytest.mark.parametrize("name", WITH_OUT)
def test_torch_tensors_as_outputs(name):
    call = CALLS[name]
    arrays = as_tuple(call.new_outputs())
    tensors = tuple(torch.from_numpy(a) for a in arrays)
    returned = as_tuple(call(out=tensors if len(tensors) > 1 else tensors[0]))
    for tensor, got, want in zip(tensors, returned, call.results(), strict=True):
        assert got is tensor
        assert np.array_equal(tensor.numpy(), want)


def test_memory_of_others_as_output():
    want = ONE()
    raw = bytearray(want.nbytes)
    out = memoryview(raw).cast("f", want.shape)
    assert ONE(out=out) is out
    assert bytes(raw) == want.tobytes()
    with pytest.raises(pymluops.BadParamError, match="read-only"):
        ONE(out=memoryview(bytes(raw)).cast("f", want.shape))


def test_what_would_be_copied_is_no_output():
    """An object that hands out copies would keep its old values."""

    class Copies:
        def __array__(self, *_args, **_kwargs):
            return ONE.new_outputs()

    with pytest.raises(BadTypeError, match="out: Copies given"):
        ONE(out=Copies())
    with pytest.raises(pymluops.MluOpError, match="out: "):
        ONE(out=torch.from_numpy(ONE.new_outputs()).requires_grad_())
    shared = ONE.new_outputs()
    assert isinstance(ONE(out=OnlyInterface(shared)), OnlyInterface)
    assert np.array_equal(shared, ONE())


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if len(call.arrays) > 1])
def test_two_layouts_at_once(name):
    """Copies of one argument do not disturb another."""
    call = CALLS[name]
    expected = call.results()
    first, second = list(call.arrays)[:2]
    for one, two in itertools.product(("fortran", "unaligned", "byte-swapped"), repeat=2):
        changed = {
            first: LAYOUTS[one](call.arrays[first]),
            second: LAYOUTS[two](call.arrays[second]),
        }
        for got, want in zip(call.results(**changed), expected, strict=True):
            assert np.array_equal(got, want)


# ------------------------------------------------------------------------- nothing to calculate

EARLY = facts("EARLY")


@pytest.mark.parametrize("case", EARLY)
def test_early_returns_give_zeros(case):
    name, changes, shapes = EARLY[case]
    dirty = [np.full(shape, 7, np.float32) for shape in shapes for _ in range(8)]
    del dirty  # what a new array is likely to be made of
    for result, shape in zip(CALLS[name].results(**changes), shapes, strict=True):
        assert result.shape == shape
        assert not result.any()
    out = tuple(np.full(shape, 7, np.float32) for shape in shapes)
    for result in as_tuple(CALLS[name](**changes, out=out if len(out) > 1 else out[0])):
        assert not result.any()


@pytest.mark.parametrize("name", CALLS)
def test_results_are_complete(name, monkeypatch):
    """Every element of a result is written, whatever its memory held."""
    call = CALLS[name]
    expected = call.results()
    for fill in (np.nan, 3):
        monkeypatch.setattr(
            "pymluops._call.np.empty",
            lambda shape, dtype, fill=fill: np.full(shape, 9 if dtype == np.int32 else fill, dtype),
        )
        for got, want in zip(call.results(), expected, strict=True):
            assert np.array_equal(got, want)
