# SPDX-License-Identifier: Apache-2.0
"""Train mmseg's PSANet on the processors of one or several machines, with torchrun.

    python examples/train_psanet.py                             # one process
    torchrun --nproc-per-node=2 examples/train_psanet.py        # two on this machine
    # two machines, of which the first is reachable as node0; on the second with --node-rank=1:
    torchrun --nnodes=2 --node-rank=0 --nproc-per-node=1 --master-addr=node0 --master-port=29500 \
        examples/train_psanet.py

It needs the packages of the extra "models". The model is that of mmseg's configuration, and its
pictures are drawn here: coloured squares with noise, each colour a class. Every process trains on
its part of each batch, and all have the same weights after each step, as if one process had seen
all of it. For that the norms are of groups: those of batches would look at one part only (on GPUs
SyncBN looks at all, which torch does not have for processors).
"""

import argparse
import os
from pathlib import Path
from typing import Any

import pymluops.torch.mmcv_on_cpu  # noqa: F401  (before mmseg)

# isort: split
import mmseg
import torch
from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.models import build_segmentor
from mmseg.structures import SegDataSample
from torch import Tensor, distributed, nn

CONFIG = "psanet/psanet_r50-d8_4xb2-40k_cityscapes-512x1024.py"
CLASSES = 19


def make_model(size: int) -> nn.Module:
    """The model of the configuration, with other norms and without weights to load."""
    folder = Path(mmseg.__file__).parent / ".mim" / "configs"
    config = Config.fromfile(folder / CONFIG).model
    norms = {"type": "GN", "num_groups": 32, "requires_grad": True}
    for part in (config.backbone, config.decode_head, config.auxiliary_head):
        part.norm_cfg = norms
    for head in (config.decode_head, config.auxiliary_head):
        head.dropout_ratio = 0.0  # chance would part one process from several
    config.pretrained = None
    config.data_preprocessor.size = (size, size)
    init_default_scope("mmseg")
    torch.manual_seed(0)
    model = build_segmentor(config)
    MMLogger.get_instance("example", log_level="WARNING")  # not a line for each weight
    model.init_weights()
    return model


def draw(number: int, size: int) -> tuple[Tensor, SegDataSample]:
    """The picture of a number, and what is to be learned about it."""
    generator = torch.Generator().manual_seed(number)
    squares = torch.randint(0, CLASSES, (1, 1, 4, 4), generator=generator)
    labels = nn.functional.interpolate(squares.float(), (size, size)).long()[0]
    colours = torch.randint(0, 256, (3, CLASSES), generator=torch.Generator().manual_seed(99))
    noise = torch.randint(-20, 21, (3, size, size), generator=generator)
    picture = (colours[:, labels[0]] + noise).clamp(0, 255).to(torch.uint8)
    shape = {"img_shape": (size, size), "ori_shape": (size, size), "pad_shape": (size, size)}
    return picture, SegDataSample(metainfo=shape, gt_sem_seg=PixelData(data=labels))


def my_part(step: int, batch: int, size: int) -> dict[str, Any]:
    """The pictures of a step that are this process's."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    pairs = [draw(step * batch + i, size) for i in range(rank, batch, world)]
    return {"inputs": [x for x, _ in pairs], "data_samples": [sample for _, sample in pairs]}


def train(arguments: argparse.Namespace) -> nn.Module:
    model = make_model(arguments.size).train()
    replica = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step in range(arguments.steps):
        batch = my_part(step % 2, arguments.batch, arguments.size)
        data = model.data_preprocessor(batch, training=True)
        loss, _ = model.parse_losses(replica(**data, mode="loss"))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        distributed.all_reduce(loss := loss.detach() / distributed.get_world_size())
        if distributed.get_rank() == 0:
            print(f"step {step}: loss {loss:.4f}", flush=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=4, help="pictures, of all processes together")
    parser.add_argument("--size", type=int, default=64, help="of a picture, in pixels")
    parser.add_argument("--save", type=Path, help="a folder for the weights of each process")
    arguments = parser.parse_args()
    for name, value in {"RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1"}.items():
        os.environ.setdefault(name, str(value))  # torchrun has set them
    os.environ.setdefault("MASTER_PORT", "29500")
    distributed.init_process_group("gloo")
    if arguments.batch % distributed.get_world_size():
        parser.error("--batch must be a multiple of the number of processes")
    model = train(arguments)
    if arguments.save:
        torch.save(model.state_dict(), arguments.save / f"weights-{distributed.get_rank()}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
