# SPDX-License-Identifier: Apache-2.0
"""Straighten the pictures of a wide lens, on the processors of one or several machines, with Dask.

    python examples/dask_images.py                                  # two workers on this machine
    python examples/dask_images.py --scheduler tcp://node0:8786     # a cluster that is there

It needs the extra "dask". A lens moves what it shows away from where it is. Deformable convolution
takes each pixel from where the lens has put it, and smooths with a 3 x 3 filter at the same time.

The pictures are an array of Dask in blocks of a few. Each block is one task: one worker draws it,
straightens it and averages it, so that only colours travel. A worker is a process that computes one
task at a time, and our operators in it use one thread. With as many workers as processors, every
processor is busy and no thread waits for another one.
"""

import argparse
import time
from typing import Any

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import pymluops

SMOOTH = np.outer([1, 2, 1], [1, 2, 1]) / 16


def lens(height: int, width: int, strength: float = 0.15) -> np.ndarray:
    """How far each pixel lies from where it belongs, down and right, for each of nine taps."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    y, x = y - (height - 1) / 2, x - (width - 1) / 2
    scale = strength * (y**2 + x**2) / (height**2 + width**2)
    return np.tile(np.stack([y * scale, x * scale], -1), 9).astype(np.float32)


def straighten(images: np.ndarray, threads: int = 1) -> np.ndarray:
    """The work on a block of pictures [N, H, W, C]: NumPy in, NumPy out."""
    channels = images.shape[3]
    taps = SMOOTH[None, :, :, None] * np.eye(channels)[:, None, None, :]
    offset = lens(*images.shape[1:3])
    output = np.empty_like(images)
    with pymluops.threads(threads):
        for image, result in zip(images, output, strict=True):
            pymluops.deform_conv_forward(image, offset, taps.astype(np.float32), pad=1, out=result)
    return output


def draw(first: int, count: int, size: int) -> np.ndarray:
    """The pictures of some numbers; yours are read from files here."""
    y, x = np.mgrid[:size, :size].astype(np.float32) / size
    numbers = np.arange(first, first + count, dtype=np.float32)[:, None, None]
    waves = [np.sin(6 * x + numbers), np.cos(9 * y - numbers), np.sin(20 * x * y + numbers)]
    return np.stack(waves, -1)


def pictures(count: int, size: int, block: int) -> da.Array:
    """All pictures, drawn block by block on the workers."""
    shape = (count, size, size, 3)

    def draw_block(block_info: Any = None) -> np.ndarray:
        (begin, end), *_ = block_info[None]["array-location"]
        return draw(begin, end - begin, size)

    return da.map_blocks(
        draw_block, chunks=da.core.normalize_chunks((block, -1, -1, -1), shape), dtype=np.float32
    )


def straightened(images: da.Array) -> da.Array:
    """The same pictures as they should be, block by block. Nothing is computed yet."""
    return images.map_blocks(straighten, dtype=images.dtype)


def main() -> None:
    parser = argparse.ArgumentParser(description="Straighten pictures with Dask.")
    parser.add_argument("--scheduler", help="of a cluster; without it, workers are started here")
    parser.add_argument("--workers", type=int, default=2, help="processes to start here")
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--size", type=int, default=512, help="of a picture, in pixels")
    parser.add_argument("--block", type=int, default=4, help="pictures in a task")
    options = parser.parse_args()
    cluster = options.scheduler or LocalCluster(
        n_workers=options.workers, threads_per_worker=1, dashboard_address=":0"
    )
    with Client(cluster) as client:
        start = time.perf_counter()
        images = straightened(pictures(options.images, options.size, options.block))
        colours = images.mean(axis=(1, 2)).compute()
        seconds = time.perf_counter() - start
        workers = len(client.nthreads())
        print(f"{options.images / seconds:.1f} pictures per second by {workers} workers")
        print(f"mean colour of the first one: {colours[0]}")
    if not options.scheduler:
        cluster.close()


if __name__ == "__main__":
    main()
