# SPDX-License-Identifier: Apache-2.0
"""What this machine can do: bytes and floating-point operations in a second.

The loops are in C (c_src/limits), one for each instruction set. Several threads run a loop each, on
memory of their own; together they take as long as the last of them.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

import pymluops
from pymluops._tensor import Array
from pymluops.capi import ffi, lib

_FMA = 0
_WAYS = {"read": (1,), "fill": (2, 3), "copy": (4, 5)}  # the second is past the caches
SIZES = (256 << 10, 4 << 20, 24 << 20, 192 << 20)
"""Bytes of all threads together: what a core has to itself, what cores share (twice), memory."""
_ROUNDS, _SECONDS = 12, 0.004  # of a sample

#: What is kept as JSON.
Limits: TypeAlias = dict[str, Any]


def thread_counts() -> list[int]:
    """Return the numbers of threads to measure: one, its doubles, and all."""
    with pymluops.Handle() as handle:
        most = handle.num_threads
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return [*counts, most] if most > 1 else counts


def measure(counts: Sequence[int], tick: Callable[[str], object]) -> Limits:
    """Measure every limit, with one and with all threads."""
    ends = sorted({counts[0], counts[-1]})
    rates = {}
    for isa in pymluops.supported_isas():
        tick(f"multiply-adds, {isa}")
        found = {n: _best(isa, (_FMA,), [(None, 0)] * n) for n in ends}
        rates[isa] = {str(n): rate for n, rate in _not_less(found).items()}
    memory = _memory(SIZES[-1])
    isa = pymluops.supported_isas()[0]
    bandwidth = []
    for bytes_ in SIZES:
        tick(f"bandwidth, {bytes_ / 2**20:g} MiB")
        parts = {n: list(_parts(memory, bytes_, n)) for n in ends}
        of = {
            way: _not_less({n: _best(isa, kinds, parts[n]) for n in ends})
            for way, kinds in _WAYS.items()
        }
        for n in ends:
            bandwidth.append({"bytes": bytes_, "threads": n, **{way: of[way][n] for way in of}})
    return {"fma": rates, "bandwidth": bandwidth}


def _not_less(rates: dict[int, float]) -> dict[int, float]:
    """Let all threads do what one does, at least: on a busy machine they are not seen to."""
    return {n: max(rates[few] for few in rates if few <= n) for n in rates}


def _memory(bytes_: int) -> Array:
    memory = np.ones(bytes_ // 4 + 16, np.float32)
    return memory[-memory.ctypes.data // 4 % 16 :]


def _parts(memory: Array, bytes_: int, threads: int) -> Iterator[tuple[Array | None, int]]:
    floats = max(256, bytes_ // 4 // threads // 256 * 256)
    for number in range(threads):
        yield memory[number * floats :], floats


def _best(isa: str, kinds: Sequence[int], parts: Sequence[tuple[Array | None, int]]) -> float:
    """Return the most that all threads do in a second, in any way."""
    return max(_rate(isa, kind, parts) for kind in kinds)


def _rate(isa: str, kind: int, parts: Sequence[tuple[Array | None, int]]) -> float:
    repeats, took = 1, 0.0
    while took < _SECONDS / 2:
        repeats = max(2 * repeats, int(repeats * _SECONDS / took)) if took else repeats * 4
        took, _ = _run(isa, kind, parts[:1], repeats)
    rates = []
    for _ in range(_ROUNDS):
        took, done = _run(isa, kind, parts, repeats)
        rates.append(done / took)
    return max(rates)


def _run(
    isa: str, kind: int, parts: Sequence[tuple[Array | None, int]], repeats: int
) -> tuple[float, float]:
    """Return how long all threads take together, and what they have done."""
    ready = threading.Barrier(len(parts))
    results: list[tuple[float, float, float]] = []

    def work(memory: Array | None, floats: int) -> None:
        pointer = ffi.NULL if memory is None else ffi.cast("float *", memory.ctypes.data)
        name = ffi.new("char[]", isa.encode())
        ready.wait()
        start = time.perf_counter()
        done = lib.mluop_limit_of(name, kind, pointer, floats, repeats)
        results.append((start, time.perf_counter(), done))

    workers = [threading.Thread(target=work, args=part) for part in parts[1:]]
    for worker in workers:
        worker.start()
    work(*parts[0])
    for worker in workers:
        worker.join()
    starts, ends, done = zip(*results, strict=True)
    return max(ends) - min(starts), sum(done)


def roofline(
    limits: Limits, isa: str, threads: int, read: float, written: float, flops: float
) -> float:
    """Return the seconds that no implementation can beat, as the limits say."""
    rates = limits["fma"][isa]
    counts = [int(count) for count in rates]
    near = min(counts, key=lambda count: (abs(count - threads), count))
    total = read + written
    moving = total / bandwidth(limits, threads, total, read / total) if total else 0.0
    return max(moving, flops / float(rates[str(near)]))


def bandwidth(limits: Limits, threads: int, footprint: float, share_read: float) -> float:
    """Return the bytes in a second for so many bytes, of which a share is read.

    Between measured sizes and between fill, copy and read it is interpolated.
    """
    rows = limits["bandwidth"]
    counts = {row["threads"] for row in rows}
    near = min(counts, key=lambda count: (abs(count - threads), count))
    rows = [row for row in rows if row["threads"] == near]
    sizes = np.log([row["bytes"] for row in rows])
    at = np.log(max(footprint, 1))
    found = [np.interp(at, sizes, [row[way] for row in rows]) for way in ("fill", "copy", "read")]
    return float(np.interp(share_read, [0, 0.5, 1], found))
