# SPDX-License-Identifier: Apache-2.0
"""Layouts of images: bits of every kind, ragged extents, hostile memory, and every check."""

import guard
import numpy as np
import pytest
from everywhere import inputs_at, results_everywhere

import pymluops
from pymluops.capi import Layout, Status, ffi, lib

# Channels, height, width: fewer than a vector has, primes, around 16, 32 and 128, whole lines and a
# few elements more, and lines that are pages apart.
SHAPES = [
    (1, 1, 1),
    (3, 5, 7),
    (1, 9, 31),
    (37, 1, 1),
    (2, 3, 43),
    (3, 16, 33),
    (4, 17, 19),
    (5, 7, 37),
    (6, 1, 300),
    (7, 50, 51),
    (9, 13, 5),
    (12, 9, 11),
    (15, 7, 7),
    (16, 1, 16),
    (17, 4, 4),
    (20, 5, 33),
    (21, 11, 7),
    (24, 64, 32),
    (31, 32, 1),
    (33, 3, 3),
    (45, 9, 7),
    (56, 10, 10),
    (64, 7, 7),
    (127, 13, 1),
    (128, 16, 8),
    (257, 3, 11),
    (160, 15, 17),
    (272, 17, 16),
    (1024, 5, 13),
    (2048, 3, 11),
    (35, 64, 32),
    (100, 32, 64),
    (264, 8, 128),
    (256, 32, 32),
]
DTYPES = [np.float32, np.float16, np.int32, np.uint32, np.int16, np.uint16]


def random_bits(rng, shape, dtype=np.float32):
    """Elements of every kind, NaNs with payloads among them."""
    bits = np.uint32 if np.dtype(dtype).itemsize == 4 else np.uint16
    return rng.integers(0, np.iinfo(bits).max, shape, bits, endpoint=True).view(dtype)


def plain(x, order):
    """What the definition says: bits, as signalling NaNs must arrive as they are."""
    bits = x.view(np.uint32 if x.itemsize == 4 else np.uint16)
    return np.ascontiguousarray(bits.transpose(order)).view(x.dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_wherever_they_are(shape, dtype, rng, near_and_past):
    nchw = random_bits(rng, (2, *shape), dtype)
    nhwc = plain(nchw, (0, 2, 3, 1))
    (source,) = inputs_at(20, nchw)
    places = (0, 2, 16, 36)

    def forth(handle, out):
        pymluops.to_nhwc(source, out=out, handle=handle)

    (result,) = results_everywhere(forth, [nhwc], near_and_past, places)
    assert result.tobytes() == nhwc.tobytes()

    def back(handle, out):
        pymluops.to_nchw(result, out=out, handle=handle)

    (again,) = results_everywhere(back, [nchw], near_and_past, places)
    assert again.tobytes() == nchw.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fence", guard.BOTH)
def test_nothing_outside_is_read(fence, dtype, rng, near_and_past):
    for shape in SHAPES:
        nchw = random_bits(rng, (1, *shape), dtype)
        nhwc = plain(nchw, (0, 2, 3, 1))
        for handle in near_and_past:
            assert pymluops.to_nhwc(fence(nchw), handle=handle).tobytes() == nhwc.tobytes()
            assert pymluops.to_nchw(fence(nhwc), handle=handle).tobytes() == nchw.tobytes()


def test_random_shapes(rng, near_and_past):
    for number in range(150):
        shape = tuple(int(extent) for extent in rng.integers(1, (4, 70, 20, 20)))
        nchw = random_bits(rng, shape, DTYPES[number % 2])
        handle = near_and_past[number // 2 % 2]
        handle.num_threads = number % 5 + 1
        nhwc = pymluops.to_nhwc(nchw, handle=handle)
        assert nhwc.tobytes() == plain(nchw, (0, 2, 3, 1)).tobytes(), shape
        assert pymluops.to_nchw(nhwc, handle=handle).tobytes() == nchw.tobytes(), shape


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 5])
def test_work_for_several_threads(threads, handle, rng):
    nchw = random_bits(rng, (3, 300, 29, 31))
    handle.num_threads = threads
    nhwc = pymluops.to_nhwc(nchw, handle=handle)
    assert nhwc.tobytes() == plain(nchw, (0, 2, 3, 1)).tobytes()
    assert pymluops.to_nchw(nhwc, handle=handle).tobytes() == nchw.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("fence", guard.BOTH)
