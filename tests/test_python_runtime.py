# SPDX-License-Identifier: Apache-2.0
"""Handles, threads, forks, logging, imports: how the package behaves in a process."""

import asyncio
import copy
import ctypes
import gc
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from python_calls import CALLS

import pymluops
from pymluops import Handle
from pymluops.capi import ffi, lib


def run_python(code, **environment):
    """Run a program in a fresh interpreter; return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


# ------------------------------------------------------------------------------------ handles


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
    for use in (
        lambda: CALLS["psamask_forward"](handle=handle),
        lambda: handle.isa_name,
        lambda: handle.num_threads,
        lambda: handle.cdata,
    ):
        with pytest.raises(pymluops.NotInitializedError, match="the handle is closed"):
            use()


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
        with pytest.raises(pymluops.BadTypeError, match="num_threads: 'two' given"):
            function("two")
        assert pymluops.get_num_threads() == before


def test_unknown_isa(monkeypatch):
    monkeypatch.setenv("MLUOP_CPU_ISA", "sse9")
    with pytest.raises(pymluops.ArchMismatchError, match=r'MLUOP_CPU_ISA is "sse9", expected one'):
        Handle()


def test_forced_isa(handle, isa):
    assert handle.isa_name == isa
    assert np.any(CALLS["carafe_forward"](handle=handle))


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
    assert np.any(CALLS["psamask_forward"]())


# ------------------------------------------------------------------------------------ threads


@pytest.fixture
def _threads_restored():
    yield
    pymluops.set_num_threads(0)


@pytest.mark.usefixtures("_threads_restored")
def test_number_of_threads():
    with ThreadPoolExecutor(1) as pool:
        there = lambda: pool.submit(pymluops.get_num_threads).result()  # noqa: E731
        default = pymluops.get_num_threads()
        pymluops.set_num_threads(5)
        assert (pymluops.get_num_threads(), there()) == (5, 5)
        with pymluops.threads(2):
            assert (pymluops.get_num_threads(), there()) == (2, 5)
            with pymluops.threads(0):
                assert pymluops.get_num_threads() == default
            pymluops.set_num_threads(4)
            assert (pymluops.get_num_threads(), there()) == (2, 4)
        assert pymluops.get_num_threads() == 4
        with pytest.raises(KeyError), pymluops.threads(1):
            raise KeyError
        assert pymluops.get_num_threads() == 4


def test_threads_is_a_decorator():
    assert pymluops.threads(3)(pymluops.get_num_threads)() == 3


def work(shared=None, repeats=20):
    """Call every operator many times; return whether all results were right."""
    expected = {name: [r.tobytes() for r in call.results()] for name, call in CALLS.items()}
    return all(
        [r.tobytes() for r in call.results(handle=shared)] == expected[name]
        for _ in range(repeats)
        for name, call in CALLS.items()
    )


def test_many_threads():
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: work(), range(8)))


def test_one_handle_for_many_threads():
    with Handle(num_threads=2) as handle, ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda _: work(handle), range(6)))


def test_closing_a_handle_that_works():
    """Threads either get their result or the error of a closed handle."""
    for _ in range(20):
        handle, started = Handle(), threading.Event()

        def use(handle=handle, started=started):
            try:
                while True:
                    CALLS["carafe_forward"](handle=handle)
                    started.set()
            except pymluops.NotInitializedError:
                return True

        with ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(use) for _ in range(2)]
            started.wait()
            handle.close()
            assert all(end.result() for end in ends)


def test_generators_and_coroutines():
    def generate():
        with pymluops.threads(1):
            for call in CALLS.values():
                yield call.results()

    for got, call in zip(generate(), CALLS.values(), strict=True):
        assert [r.tobytes() for r in got] == [r.tobytes() for r in call.results()]

    async def one(name):
        await asyncio.sleep(0)
        here = CALLS[name].results()
        there = await asyncio.to_thread(CALLS[name].results)
        return all(np.array_equal(a, b) for a, b in zip(here, there, strict=True))

    async def many():
        return await asyncio.gather(*(one(name) for name in CALLS))

    assert all(asyncio.run(many()))


def test_other_threads_run_during_a_call():
    """A long call does not hold the interpreter's lock."""
    x = np.ones((8, 40, 40, 1), np.float32)
    ticks, done = [0], threading.Event()

    def tick():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0)  # lets go of the lock

    ticker = threading.Thread(target=tick)
    ticker.start()
    # Nobody is made to let go of the lock: the ticker runs only when a call does.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        before = ticks[0]
        for _ in range(5):
            pymluops.psamask_forward(x, psa_type=0, h_mask=1, w_mask=1)
        during = ticks[0] - before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        ticker.join()
    assert during > 0


# -------------------------------------------------------------------------------------- forks


