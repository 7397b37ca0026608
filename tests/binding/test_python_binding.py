# SPDX-License-Identifier: Apache-2.0
"""The binding agrees with the C library: names, values, descriptors, errors."""

import copy
import doctest
import enum
import importlib
import inspect
import pickle
import pkgutil
import pydoc
import re
from pathlib import Path

import numpy as np
import pytest
from interpreter import run_python

import pymluops
from pymluops import TensorDescriptor, capi, errors
from pymluops.capi import DataType, Layout, Status, ffi, lib

PREFIXES = {
    capi.Status: "MLUOP_STATUS_",
    capi.Layout: "MLUOP_LAYOUT_",
    capi.DataType: "MLUOP_DTYPE_",
    capi.PointerMode: "MLUOP_POINTER_MODE_",
    capi.AtomicsMode: "MLUOP_ATOMICS_",
    capi.RoundMode: "MLUOP_ROUND_",
    capi.ComputationPreference: "MLUOP_COMPUTATION_",
    capi.LogLevel: "MLUOP_CPU_LOG_",
}


@pytest.mark.parametrize("kind", PREFIXES)
def test_enums_are_those_of_c(kind):
    prefix = PREFIXES[kind]
    in_c = {name: getattr(lib, name) for name in dir(lib) if name.startswith(prefix)}
    assert in_c == {prefix + name: member.value for name, member in kind.__members__.items()}


def test_nan_propagation():
    assert lib.MLUOP_NOT_PROPAGATE_NAN == capi.NanPropagation.NOT_PROPAGATE
    assert lib.MLUOP_PROPAGATE_NAN == capi.NanPropagation.PROPAGATE


def test_every_enum_is_listed():
    enums = {
        value
        for value in vars(capi).values()
        if isinstance(value, enum.EnumMeta) and value.__module__ == capi.__name__
    }
    assert enums == {*PREFIXES, capi.NanPropagation}


def test_the_stub_names_what_the_module_has(monkeypatch):
    root = Path(__file__).resolve().parents[2]
    monkeypatch.syspath_prepend(root / "c_src/cmake")
    generate_stub = importlib.import_module("generate_stub")
    written = generate_stub.stub(root / "include", [])
    library = written[written.index("class _Lib:") :]
    declared = re.findall(r"^    (?:def )?(\w+)[:(]", library, re.MULTILINE)
    assert sorted(declared) == sorted(dir(lib))


def test_versions():
    assert (
        lib.MLUOP_VERSION == 1000 * lib.MLUOP_MAJOR + 100 * lib.MLUOP_MINOR + lib.MLUOP_PATCHLEVEL
    )
    assert (lib.MLUOP_MAJOR, lib.MLUOP_MINOR, lib.MLUOP_PATCHLEVEL) == (1, 11, 1)


# ------------------------------------------------------------------------------------- errors

BUILTINS = {
    Status.NOT_INITIALIZED: (errors.NotInitializedError, RuntimeError),
    Status.ALLOC_FAILED: (errors.AllocFailedError, MemoryError),
    Status.BAD_PARAM: (errors.BadParamError, ValueError),
    Status.INTERNAL_ERROR: (errors.InternalError, RuntimeError),
    Status.ARCH_MISMATCH: (errors.ArchMismatchError, RuntimeError),
    Status.EXECUTION_FAILED: (errors.ExecutionFailedError, RuntimeError),
    Status.NOT_SUPPORTED: (errors.NotSupportedError, NotImplementedError),
    Status.NUMERICAL_OVERFLOW: (errors.NumericalOverflowError, ArithmeticError),
}


@pytest.mark.parametrize("status", [status for status in Status if status != 0])
def test_each_status_has_its_error(status):
    lib.mluOpDestroy(ffi.NULL)  # leaves a message
    kind, builtin = BUILTINS[status]
    with pytest.raises(kind) as caught:
        errors.check(status, "mluOpDestroy")
    error = caught.value
    assert isinstance(error, builtin)
    assert isinstance(error, pymluops.MluOpError)
    assert (error.status, error.function) == (status, "mluOpDestroy")
    assert isinstance(error.status, Status)
    assert str(error) == error.message == "[mluOpDestroy] handle is NULL"
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.status) == (kind, str(error), status)


def test_success_and_unknown_statuses():
    errors.check(0, "f")
    with pytest.raises(pymluops.MluOpError) as caught:
        errors.check(99, "f")
    assert type(caught.value) is pymluops.MluOpError
    assert caught.value.status == 99


# -------------------------------------------------------------------------------- descriptors


def test_descriptor_of_an_array():
    array = np.zeros((2, 3, 4, 5), np.float16)
    descriptor = TensorDescriptor.from_array(array, "NHWC")
    assert descriptor.layout is Layout.NHWC
    assert descriptor.dtype is DataType.HALF
    assert descriptor.shape == (2, 3, 4, 5)
    assert descriptor.strides == (60, 20, 5, 1)
    assert repr(descriptor) == (
        "<pymluops.TensorDescriptor NHWC HALF shape=(2, 3, 4, 5) strides=(60, 20, 5, 1)>"
    )
    assert TensorDescriptor.from_array(array.T, Layout.NCHW).strides == (1, 5, 20, 60)
    assert TensorDescriptor.from_array(array[:, ::2]).strides == (60, 40, 5, 1)
    assert TensorDescriptor.from_array(array[:0]).shape == (0, 3, 4, 5)
    assert lib.mluOpGetTensorElementNum(descriptor.cdata) == 120
    assert ffi.typeof(lib.mluOpGetTensorElementNum).result.cname == "size_t"


