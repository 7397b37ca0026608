# SPDX-License-Identifier: Apache-2.0
"""Tensor descriptors of the C API."""

from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from pymluops.capi import CData, DataType, Layout, ffi, lib
from pymluops.errors import bad_type, bad_value, check

_DTYPES: dict[np.dtype[Any], DataType] = {
    np.dtype(np.float16): DataType.HALF,
    np.dtype(np.float32): DataType.FLOAT,
    np.dtype(np.float64): DataType.DOUBLE,
    np.dtype(np.int8): DataType.INT8,
    np.dtype(np.int16): DataType.INT16,
    np.dtype(np.int32): DataType.INT32,
    np.dtype(np.int64): DataType.INT64,
    np.dtype(np.uint8): DataType.UINT8,
    np.dtype(np.uint16): DataType.UINT16,
    np.dtype(np.uint32): DataType.UINT32,
    np.dtype(np.uint64): DataType.UINT64,
    np.dtype(np.bool_): DataType.BOOL,
    np.dtype(np.complex64): DataType.COMPLEX_FLOAT,
}


def _create() -> CData:
    out = ffi.new("mluOpTensorDescriptor_t *")
    check(lib.mluOpCreateTensorDescriptor(out), "mluOpCreateTensorDescriptor")
    return ffi.gc(out[0], lib.mluOpDestroyTensorDescriptor)


@lru_cache(maxsize=1024)
def packed_descriptor(shape: tuple[int, ...], dtype: np.dtype[Any], layout: int) -> CData:
    """Return the descriptor of a contiguous tensor.

    It is shared by all calls with such a tensor, from any thread: nobody may set it again.
    """
    descriptor = _create()
    status = lib.mluOpSetTensorDescriptor_v2(descriptor, layout, _DTYPES[dtype], len(shape), shape)
    check(status, "mluOpSetTensorDescriptor_v2")
    return descriptor


@lru_cache(maxsize=1024)
def strided_descriptor(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any], layout: int
) -> CData:
    """Return the descriptor of a part of a larger tensor; it is shared as well."""
    descriptor = _create()
    given = (layout, _DTYPES[dtype], len(shape), shape, strides)
    check(lib.mluOpSetTensorDescriptorEx_v2(descriptor, *given), "mluOpSetTensorDescriptorEx_v2")
    return descriptor


@lru_cache(maxsize=256)
def object_descriptor(name: str, *values: Any, version: str = "") -> CData:
    """Return a descriptor that is not of a tensor, such as "RoiAlignForward", set to values.

    It is shared like those of tensors.

    Parameters
    ----------
    name : str
        What stands before ``Descriptor`` in the names of its functions.
    values : int, float or tuple of int
        What its Set function takes.
    version : str
        The end of the name of that function, such as "_v2".
    """
    kind = f"{name}Descriptor"
    out = ffi.new(f"mluOp{kind}_t *")
    check(getattr(lib, f"mluOpCreate{kind}")(out), f"mluOpCreate{kind}")
    descriptor = ffi.gc(out[0], getattr(lib, f"mluOpDestroy{kind}"))
    set_function = f"mluOpSet{kind}{version}"
    try:
        status = getattr(lib, set_function)(descriptor, *values)
    except OverflowError as error:
        raise bad_value(set_function, "a number", f"too large for C: {error}") from error
    check(status, set_function)
    return descriptor


class TensorDescriptor:
    """A tensor descriptor for calls through `pymluops.capi`, destroyed together with this object.

    The functions of this package create their own descriptors.

    Examples
    --------
    >>> import numpy as np, pymluops
    >>> from pymluops.capi import ffi, lib
    >>> x, y = np.float32([[[[1]], [[2]]]]), np.empty((1, 1, 1, 2), np.float32)
    >>> x_desc = pymluops.TensorDescriptor.from_array(x, "NCHW")
    >>> y_desc = pymluops.TensorDescriptor.from_array(y, "NHWC")
    >>> with pymluops.Handle() as handle:
    ...     lib.mluOpCpuConvertLayout(handle.cdata, x_desc.cdata, ffi.from_buffer("char[]", x),
    ...                               y_desc.cdata, ffi.from_buffer("char[]", y))
    0
    >>> y.tolist()
    [[[[1.0, 2.0]]]]
    """

    __slots__ = ("cdata",)

    def __init__(self) -> None:
        #: The ``mluOpTensorDescriptor_t``.
        self.cdata: CData = _create()

    @classmethod
    def from_array(
        cls, array: np.ndarray[Any, Any], layout: Layout | str = Layout.ARRAY
    ) -> "TensorDescriptor":
        """Describe an array: its shape, its strides, its dtype.

        Parameters
        ----------
        array : numpy.ndarray
            Its strides must be whole numbers of elements. The descriptor does not keep it alive.
        layout : Layout or str, default "ARRAY"
            What its dims mean, such as "NHWC".

        Raises
        ------
        BadTypeError
            `array` is not an array, or its dtype is not part of the C API.
        BadParamError
            Its strides cannot be described, or `layout` is unknown.
        """
        function = "mluOpSetTensorDescriptorEx_v2"
        if not isinstance(array, np.ndarray):
            raise bad_type(function, "array", f"{type(array).__name__} given, expected an array")
        if array.dtype not in _DTYPES:
            raise bad_type(function, "array", f"dtype {array.dtype} given, which C does not have")
        if any(stride % array.itemsize for stride in array.strides):
            problem = f"strides {array.strides} given, expected whole numbers of elements"
            raise bad_value(function, "array", problem)
        if isinstance(layout, str) and layout not in Layout.__members__:
            problem = f"{layout!r} given, expected one of {', '.join(Layout.__members__)}"
            raise bad_value(function, "layout", problem)
        descriptor = cls()
        status = lib.mluOpSetTensorDescriptorEx_v2(
            descriptor.cdata,
            Layout[layout] if isinstance(layout, str) else layout,
            _DTYPES[array.dtype],
            array.ndim,
            array.shape,
            tuple(stride // array.itemsize for stride in array.strides),
        )
        check(status, function)
        return descriptor

    def _get(self) -> tuple[Layout, DataType, tuple[int, ...], tuple[int, ...]]:
        ndim = ffi.new("int *")
        layout, dtype = ffi.new("mluOpTensorLayout_t *"), ffi.new("mluOpDataType_t *")
        status = lib.mluOpGetTensorDescriptor_v2(self.cdata, layout, dtype, ndim, ffi.NULL)
        check(status, "mluOpGetTensorDescriptor_v2")
        shape, strides = ffi.new("int64_t[]", ndim[0]), ffi.new("int64_t[]", ndim[0])
        status = lib.mluOpGetTensorDescriptorEx_v2(self.cdata, layout, dtype, ndim, shape, strides)
        check(status, "mluOpGetTensorDescriptorEx_v2")
        return Layout(layout[0]), DataType(dtype[0]), tuple(shape), tuple(strides)

    @property
    def layout(self) -> Layout:
        """What the dims mean."""
        return self._get()[0]

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self._get()[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._get()[2]

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides, in elements."""
        return self._get()[3]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a TensorDescriptor cannot be copied or pickled; make another one")

    def __repr__(self) -> str:
        layout, dtype, shape, strides = self._get()
        what = f"{layout.name} {dtype.name} shape={shape} strides={strides}"
        return f"<pymluops.TensorDescriptor {what}>"