FORK = """
    import os, sys, threading, warnings
    sys.path.insert(0, {tests!r})
    import numpy as np, pymluops
    from python_calls import CALLS

    warnings.simplefilter("ignore")  # later Pythons warn of any fork while threads run
    x = np.ones((2, 60, 60, 9), np.float32)
    run = lambda **kw: pymluops.psamask_forward(x, psa_type=0, h_mask=3, w_mask=3, **kw)
    shared = pymluops.Handle(num_threads=2, atomics=True)
    expected = run()
    assert np.array_equal(run(handle=shared), expected)

    def in_child():
        assert np.array_equal(run(), expected)
        assert np.array_equal(run(handle=shared), expected)
        assert shared.atomics and shared.requested_threads == 2
        assert pymluops.get_num_threads() == 1
        for call in CALLS.values():
            call()

    def fork(work):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                work()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0

    stop, busy = threading.Event(), threading.Event()

    def hold():
        with shared.lock:
            busy.set()
            stop.wait()

    holder = threading.Thread(target=hold)
    if {busy}:
        holder.start()
        busy.wait()
    fork(lambda: (in_child(), fork(in_child), shared.close()))
    stop.set()
    assert np.array_equal(run(handle=shared), expected)
"""


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while another thread works"])
def test_forked_children_can_work(busy):
    run_python(FORK.format(tests=str(Path(__file__).parent), busy=busy))


def test_multiprocessing_fork():
    run_python(
        """
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        import numpy as np, pymluops
        x = np.ones((1, 30, 30, 9), np.float32)
        def run(_):
            return pymluops.psamask_forward(x, psa_type=1, h_mask=3, w_mask=3).sum()
        expected = run(0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(run, range(4)) == [expected] * 4
        """
    )


# ------------------------------------------------------------------------------------ logging


def test_logs_go_to_the_logger(caplog):
    with caplog.at_level(logging.INFO, "pymluops"):
        assert lib.mluOpDestroy(ffi.NULL) == 3
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("pymluops", "ERROR", "[mluOpDestroy] handle is NULL")
    ]


def test_logs_of_threads_that_python_does_not_know(caplog):
    """A thread made by pthread_create fails in C and logs through Python."""
    process = ctypes.CDLL(None)
    destroy = ctypes.cast(ctypes.CDLL(str(pymluops.library_path())).mluOpDestroy, ctypes.c_void_p)
    threads = [ctypes.c_void_p() for _ in range(8)]
    for thread in threads:
        assert process.pthread_create(ctypes.byref(thread), None, destroy, None) == 0
    for thread in threads:
        assert process.pthread_join(thread, None) == 0
    assert [r.getMessage() for r in caplog.records] == ["[mluOpDestroy] handle is NULL"] * 8


def test_errors_are_not_printed():
    out, err = run_python(
        """
        import pymluops
        try:
            pymluops.set_num_threads(-1)
        except ValueError as error:
            print(error)
        """
    )
    assert out == "[mluOpCpuSetNumThreads] num_threads is -1, expected 0 or more\n"
    assert err == ""


def test_log_level_of_the_environment():
    code = """
        import logging
        logging.basicConfig(format="%(name)s %(message)s")
        from pymluops.capi import ffi, lib
        lib.mluOpDestroy(ffi.NULL)
    """
    assert run_python(code)[1] == "pymluops [mluOpDestroy] handle is NULL\n"
    assert run_python(code, MLUOP_MIN_VLOG_LEVEL="3")[1] == ""


def test_handlers_that_fail_do_not_disturb():
    run_python(
        """
        import logging, pymluops
        class Bad(logging.Filter):
            def filter(self, record):
                raise KeyError("filter")
        logging.getLogger("pymluops").addFilter(Bad())
        try:
            pymluops.set_num_threads(-1)
        except pymluops.BadParamError as error:
            assert "num_threads is -1" in str(error)
        """
    )


def test_errors_while_the_interpreter_ends():
    """After Python stopped listening, lines go to stderr again; nothing crashes."""
    _, err = run_python(
        """
        import atexit
        def late():
            from pymluops.capi import ffi, lib
            lib.mluOpDestroy(ffi.NULL)
        atexit.register(late)
        import pymluops
        handle = pymluops.Handle()
        pymluops.get_num_threads()
        """
    )
    assert err == "mluops ERROR: [mluOpDestroy] handle is NULL\n"


def test_working_threads_while_the_interpreter_ends():
    run_python(
        """
        import threading, numpy as np, pymluops
        x = np.ones((1, 40, 40, 9), np.float32)
        started = threading.Event()
        def work():
            while True:
                pymluops.psamask_forward(x, psa_type=0, h_mask=3, w_mask=3)
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """
    )


# ------------------------------------------------------------------------------------- import


def test_import_is_quick_and_does_nothing():
    out, _ = run_python(
        """
        import numpy, os, sys, time
        before = time.process_time()
        import pymluops
        print(time.process_time() - before)
        print(len(os.listdir("/proc/self/task")))
        assert "torch" not in sys.modules
        assert "pymluops.reference" not in sys.modules
        """
    )
    seconds, tasks = out.split()
    assert float(seconds) < 0.05
    bare, _ = run_python("import numpy, os; print(len(os.listdir('/proc/self/task')))")
    assert tasks == bare.strip()


def test_library_loads_without_python():
    code = f"""
        import ctypes
        library = ctypes.CDLL({str(pymluops.library_path())!r})
        library.mluOpGetErrorString.restype = ctypes.c_char_p
        assert library.mluOpGetErrorString(7) == b"MLUOP_STATUS_NOT_SUPPORTED"
        handle = ctypes.c_void_p()
        assert library.mluOpCreate(ctypes.byref(handle)) == 0
        assert library.mluOpDestroy(handle) == 0
    """
    run_python(code)