DTYPES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 ? c8"


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_descriptor_dtypes(dtype):
    array = np.zeros(3, dtype)
    size = ffi.new("size_t *")
    descriptor = TensorDescriptor.from_array(array)
    assert lib.mluOpGetSizeOfDataType(descriptor.dtype, size) == 0
    assert size[0] == array.itemsize
    assert descriptor.layout is Layout.ARRAY


def test_what_cannot_be_described():
    array = np.zeros((2, 2), np.float32)
    for wrong in ([1.0], None, np.zeros(2, "c16"), np.zeros(2, ">f4"), np.zeros(2, object)):
        with pytest.raises(errors.BadTypeError, match="array: "):
            TensorDescriptor.from_array(wrong)
    with pytest.raises(errors.BadParamError, match="layout: 'nhwc' given, expected one of NCHW"):
        TensorDescriptor.from_array(array, "nhwc")
    with pytest.raises(errors.BadParamError, match="layout"):
        TensorDescriptor.from_array(array, 77)
    odd = np.zeros(2, np.dtype([("a", "f4"), ("b", "i1")]))["a"]
    with pytest.raises(errors.BadParamError, match=r"strides \(5,\) given"):
        TensorDescriptor.from_array(odd)


def test_descriptors_are_not_copied():
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a TensorDescriptor cannot be copied or pickled; make"):
            duplicate(TensorDescriptor())


def test_shared_descriptors_are_not_mixed_up():
    """Same shapes with other dtypes and layouts have their own descriptors."""
    from pymluops._descriptor import packed_descriptor

    f4, f2 = np.dtype("f4"), np.dtype("f2")
    one = packed_descriptor((1, 2), f4, Layout.ARRAY)
    assert packed_descriptor((1, 2), f4, Layout.ARRAY) is one
    assert packed_descriptor((1, 2), f2, Layout.ARRAY) is not one
    assert packed_descriptor((1, 2), f4, Layout.NC) is not one
    assert packed_descriptor((2, 1), f4, Layout.ARRAY) is not one


# ----------------------------------------------------------------------------------- doctests


def modules():
    for module in pkgutil.walk_packages(pymluops.__path__, "pymluops."):
        # The extra "test" brings neither numba nor mmcv.
        if not re.search("__main__|_native|numba|mmcv_on_cpu", module.name):
            yield module.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_function_has_an_example():
    for name in pymluops.__all__:
        thing = getattr(pymluops, name)
        if callable(thing) and not isinstance(thing, type) and name not in WITHOUT_EXAMPLE:
            assert ">>> " in thing.__doc__, name
            assert "Examples\n" in thing.__doc__, name


WITHOUT_EXAMPLE = {"default_handle", "get_num_threads", "show_config", "supported_isas"}


def test_names_of_the_package():
    """What is offered is what is meant for users; submodules are there without being imported."""
    code = """
        import sys, pymluops
        assert "pymluops.reference" not in sys.modules
        extra = set(dir(pymluops)) - set(pymluops.__all__)
        assert extra == {"accuracy", "capi", "errors", "reference", "__doc__", "__file__",
                         "__name__", "__path__"}, extra
        assert pymluops.accuracy.diff1([1.0], [1.0]) == 0
        assert pymluops.reference.__all__ and pymluops.errors.MluOpError
        assert all(hasattr(pymluops, name) for name in dir(pymluops))
        try:
            pymluops.nothing
        except AttributeError as error:
            print(error)
    """
    assert run_python(code)[0] == "module 'pymluops' has no attribute 'nothing'\n"


@pytest.mark.parametrize(
    "name", ["pymluops", "pymluops.accuracy", "pymluops.reference", "pymluops.torch"]
)
def test_help_begins_with_a_short_signature(name):
    """Names and defaults on one line; type checkers and get_type_hints still find the types."""
    module = importlib.import_module(name)
    functions = [vars(module)[name] for name in module.__all__ if callable(vars(module)[name])]
    assert len(functions) > 5
    for function in functions:
        assert len(f"{function.__name__}{inspect.signature(function)}") < 200
        assert max(map(len, pydoc.plain(pydoc.render_doc(function)).splitlines()[:4])) < 200
    assert {"x", "out", "handle", "return"} == set(inspect.get_annotations(pymluops.to_nhwc))


def test_public_names_exist():
    assert len(set(pymluops.__all__)) == len(pymluops.__all__)
    for name in pymluops.__all__:
        assert hasattr(pymluops, name)
    for name in errors.__all__:
        if name.endswith("Error"):
            assert getattr(pymluops, name) is getattr(errors, name)
