# SPDX-License-Identifier: Apache-2.0
"""examples/dask_images.py on two worker processes: the same bits, and no thread too many."""

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pymluops

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/dask_images.py"
COUNT, SIZE, BLOCK = 10, 96, 3

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def distributed() -> Any:
    return pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def example(distributed: Any) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def client(distributed: Any, example: ModuleType) -> Iterator[Any]:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        client.upload_file(str(EXAMPLE))
        yield client


def foreign_threads() -> int:
    """Threads that are not Python's own: those of OpenMP."""
    return len(list(Path("/proc/self/task").iterdir())) - len(threading.enumerate())


def test_two_workers_give_the_bits_of_one_call(example: ModuleType, client: Any) -> None:
    pids = client.run(os.getpid)
    assert len({os.getpid(), *pids.values()}) == 3
    before = client.run(foreign_threads)
    blocks = client.persist(example.straightened(example.pictures(COUNT, SIZE, BLOCK)))
    output = blocks.compute()
    assert all(client.has_what().values()), "a worker has done nothing"
    expected = example.straighten(example.draw(0, COUNT, SIZE), threads=2)
    assert output.tobytes() == expected.tobytes()
    # Not only because nothing was done.
    assert np.abs(output - example.draw(0, COUNT, SIZE)).max() > 0.1
    assert client.run(foreign_threads) == before


def test_workers_use_one_thread_unless_told_otherwise(example: ModuleType, client: Any) -> None:
    """Dask sets OMP_NUM_THREADS=1 in the workers that it starts; the count sees more threads."""
    assert set(client.run(pymluops.get_num_threads).values()) == {1}
    before = client.run(foreign_threads)
    client.run(example.straighten, example.draw(0, 1, 512), threads=3)
    after = client.run(foreign_threads)
    assert {worker: after[worker] - before[worker] for worker in after} == dict.fromkeys(after, 2)
