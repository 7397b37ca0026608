# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and whatever a signal handler does, during calls.

tests/c/test_interrupt.c has every moment of a call.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from families import family_files
from interpreter import run_python
from python_calls import CALLS, same

import pymluops
from pymluops import Handle, _interrupts
from pymluops.capi import Layout, ffi, lib


class ToldError(Exception):
    """What a signal handler raises."""


@pytest.fixture
def asked() -> Iterator[Callable[[Callable[[], None]], Handle]]:
    """Make a handle whose calls ask a function between all items of their work."""

    def make(answer: Callable[[], None]) -> Handle:
        ffi.def_extern("pymluops_ask", error=1, onerror=_interrupts._keep)(lambda _: answer() or 0)
        handle = Handle(num_threads=1)
        _interrupts.watch(handle.cdata, 0)
        return handle

    yield make
    ffi.def_extern("pymluops_ask", error=1, onerror=_interrupts._keep)(_interrupts.pymluops_ask)


def raising(error: BaseException) -> Callable[[], None]:
    def answer() -> None:
        raise error

    return answer


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ToldError("now")], ids=repr)
def test_what_a_handler_raises_ends_the_call(error, asked):
    """For every operator, with `out` that stays memory to use."""
    quiet, handle = Handle(num_threads=1), asked(raising(error))
    asks = 0
    for call in CALLS.values():
        made = {"out": call.new_outputs()} if call.takes_out else {}
        expected = call(handle=quiet)
        try:
            results = call(handle=handle, **made)
        except type(error) as caught:
            assert caught is error  # noqa: PT017
            asks += 1
        else:
            assert same(results, expected)  # all done at once
        _interrupts.watch(handle.cdata, 10**6)
        assert same(call(handle=handle, **made), expected)
        _interrupts.watch(handle.cdata, 0)
    assert asks >= len(CALLS) // 2


def test_a_handler_that_returns_lets_the_call_go_on(asked):
    answers = []
    quiet, handle = Handle(num_threads=1), asked(lambda: answers.append(1))
    for call in CALLS.values():
        assert same(call(handle=handle), call(handle=quiet))
    assert len(answers) > len(CALLS)


def test_a_handler_may_use_the_handle_of_the_call(asked):
    """Each use gets a C handle that nobody computes with, even after the handle was closed."""

    def use() -> None:
        inner = next(iter(CALLS.values()))
        with handle.lock:
            before = handle._running
            handle.num_threads = 3
            assert not before or not handle._running
        assert same(inner(handle=handle), expected)
        assert handle.num_threads == 3
        used.append(1)

    used: list[int] = []
    expected = next(iter(CALLS.values()))()
    quiet = Handle(num_threads=1)
    for call in CALLS.values():
        handle = asked(use)
        assert same(call(handle=handle), call(handle=quiet))
        assert handle.num_threads in (1, 3)
    assert used
    held: list[Handle] = []
    for call in CALLS.values():
        held[:] = [asked(lambda: held[0].close())]
        assert same(call(handle=held[0]), call(handle=quiet))


def test_handles_that_handlers_close_are_freed(asked, monkeypatch):
    alive: list[object] = []
    held: list[Handle] = []
    create = pymluops._handle._create

    def counted(*settings):
        made = create(*settings)
        alive.append(made)
        return ffi.gc(made, lambda _: alive.pop())

    monkeypatch.setattr(pymluops._handle, "_create", counted)
    for call in CALLS.values():
        held[:] = [asked(lambda: held[0].close())]
        call(handle=held[0])
        held[0].close()
        assert alive == []


def test_another_thread_asks_nobody(asked):
    handle = asked(raising(AssertionError("asked")))
    results: list[object] = []
    for call in CALLS.values():
        thread = threading.Thread(
            target=lambda call=call: results.append(same(call(handle=handle), call()))
        )
        thread.start()
        thread.join()
    assert results == [True] * len(CALLS)


def test_a_call_of_the_c_function_returns_a_status(asked):
    handle = asked(raising(ToldError("now")))
    x = np.zeros((1, 200, 300, 8), np.float32)
    y = np.empty((1, 8, 200, 300), np.float32)
    x_desc = pymluops.TensorDescriptor.from_array(x, Layout.NHWC)
    y_desc = pymluops.TensorDescriptor.from_array(y, Layout.NCHW)
    status = lib.mluOpCpuConvertLayout(
        *(handle.cdata, x_desc.cdata, ffi.from_buffer("char[]", x)),
        *(y_desc.cdata, ffi.from_buffer("char[]", y)),
    )
    assert status == pymluops.capi.Status.EXECUTION_FAILED
    with pytest.raises(ToldError):
        pymluops.errors.check(status, "mluOpCpuConvertLayout")
    pymluops.errors.check(0, "mluOpCpuConvertLayout")


# ------------------------------------------------------------------------------- long calls

LONG = {
    name: case
    for _, module in family_files("process_cases")
    for name, case in getattr(module, "LONG", {}).items()
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_ends_soon(name):
    """A signal during a call that takes far longer than this test may."""

    def told(_number, _frame):
        raise ToldError

    space = {"np": np, "p": pymluops, "random": np.random.default_rng(3)}
    space["ones"] = lambda *shape: np.ones(shape, np.float32)
    exec(LONG[name], space)
    before = signal.signal(signal.SIGALRM, told)
    try:
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pymluops.threads(1), pytest.raises(ToldError):
            space["call"]()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin < 6


def test_ctrl_c():
    """Twice in one process, and the results that follow are right."""
    out, _ = run_python(
        f"""
        import os, signal, threading, time
        import numpy as np, pymluops as p
        # Programs that a shell runs in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        random = np.random.default_rng(3)
        ones = lambda *shape: np.ones(shape, np.float32)
        exec({next(iter(LONG.values()))!r})
        image = np.arange(1 << 20, dtype=np.float32).reshape(1, 64, 128, 128)
        for _ in range(2):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                call()
            except KeyboardInterrupt:
                print("ended")
            timer.join()
            assert np.array_equal(p.to_nhwc(image), image.transpose(0, 2, 3, 1))
        """
    )
    assert out == "ended\nended\n"
