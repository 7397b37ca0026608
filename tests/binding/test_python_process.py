# SPDX-License-Identifier: Apache-2.0
"""Logging and import: how the package behaves in a process."""

import ctypes
import logging

from interpreter import run_python

import pymluops
from pymluops.capi import ffi, lib

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


def test_a_handler_that_makes_a_failing_call():
    """The error has the text of the call that was made, and not that of the handler's own."""
    run_python(
        """
        import logging, pymluops
        class Calls(logging.Handler):
            def emit(self, record):
                try:
                    pymluops.set_num_threads(-7)
                except pymluops.BadParamError as error:
                    assert "num_threads is -7" in str(error)
        logging.getLogger("pymluops").addHandler(Calls())
        try:
            pymluops.set_num_threads(-1)
        except pymluops.BadParamError as error:
            assert "num_threads is -1" in str(error)
        """
    )


def test_ctrl_c_during_the_log_callback():
    """It ends the call that logs, though C stands between."""
    _, err = run_python(
        """
        import logging, signal, pymluops
        # Programs that a shell runs in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        class Interrupted(logging.Handler):
            def emit(self, record):
                signal.raise_signal(signal.SIGINT)
        handler = Interrupted()
        logging.getLogger("pymluops").addHandler(handler)
        try:
            pymluops.set_num_threads(-1)
        except KeyboardInterrupt:
            logging.getLogger("pymluops").removeHandler(handler)
        else:
            raise SystemExit("not interrupted")
        try:
            pymluops.set_num_threads(-1)
        except pymluops.BadParamError:
            pass
        """
    )
    assert err == ""


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
        x = np.ones((1, 9, 40, 40), np.float32)
        started = threading.Event()
        def work():
            while True:
                pymluops.to_nhwc(x)
                started.set()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """
    )


# ------------------------------------------------------------------------------------- import


def test_import_is_quick_and_does_nothing(tmp_path):
    code = """
        import numpy, os, sys, time
        before = time.process_time()
        import pymluops
        print(time.process_time() - before)
        print(len(os.listdir("/proc/self/task")))
        assert "torch" not in sys.modules
        assert "pymluops.reference" not in sys.modules
        """
    # The least of several: other programs on the machine make a process slower, never quicker.
    # The first one compiles the sources, which may be forbidden where the tests run.
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    runs = [run_python(code, **kept)[0].split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.05
    tasks = runs[0][1]
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
