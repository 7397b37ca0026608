# SPDX-License-Identifier: Apache-2.0
"""Threads and forks: many callers, closed handles, generators, children."""

import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from interpreter import run_python
from python_calls import CALLS

import pymluops
from pymluops import Handle

ANY = next(iter(CALLS.values()))  # whichever function

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
        pymluops.set_num_threads(3)
        assert (pymluops.get_num_threads(), there()) == (3, 3)
        with pymluops.threads(2):
            assert (pymluops.get_num_threads(), there()) == (2, 3)
            with pymluops.threads(0):
                assert pymluops.get_num_threads() == default
            pymluops.set_num_threads(4)
            assert (pymluops.get_num_threads(), there()) == (2, 4)
        assert pymluops.get_num_threads() == 4
        with pytest.raises(KeyError), pymluops.threads(1):
            raise KeyError
        assert pymluops.get_num_threads() == 4


def test_blocks_of_tasks_do_not_meet():
    """Each task has the number of its own block, and so has what it starts inside."""

    async def task(number, turn):
        with pymluops.threads(number):
            for _ in range(3):
                await turn.wait()
                await asyncio.sleep(0)
                assert pymluops.get_num_threads() == number
                assert await asyncio.to_thread(pymluops.get_num_threads) == number
        return pymluops.get_num_threads()

    async def many():
        turn = asyncio.Event()
        tasks = [asyncio.create_task(task(number, turn)) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        before = pymluops.get_num_threads()
        turn.set()
        assert await asyncio.gather(*tasks) == [before] * 3

    default = pymluops.get_num_threads()
    asyncio.run(many())
    assert pymluops.get_num_threads() == default


def test_blocks_of_generators_end_in_any_order():
    def generate(number):
        with pymluops.threads(number):
            yield pymluops.get_num_threads()

    default = pymluops.get_num_threads()
    one, two = generate(default + 1), generate(default + 2)
    assert (next(one), next(two)) == (default + 1, default + 2)
    one.close()
    assert pymluops.get_num_threads() == default + 2
    two.close()
    assert pymluops.get_num_threads() == default


def test_a_block_that_ends_elsewhere_has_ended():
    """A generator begun in one thread and closed in another leaves the first as it was."""

    def generate():
        with pymluops.threads(1):
            yield

    default = pymluops.get_num_threads()
    generator = generate()
    next(generator)
    assert pymluops.get_num_threads() == 1
    with ThreadPoolExecutor(1) as pool:
        pool.submit(generator.close).result()
    assert pymluops.get_num_threads() == default


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
                    ANY(handle=handle)
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
    x = np.ones((4, 64, 128, 128), np.float32)
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
            pymluops.to_nhwc(x)
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
    x = np.arange(1 << 20, dtype=np.float32).reshape(1, 64, 128, 128)
    run = lambda **kw: pymluops.to_nhwc(x, **kw)
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
    run_python(FORK.format(tests=str(Path(__file__).parents[1]), busy=busy))


def test_threads_of_a_child_do_not_take_the_dead_lock(monkeypatch):
    """While one thread replaces what the parent's threads may have held, another one waits.

    A child that was forked while another thread held the lock of a handle, played in one process.
    """
    from pymluops import _handle

    handle = Handle(num_threads=2)
    dead = handle.lock
    creating, go_on = threading.Event(), threading.Event()
    create = _handle._create

    def slow(*settings):
        creating.set()
        assert go_on.wait(30)
        return create(*settings)

    monkeypatch.setattr(_handle, "_create", slow)
    monkeypatch.setattr(_handle, "_forks", _handle._forks + 1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: handle.lock)
        assert creating.wait(30)
        second = pool.submit(lambda: handle.lock)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        go_on.set()
        assert first.result() is second.result() is not dead
    assert (handle.requested_threads, handle.num_threads) == (2, 2)


def test_multiprocessing_fork():
    run_python(
        """
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        import numpy as np, pymluops
        x = np.ones((1, 64, 128, 128), np.float32)
        def run(_):
            return pymluops.to_nhwc(x).sum()
        expected = run(0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(run, range(4)) == [expected] * 4
        """
    )
