# SPDX-License-Identifier: Apache-2.0
"""CARAFE in PyTorch among processes and threads: DistributedDataParallel, OpenMP; the example."""

import os
import subprocess
import sys
from pathlib import Path

import carafe_workers
import pytest
import torch

import pymluops.torch as ours


@pytest.mark.slow
def test_distributed_training_has_the_gradients_of_one_process(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(carafe_workers.train_one_half, (str(tmp_path),), nprocs=2)
    expected = carafe_workers.train(carafe_workers.Upsampler(), *carafe_workers.batch())
    for rank in (0, 1):
        gradients = torch.load(tmp_path / f"gradients_{rank}.pt")
        for given, whole in zip(gradients, expected, strict=True):
            torch.testing.assert_close(given, whole, rtol=1e-4, atol=1e-6)


def test_results_do_not_depend_on_threads() -> None:
    before = torch.get_num_threads()
    features, masks = torch.randn(2, 32, 16, 16), torch.randn(2, 25, 32, 32)
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        results.append(ours.carafe(features, masks, 5, 1, 2))
    assert all(torch.equal(result, results[0]) for result in results)
    torch.set_num_threads(before)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("first", ["pymluops", "torch"])
def test_torch_and_the_library_share_their_threads(first: str) -> None:
    """With one OpenMP runtime in the process, our calls start no threads beside torch's."""
    code = f"""
import {first}
import os, torch, pymluops.torch
torch.set_num_threads(4)
def threads(): return len(os.listdir("/proc/self/task"))
torch.randn(1 << 20).relu()
before = threads()
pymluops.torch.carafe(torch.randn(1, 64, 64, 64), torch.randn(1, 25, 128, 128), 5, 1, 2)
runtimes = {{line.split()[-1] for line in open("/proc/self/maps") if "omp" in line.split("/")[-1]}}
print(before, threads(), len(runtimes))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    before, after, runtimes = map(int, done.stdout.split())
    assert before >= 4
    if runtimes == 1:
        assert after == before
    else:  # torch is linked with another OpenMP: a team each, of the same size
        assert after <= before + 3


@pytest.mark.slow
def test_the_example_draws_a_picture(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "examples" / "carafe_upsample.py"
    picture = tmp_path / "picture.png"
    subprocess.run([sys.executable, script, "--steps", "3", picture], check=True, timeout=120)
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
