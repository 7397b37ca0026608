# SPDX-License-Identifier: Apache-2.0
"""How throughput grows with the workers of a Dask cluster on this machine.

    python benchmarks/dask_workers.py [--workers 1,2] [--rounds N] [--save docs/images/dask.svg]

The work is that of examples/dask_images.py, in the same blocks: plain calls on one thread of this
process, and clusters of one process per worker. Rounds are interleaved; printed are the median and
the spread. Needs the extra "dask".
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from dask.distributed import Client, LocalCluster

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))
import dask_images  # noqa: E402


def plain(count: int, size: int, block: int) -> np.ndarray:
    """The same work without Dask."""
    colours = []
    for first in range(0, count, block):
        images = dask_images.draw(first, min(block, count - first), size)
        colours.append(dask_images.straighten(images).mean(axis=(1, 2)))
    return np.concatenate(colours)


def by_cluster(client: Client, count: int, size: int, block: int) -> np.ndarray:
    images = dask_images.straightened(dask_images.pictures(count, size, block))
    return client.compute(images.mean(axis=(1, 2))).result()


def measure(workers: list[int], rounds: int, load: tuple[int, int, int]) -> dict[str, list[float]]:
    """Pictures per second of each way, in each round."""
    speeds: dict[str, list[float]] = {}
    with ExitStack() as stack:
        calls = {"no Dask": lambda: plain(*load)}
        for number in workers:
            cluster = stack.enter_context(
                LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=":0")
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
            client.upload_file(str(EXAMPLES / "dask_images.py"))
            name = "1 worker" if number == 1 else f"{number} workers"
            calls[name] = lambda client=client: by_cluster(client, *load)
        expected = plain(*load)
        for turn in range(rounds + 1):
            for name, call in calls.items():
                start = time.perf_counter()
                result = call()
                speed = load[0] / (time.perf_counter() - start)
                assert np.allclose(result, expected, atol=1e-5)
                if turn:  # the first one warms up
                    speeds.setdefault(name, []).append(speed)
    return speeds


def drawing(speeds: dict[str, list[float]]) -> str:
    """A bar for each way."""
    rows, height = [], 34 * len(speeds) + 34
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    for i, (name, median) in enumerate(medians.items()):
        y, length = 34 * i + 10, 380 * median / max(medians.values())
        rows.append(
            f'<text x="90" y="{y + 16}" text-anchor="end">{name}</text>\n'
            f'<rect x="100" y="{y}" width="{length:.0f}" height="24" fill="#3b76af"/>\n'
            f'<text x="{length + 108:.0f}" y="{y + 16}">{median:.0f}</text>'
        )
    rows.append(f'<text x="100" y="{height - 12}">pictures per second</text>')
    body = "\n".join(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="560" height="{height}" '
        f'font-family="sans-serif" font-size="14">\n'
        f'<rect width="560" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Throughput by number of workers.")
    most = len(os.sched_getaffinity(0))
    parser.add_argument("--workers", default=",".join(map(str, range(1, most + 1))))
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--block", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", type=Path, help="an SVG file with the picture")
    options = parser.parse_args()
    load = (options.images, options.size, options.block)
    workers = [int(number) for number in options.workers.split(",")]
    speeds = measure(workers, options.rounds, load)
    for name, values in speeds.items():
        low, median, high = min(values), statistics.median(values), max(values)
        print(f"{name:12s} {median:6.1f} pictures per second ({low:.1f} to {high:.1f})")
    if options.save:
        options.save.write_text(drawing(speeds))


if __name__ == "__main__":
    main()
