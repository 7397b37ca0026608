# SPDX-License-Identifier: Apache-2.0
"""What other processes run in test_carafe_torch_processes.py: importable, and quick to import."""

import os
from pathlib import Path

import torch
from torch import Tensor, nn

import pymluops.torch as ours


class Upsampler(nn.Module):
    """A small CARAFE upsampler, always made with the same weights."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.inlet = nn.Conv2d(1, 4, 3, padding=1)
        self.up = ours.CARAFEPack(4, 2, up_kernel=3, compressed_channels=4)
        self.outlet = nn.Conv2d(4, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.outlet(self.up(self.inlet(x).relu()))


def batch() -> tuple[Tensor, Tensor]:
    """Four small images, and them at half the size."""
    fine = torch.randn(4, 1, 12, 12, generator=torch.Generator().manual_seed(1))
    return fine, nn.functional.avg_pool2d(fine, 2)


def train(model: nn.Module, fine: Tensor, coarse: Tensor, steps: int = 3) -> list[Tensor]:
    """Train, and return the gradients of the last step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        (model(coarse) - fine).square().mean().backward()
        optimizer.step()
    return [parameter.grad for parameter in model.parameters()]


def train_one_half(rank: int, folder: str) -> None:
    """One of two processes of DistributedDataParallel: trains on its half of the batch."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)  # two processes share the cores
    torch.distributed.init_process_group(
        "gloo", init_method=(Path(folder) / "meeting").as_uri(), rank=rank, world_size=2
    )
    model = nn.parallel.DistributedDataParallel(Upsampler())
    fine, coarse = batch()
    half = slice(2 * rank, 2 * rank + 2)
    torch.save(train(model, fine[half], coarse[half]), Path(folder) / f"gradients_{rank}.pt")
    torch.distributed.barrier()
    del model
    torch.distributed.destroy_process_group()
    # An interpreter that ends while a thread of torch lets go of a Python object aborts, once in a
    # long while: that is not what is tested.
    os._exit(0)
