# SPDX-License-Identifier: Apache-2.0
"""The PyTorch operators among processes and threads."""

import threading

import pytest
import torch
import torch_workers
from torch.utils.data import DataLoader

from pymluops.capi import ffi, lib
from pymluops.torch import _native_calls


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_data_loader_workers_run_operators(context: str) -> None:
    dataset = torch_workers.Results()
    expected = [dataset[i] for i in range(len(dataset))]  # threads exist before the fork
    loader = DataLoader(dataset, 2, num_workers=2, multiprocessing_context=context, timeout=60)
    assert torch.equal(torch.cat(list(loader)), torch.stack(expected))


# -------------------------------------------------------------------------------------- threads


def threads_used() -> int:
    """How many threads the next operator called from here uses."""
    count = ffi.new("int *")
    lib.mluOpCpuGetNumThreads(_native_calls._handle(), count)
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
