# SPDX-License-Identifier: Apache-2.0
"""Training on two machines, as far as one can be two: torchrun twice, a process each."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

if importlib.util.find_spec("mmseg") is None:
    pytest.skip("needs the extra 'models' (.ci/run models)", allow_module_level=True)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_psanet.py"
TESTS = Path(__file__).resolve().parents[1]


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def start(launcher: list[str], folder: Path, port: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "MASTER_PORT": port,
    }
    script = [str(EXAMPLE), "--steps=3", f"--save={folder}"]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *launcher, *script],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def weights(folder: Path, rank: int) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(folder / f"weights-{rank}.pt")
    return found


def test_two_nodes_train_as_one_process_does(tmp_path: Path) -> None:
    port = free_port()
    nodes = [
        start(
            [
                *("-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={rank}"),
                *("--nproc-per-node=1", "--master-addr=127.0.0.1", f"--master-port={port}"),
            ],
            tmp_path / "two",
            port,
        )
        for rank in (0, 1)
    ]
    printed = [node.communicate(timeout=300)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0]
    alone = start([], tmp_path / "one", free_port())
    said = alone.communicate(timeout=300)[0]
    assert alone.returncode == 0

    assert [line.split(":")[0] for line in said.splitlines()] == ["step 0", "step 1", "step 2"]
    first, *_, last = (float(line.split()[-1]) for line in said.splitlines())
    assert last < first
    assert printed == [said, ""]
    one, two, other = weights(tmp_path / "one", 0), *(weights(tmp_path / "two", r) for r in (0, 1))
    assert one.keys() == two.keys() == other.keys()
    for key, value in one.items():
        assert torch.equal(two[key], other[key]), key
        torch.testing.assert_close(two[key], value, rtol=0, atol=1e-6)