@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_long_rows(threads, fence, dtype, handle, rng):
    """Both ways: of one the rows are ragged, of the other they are more than a block is wide."""
    handle.num_threads = threads
    for channels, height, width in ((512, 23, 23), (517, 24, 24), (544, 23, 23), (544, 65, 65)):
        nchw = random_bits(rng, (1, channels, height, width), dtype)
        nhwc = plain(nchw, (0, 2, 3, 1))
        assert pymluops.to_nhwc(fence(nchw), handle=handle).tobytes() == nhwc.tobytes()
        assert pymluops.to_nchw(fence(nhwc), handle=handle).tobytes() == nchw.tobytes()


def in_place(handle, layouts, images, turn):
    """Convert images where they are, and return them as the result has them."""
    result = np.reshape(images, tuple(images.shape[axis] for axis in turn))
    tensors = zip(layouts, (images, result), strict=True)
    descs = [pymluops.TensorDescriptor.from_array(array, layout) for layout, array in tensors]
    data = ffi.cast("void *", images.ctypes.data)
    status = lib.mluOpCpuConvertLayoutInPlace(handle.cdata, descs[0].cdata, descs[1].cdata, data)
    assert status == Status.SUCCESS, ffi.string(lib.mluOpCpuGetLastErrorMessage())
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("fence", guard.BOTH)
@pytest.mark.parametrize("threads", [1, 3])
def test_in_place(fence, dtype, threads, rng, near_and_past):
    for shape in SHAPES:
        nchw = random_bits(rng, (5, *shape), dtype)
        nhwc = plain(nchw, (0, 2, 3, 1))
        for handle in near_and_past:
            handle.num_threads = threads
            images = fence(nchw)
            last = in_place(handle, (NCHW, NHWC), images, (0, 2, 3, 1))
            assert last.tobytes() == nhwc.tobytes(), shape
            first = in_place(handle, (NHWC, NCHW), last, (0, 3, 1, 2))
            assert first.ctypes.data == images.ctypes.data
            assert first.tobytes() == nchw.tobytes(), shape


def test_many_images_in_place(rng, handle):
    """More of them than threads take at once."""
    handle.num_threads = 4
    nchw = random_bits(rng, (300, 64, 7, 7))
    nhwc = plain(nchw, (0, 2, 3, 1))
    assert in_place(handle, (NCHW, NHWC), nchw, (0, 2, 3, 1)).tobytes() == nhwc.tobytes()


def parts(shape, grown):
    """Where a tensor of this shape lies in one that is larger by `grown`."""
    return tuple(slice(more // 2, more // 2 + dim) for dim, more in zip(shape, grown, strict=True))


GROWN = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 3, 0, 0), (0, 0, 2, 0), (0, 0, 0, 5), (2, 1, 3, 16)]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("fence", guard.BOTH)
def test_parts_of_larger_images(fence, dtype, rng, near_and_past):
    """Gaps stay as they are, and one that ends the memory is not touched."""
    for number, shape in enumerate([*SHAPES, (40, 9, 1), (40, 1, 9), (1, 9, 40)]):
        nchw, order = (2, *shape), (0, 2, 3, 1)
        grown = GROWN[number % len(GROWN)], GROWN[number * 5 % 7 % len(GROWN)]
        first, last = (2, *shape), tuple(nchw[i] for i in order)
        for handle in near_and_past:
            handle.num_threads = number % 3 + 1
            for source_shape, target_shape, turn in (
                (first, last, order),
                (last, first, (0, 3, 1, 2)),
            ):
                large = np.add(source_shape, grown[0]), np.add(target_shape, grown[1])
                source = fence(random_bits(rng, large[0], dtype))[parts(source_shape, grown[0])]
                whole = fence(random_bits(rng, large[1], dtype))
                place = parts(target_shape, grown[1])
                expected = whole.copy().view(np.uint8)
                bits = np.uint32 if dtype is np.float32 else np.uint16
                expected.view(bits)[place] = plain(source, turn).view(bits)
                layouts = (NCHW, NHWC) if turn == order else (NHWC, NCHW)
                tensors = {
                    "input": (layouts[0], source),
                    "output": (layouts[1], whole[place]),
                }
                status, message = convert(handle.cdata, tensors)
                assert status == Status.SUCCESS, message
                assert whole.tobytes() == expected.tobytes(), (shape, grown, turn)


