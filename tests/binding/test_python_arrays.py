# SPDX-License-Identifier: Apache-2.0
"""Arrays of any kind and layout give the same results, or an error; none is changed."""

import array
import ctypes
import itertools

import numpy as np
import pytest
import torch
from python_calls import CALLS, WITH_OUT, as_tuple, facts

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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_layouts_give_the_same_bits(name, argument, layout):
    call = CALLS[name]
    base = call.arrays[argument]
    given = LAYOUTS[layout](base.copy())
    expected = call.results()
    for got, want in zip(call.results(**{argument: given}), expected, strict=True):
        assert type(got) is np.ndarray
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()
    if isinstance(given, np.ndarray):
        assert np.array_equal(given, base)


def test_strided_nan_payloads_survive():
    bits = np.array([0x7F800001, 0xFFC12345, 0x80000000, 0x7FFFFFFF], np.uint32)
    x = np.repeat(bits.view(np.float32), 2).reshape(1, 2, 2, 2)[..., :1]
    for given in (x, unaligned(x), x.astype(">f4")):
        y = pymluops.psamask_forward(given, psa_type=0, h_mask=1, w_mask=1)
        assert np.array_equal(y.view(np.uint32).reshape(4, 4).diagonal(), bits)


def test_broadcast_input():
    x = np.broadcast_to(np.float32(2), (1, 2, 2, 9))
    got = pymluops.psamask_forward(x, psa_type=1, h_mask=3, w_mask=3)
    assert np.array_equal(got, pymluops.psamask_forward(x.copy(), psa_type=1, h_mask=3, w_mask=3))


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
    one_dim = array.array("i", [0, 1, 3])
    assert np.array_equal(
        CALLS["masked_im2col_forward"](mask_h_idx=one_dim), CALLS["masked_im2col_forward"]()
    )
    x = CALLS["psamask_forward"].arrays["x"]
    raw = (ctypes.c_float * 3 * 3 * 2 * 2).from_buffer_copy(x.tobytes())
    assert np.array_equal(CALLS["psamask_forward"](x=raw), CALLS["psamask_forward"]())
    with pytest.raises(BadTypeError, match=r"mask_h_idx: dtype int16 given, expected int32"):
        CALLS["masked_im2col_forward"](mask_h_idx=array.array("h", [0, 1, 3]))


def test_lists():
    y = pymluops.psamask_forward([[[[1, 2.5, 3]]]], psa_type=0, h_mask=1, w_mask=3)
    assert y.dtype == np.float32
    assert y.tolist() == [[[[2.5]]]]
    call = CALLS["masked_im2col_forward"]
    for wrong in ([0, 1, 2**31], [0, 1, -(2**40)]):
        with pytest.raises(pymluops.BadParamError, match=r"mask_h_idx: number .* not fit int32"):
            call(mask_h_idx=wrong)
    for wrong in ([0.0, 1.0, 3.0], [True, False, True], [2**70, 0, 0], ["0", "1", "3"]):
        with pytest.raises(BadTypeError, match=r"mask_h_idx: list of .* expected int32"):
            call(mask_h_idx=wrong)
    with pytest.raises(pymluops.BadParamError, match=r"x: number given that does not fit float32"):
        pymluops.psamask_forward([[[[1e39]]]], psa_type=0, h_mask=1, w_mask=1)
    infinite = pymluops.psamask_forward([[[[np.inf]]]], psa_type=0, h_mask=1, w_mask=1)
    assert np.isinf(infinite).all()
    assert call(mask_h_idx=[], mask_w_idx=[]).shape == (12, 0)


def test_lists_of_arrays_are_not_cast():
    call = CALLS["masked_col2im_forward"]
    col = call.arrays["col"]
    assert np.array_equal(call(col=list(col)), call())
    assert np.array_equal(call(col=[list(row) for row in col]), call())
    for wrong in (list(col.astype(np.float64)), [list(row) for row in col.astype(np.float64)]):
        with pytest.raises(BadTypeError, match=r"col: dtype float64 given, .*\.astype"):
            call(col=wrong)
    endless: list = []
    endless.append(endless)
    with pytest.raises(BadTypeError, match="col: "):
        call(col=endless)


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
        pymluops.psamask_forward(tensor, psa_type=0, h_mask=1, w_mask=1)


def test_tensors_with_other_numbers_than_their_memory():
    """The imaginary part of a conjugate has its negative bit set, which DLPack does not carry."""
    call = CALLS["psamask_forward"]
    z = torch.complex(torch.zeros(2, 2, 3, 3), torch.from_numpy(call.arrays["x"]))
    negative = z.conj().imag
    assert negative.is_neg()
    with pytest.raises(BadTypeError, match=r"x: tensor with is_neg\(\) .* pass x.resolve_neg\(\)"):
        call(x=negative)
    assert np.array_equal(call(x=negative.resolve_neg().contiguous()), -call())
    out = torch.complex(torch.zeros(2, 2, 3, 6), torch.zeros(2, 2, 3, 6)).conj().imag
    with pytest.raises(BadTypeError, match=r"out: tensor with is_neg\(\)"):
        call(out=out)
    with pytest.raises(BadTypeError, match=r"x: tensor with is_conj\(\)"):
        call(x=z.conj())


def test_autograd_notices_what_is_written():
    """A tensor that autograd has kept, and that a result then goes into, has no right gradient."""
    call = CALLS["psamask_forward"]
    weight = torch.ones(2, 2, 3, 6, requires_grad=True)
    kept = torch.zeros(2, 2, 3, 6)
    product = (weight * kept).sum()
    with pytest.raises(pymluops.MluOpError):
        call(out=kept, h_mask=5)
    version = kept._version
    call(out=kept)
    assert kept._version > version
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()
    with torch.inference_mode():
        call(out=torch.zeros(2, 2, 3, 6))


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
    call = CALLS["psamask_forward"]
    want = call()
    raw = bytearray(want.nbytes)
    out = memoryview(raw).cast("f", want.shape)
    assert call(out=out) is out
    assert bytes(raw) == want.tobytes()
    with pytest.raises(pymluops.BadParamError, match="read-only"):
        call(out=memoryview(bytes(raw)).cast("f", want.shape))


def test_what_would_be_copied_is_no_output():
    """An object that hands out copies would keep its old values."""

    class Copies:
        def __array__(self, *_args, **_kwargs):
            return np.zeros((2, 2, 3, 6), np.float32)

    call = CALLS["psamask_forward"]
    with pytest.raises(BadTypeError, match="out: Copies given"):
        call(out=Copies())
    with pytest.raises(pymluops.MluOpError, match="out: "):
        call(out=torch.zeros(2, 2, 3, 6, requires_grad=True))
    shared = np.zeros((2, 2, 3, 6), np.float32)
    assert isinstance(call(out=OnlyInterface(shared)), OnlyInterface)
    assert np.array_equal(shared, call())


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
