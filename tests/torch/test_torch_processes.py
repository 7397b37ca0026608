# SPDX-License-Identifier: Apache-2.0
"""The PyTorch operators among processes and threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch_workers
from python_calls import CALLS
from torch.utils.data import DataLoader
from torch_families import FIRST_CASES

import pymluops
from pymluops import _handle, _threads
from pymluops._threads import thread_handle
from pymluops.capi import ffi, lib


# Each spawned worker imports torch, which takes seconds.
@pytest.mark.parametrize(
    ("context", "pinned"),
    [
        ("fork", False),
        ("fork", True),
        pytest.param("spawn", False, marks=pytest.mark.slow),
        pytest.param("spawn", True, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
# What torch says of pinned memory where there is no accelerator; the loader works all the same.
@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
@pytest.mark.filterwarnings("ignore:'pin_memory' argument is set as true:UserWarning")
def test_data_loader_workers_run_operators(context: str, pinned: bool) -> None:
    dataset = torch_workers.Results()
    expected = [dataset[i] for i in range(len(dataset))]  # threads exist before the fork
    loader = DataLoader(
        dataset,
        2,
        num_workers=4,
        multiprocessing_context=context,
        pin_memory=pinned,
        timeout=100,
    )
    assert torch.equal(torch.cat(list(loader)), torch.stack(expected))


# -------------------------------------------------------------------------------------- threads


def threads_used() -> int:
    """How many threads the next operator called from here uses."""
    count = ffi.new("int *")
    handle = thread_handle(torch.get_num_threads())
    lib.mluOpCpuGetNumThreads(handle.cdata, count)
    return int(count[0])


@pytest.fixture
def _torch_threads():  # type: ignore[no-untyped-def]
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_torch_threads")
def test_torch_decides_how_many_threads() -> None:
    for count in (1, 3, 2):
        torch.set_num_threads(count)
        assert threads_used() == count


def test_threads_of_python_run_operators_at_the_same_time() -> None:
    dataset = torch_workers.Results()
    expected = [dataset[i] for i in range(len(dataset))]
    results: dict[int, list[bool]] = {}

    def run(name: int) -> None:
        results[name] = [torch.equal(dataset[i], expected[i]) for i in range(len(dataset))]

    workers = [threading.Thread(target=run, args=(name,)) for name in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == {name: [True] * len(dataset) for name in range(4)}


@pytest.mark.usefixtures("_torch_threads")
def test_a_thread_has_one_handle_for_numpy_and_torch() -> None:
    """Each call runs with the threads of its own side: torch's number, and that of pymluops."""
    made = []
    torch.set_num_threads(3)
    with pytest.MonkeyPatch.context() as patch:
        create = _handle._create
        patch.setattr(_handle, "_create", lambda *args: made.append(args) or create(*args))

        def both() -> tuple[int, int, int]:
            FIRST_CASES[0].ours(*FIRST_CASES[0].arguments())
            in_torch = _threads._thread.handle.requested_threads
            with pymluops.threads(2):
                next(iter(CALLS.values()))()
                in_numpy = pymluops.get_num_threads()
            return in_torch, in_numpy, len(made)

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(both).result() == (3, 2, 1)