def test_one_image_alone():
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    y = pymluops.to_nhwc(x)
    assert y.shape == (3, 4, 2)
    assert y[1, 2].tolist() == [6, 18]
    assert (pymluops.to_nchw(y) == x).all()


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
def test_nothing_to_move(shape):
    n, c, h, w = shape
    assert pymluops.to_nhwc(np.empty(shape, np.float16)).shape == (n, h, w, c)
    assert pymluops.to_nchw(np.empty((n, h, w, c), np.float32)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_other_byte_orders_are_copied_first(dtype):
    x = np.arange(24).astype(dtype).reshape(1, 2, 3, 4)
    swapped = x.astype(x.dtype.newbyteorder())
    nhwc = pymluops.to_nhwc(swapped)
    assert nhwc.dtype == x.dtype
    assert np.array_equal(nhwc, x.transpose(0, 2, 3, 1))
    assert np.array_equal(pymluops.to_nchw(nhwc.astype(swapped.dtype)), x)


def test_other_strides_are_copied_first():
    x = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    turned = x.transpose(3, 1, 2, 0)
    assert (pymluops.to_nhwc(turned) == turned.transpose(0, 2, 3, 1)).all()


def test_python_refuses():
    with pytest.raises(pymluops.BadTypeError, match="x: dtype float64 given, expected float32 or"):
        pymluops.to_nhwc(np.ones((1, 2, 3, 4)))
    with pytest.raises(pymluops.BadParamError, match="x: 2 dims given"):
        pymluops.to_nchw(np.ones((3, 4), np.float32))
    with pytest.raises(pymluops.BadParamError, match="out: shape"):
        pymluops.to_nchw(np.ones((1, 2, 3, 4), np.float32), out=np.empty((1, 2, 3, 4), np.float32))


# --------------------------------------------------------------------------------- the checks

NCHW, NHWC, ARRAY = Layout.NCHW, Layout.NHWC, Layout.ARRAY
GOOD = {
    "input": (NCHW, np.zeros((1, 2, 3, 4), np.float32)),
    "output": (NHWC, np.zeros((1, 3, 4, 2), np.float32)),
}


def convert(handle, tensors):
    """Call the C function; a string stands for a NULL descriptor or NULL data."""
    arguments, alive = [], []
    for layout, array, *null in (tensors["input"], tensors["output"]):
        descriptor = pymluops.TensorDescriptor.from_array(array, layout)
        alive.append(descriptor)
        data = ffi.cast("void *", array.ctypes.data)
        arguments.append(ffi.NULL if "descriptor" in null else descriptor.cdata)
        arguments.append(ffi.NULL if "data" in null else data)
    status = lib.mluOpCpuConvertLayout(handle, *arguments)
    return status, ffi.string(lib.mluOpCpuGetLastErrorMessage()).decode()


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


_SHARED = zeros(35)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"input": (*GOOD["input"], "descriptor")}, "input_desc is NULL"),
        ({"output": (*GOOD["output"], "descriptor")}, "output_desc is NULL"),
        ({"input": (NCHW, zeros(2, 3, 4))}, "input has 3 dims, expected 4"),
        ({"output": (NHWC, zeros(1, 1, 3, 4, 2))}, "output has 5 dims, expected 4"),
        (
            {"input": (ARRAY, zeros(1, 2, 3, 4))},
            "input: layout is MLUOP_LAYOUT_ARRAY, expected NCHW or NHWC",
        ),
        (
            {"output": (NCHW, zeros(1, 2, 3, 4))},
            (
                "output: layout is MLUOP_LAYOUT_NCHW, expected MLUOP_LAYOUT_NHWC "
                "because input is MLUOP_LAYOUT_NCHW"
            ),
        ),
        (
            {"input": (NHWC, zeros(1, 3, 4, 2))},
            (
                "output: layout is MLUOP_LAYOUT_NHWC, expected MLUOP_LAYOUT_NCHW "
                "because input is MLUOP_LAYOUT_NHWC"
            ),
        ),
        (
            {"input": (NCHW, zeros(1, 2, 3, 4, dtype=np.float64))},
            "input: dtype is MLUOP_DTYPE_DOUBLE, expected a type of 2 or 4 bytes",
        ),
        (
            {"input": (NCHW, zeros(1, 2, 3, 4, dtype=np.int8))},
            "input: dtype is MLUOP_DTYPE_INT8, expected a type of 2 or 4 bytes",
        ),
        ({"output": (NHWC, zeros(1, 3, 4, 2, dtype=np.int32))}, "output: dtype is"),
        ({"output": (NHWC, zeros(2, 3, 4, 2))}, "output: dim 0 is 2, expected 1 (N)"),
        ({"output": (NHWC, zeros(1, 4, 3, 2))}, "output: dim 1 is 4, expected 3 (H)"),
        ({"output": (NHWC, zeros(1, 3, 4, 3))}, "output: dim 3 is 3, expected 2 (C)"),
        (
            {"input": (NCHW, zeros(1, 2, 3, 8)[..., ::2])},
            "input: stride of dim 3 is 2, expected 1",
        ),
        (
            {"output": (NHWC, zeros(1, 4, 3, 2).transpose(0, 2, 1, 3))},
            "output: stride of dim 1 is 2, expected 24 or more",
        ),
        (
            {"input": (NCHW, np.broadcast_to(zeros(1, 1, 3, 4), (1, 2, 3, 4)))},
            "input: stride of dim 1 is 0, expected 12 or more",
        ),
        (
            {"output": (NHWC, zeros(1, 3, 4, 2)[:, ::-1])},
            "output: stride of dim 1 is -8, expected 8 or more",
        ),
        (
            {
                "input": (NCHW, _SHARED[:24].reshape(1, 4, 3, 2)[..., :1]),
                "output": (NHWC, _SHARED[22:34].reshape(1, 3, 1, 4)),
            },
            "overlaps",
        ),
        ({"input": (*GOOD["input"], "data")}, "input is NULL"),
        ({"output": (*GOOD["output"], "data")}, "output is NULL"),
        (
            {
                "input": (NCHW, _SHARED[:24].reshape(1, 2, 3, 4)),
                "output": (NHWC, _SHARED[1:25].reshape(1, 3, 4, 2)),
            },
            "overlaps",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(changes, text):
    tensors = GOOD | changes
    with pymluops.Handle() as handle:
        status, message = convert(handle.cdata, tensors)
        assert convert(handle.cdata, GOOD)[0] == Status.SUCCESS
    assert status == Status.BAD_PARAM
    assert message.startswith("[mluOpCpuConvertLayout] ")
    assert text in message


def test_no_handle():
    status, message = convert(ffi.NULL, GOOD)
    assert (status, message) == (Status.BAD_PARAM, "[mluOpCpuConvertLayout] handle is NULL")


def described(layout, shape, dtype="FLOAT"):
    """Describe a tensor that is not there."""
    out = ffi.new("mluOpTensorDescriptor_t *")
    assert lib.mluOpCreateTensorDescriptor(out) == Status.SUCCESS
    kind = getattr(lib, f"MLUOP_DTYPE_{dtype}")
    assert lib.mluOpSetTensorDescriptor_v2(out[0], layout, kind, 4, shape) == Status.SUCCESS
    return ffi.gc(out[0], lib.mluOpDestroyTensorDescriptor)


def raw(nchw, nhwc, x, y, dtype="FLOAT"):
    source, target = described(NCHW, nchw, dtype), described(NHWC, nhwc, dtype)
    with pymluops.Handle() as handle:
        status = lib.mluOpCpuConvertLayout(handle.cdata, source, x, target, y)
    return status, ffi.string(lib.mluOpCpuGetLastErrorMessage()).decode()


def test_too_many_elements():
    nowhere = ffi.NULL
    status, message = raw((1, 2, 2**15, 2**15), (1, 2**15, 2**15, 2), nowhere, nowhere)
    assert status == Status.NOT_SUPPORTED
    assert "input has 2147483648 elements, expected fewer than 2^31" in message


def test_no_elements_need_no_data():
    assert raw((0, 2, 3, 4), (0, 3, 4, 2), ffi.NULL, ffi.NULL)[0] == Status.SUCCESS


def test_data_is_aligned_to_its_elements():
    x, y = ffi.new("char[32]"), ffi.new("char[32]")
    for dtype, size in (("FLOAT", 4), ("HALF", 2), ("BFLOAT16", 2)):
        good = raw((1, 2, 2, 1), (1, 2, 1, 2), x, y, dtype)
        assert good[0] == Status.SUCCESS
        for arguments, name in (((x + size // 2, y), "input"), ((x, y + size // 2), "output")):
            status, message = raw((1, 2, 2, 1), (1, 2, 1, 2), *arguments, dtype)
            assert status == Status.BAD_PARAM
            assert f"] {name}" in message
            assert "align" in message
