# SPDX-License-Identifier: Apache-2.0
"""What the environment and other users of OpenMP do to the library.

tests/c/test_guest.c has what the library does to them.
"""

from interpreter import run_python


def test_no_more_threads_than_openmp_gives():
    code = """
        import pymluops
        pymluops.set_num_threads(3)
        print(pymluops.get_num_threads())
    """
    assert run_python(code, OMP_THREAD_LIMIT="1")[0] == "1\n"
    assert run_python(code, OMP_THREAD_LIMIT="2")[0] in ("1\n", "2\n")


def test_first_load_in_a_child_of_a_process_with_openmp_threads():
    """GNU OpenMP waits in the child for threads of the parent."""
    code = """
        import ctypes, os, signal
        import numpy as np

        openmp = ctypes.CDLL("libgomp.so.1")
        anything = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p)
        openmp.GOMP_parallel(anything, None, 4, 0)
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            import pymluops
            pymluops.set_num_threads(4)
            x = np.arange(1 << 20, dtype=np.float32).reshape(1, 64, 128, 128)
            y = pymluops.to_nhwc(x)
            same = np.array_equal(y, x.transpose(0, 2, 3, 1))
            print(same, pymluops.get_num_threads(), flush=True)
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    assert run_python(code)[0] == "True 1\n0\n"
