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
            x = np.ones((1, 48, 48, 9), np.float32)
            y = pymluops.psamask_forward(x, psa_type=0, h_mask=3, w_mask=3)
            print(int(y.sum()), pymluops.get_num_threads(), flush=True)
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    # Each row and column of the map misses a third of the mask at its two ends.
    assert run_python(code)[0] == f"{(3 * 48 - 2) ** 2} 1\n0\n"
