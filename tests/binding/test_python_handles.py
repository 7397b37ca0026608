# SPDX-License-Identifier: Apache-2.0
"""Handles: their settings, and the default handle of a thread."""

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from python_calls import CALLS, ONE

import pymluops
from pymluops import Handle
from pymluops.capi import ffi, lib

ANY = next(iter(CALLS.values()))  # whichever function


def test_handle_settings():
    with Handle(num_threads=3, atomics=True) as handle:
        assert handle.num_threads == 3
        assert handle.atomics
        mode = ffi.new("mluOpAtomicsMode_t *")
        assert lib.mluOpGetAtomicsMode(handle.cdata, mode) == 0
        assert mode[0] == pymluops.capi.AtomicsMode.ALLOWED
        handle.atomics = False
        handle.num_threads = 0
        assert handle.num_threads >= 1
        assert handle.isa_name == pymluops.supported_isas()[0]
        assert repr(handle).startswith(f"<pymluops.Handle isa={handle.isa_name} num_threads=")
    assert repr(handle) == "<pymluops.Handle closed>"


def test_closed_handle():
    handle = Handle()
    handle.close()
    handle.close()
    assert handle.closed
    for function, use in {
        ONE.c_function: lambda: ONE(handle=handle),
        "mluOpCpuGetIsaName": lambda: handle.isa_name,
        "mluOpCpuGetNumThreads": lambda: handle.num_threads,
        "mluOpCpuSetNumThreads": lambda: setattr(handle, "num_threads", 1),
        "mluOpSetAtomicsMode": lambda: setattr(handle, "atomics", True),
        "Handle.cdata": lambda: handle.cdata,
        "Handle.__enter__": handle.__enter__,
    }.items():
        with pytest.raises(pymluops.NotInitializedError) as caught:
            use()
        assert caught.value.function == function
        assert str(caught.value) == f"[{function}] handle is closed, expected an open one"


def test_handles_are_not_copied():
    with Handle() as handle:
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                duplicate(handle)


def test_wrong_settings():
    with pytest.raises(pymluops.BadParamError, match="num_threads is -1"):
        Handle(num_threads=-1)
    for function in (pymluops.set_num_threads, lambda n: pymluops.threads(n).__enter__()):
        before = pymluops.get_num_threads()
        with pytest.raises(pymluops.BadParamError, match="num_threads is -2"):
            function(-2)
        for wrong in ("two", True, None):
            with pytest.raises(pymluops.BadTypeError, match=f"num_threads: {wrong!r} given"):
                function(wrong)
        assert pymluops.get_num_threads() == before


def test_atomics_are_true_or_false():
    for wrong in ("yes", 1, None):
        with pytest.raises(
            pymluops.BadTypeError, match=f"atomics: {wrong!r} given, expected a bool"
        ):
            Handle(atomics=wrong)
    with Handle(atomics=np.True_) as handle:
        assert handle.atomics is True
        with pytest.raises(pymluops.BadTypeError, match="atomics: 'no' given"):
            handle.atomics = "no"
        assert handle.atomics is True


def test_unknown_isa(monkeypatch):
    monkeypatch.setenv("MLUOP_CPU_ISA", "sse9")
    with pytest.raises(pymluops.ArchMismatchError, match=r'MLUOP_CPU_ISA is "sse9", expected one'):
        Handle()


def test_forced_isa(handle, isa):
    assert handle.isa_name == isa
    assert np.any(ANY(handle=handle))


def test_handles_do_not_leak():
    gc.collect()
    for _ in range(1000):
        Handle()
    with Handle() as handle:
        assert handle.num_threads >= 1


def test_default_handle_is_of_the_thread():
    mine = pymluops.default_handle()
    assert pymluops.default_handle() is mine
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(pymluops.default_handle).result() is not mine
    mine.close()
    assert pymluops.default_handle() is not mine
    assert np.any(ONE())
