# SPDX-License-Identifier: Apache-2.0
"""Conversions between NCHW and NHWC beside a plain copy of the same bytes, torch and NumPy.

    python benchmarks/layouts.py --threads 2

All are called in turn, into memory that is there, each for as long untimed before as it is timed:
what others leave in the caches is not what is measured. Printed are the least times, that of the
copy in microseconds, the others as its multiples. Then what operators of PyTorch pay for contiguous
tensors: their time beside that for channels_last ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

import pymluops
from pymluops import TensorDescriptor, _families
from pymluops.capi import Layout, Status, ffi, lib

# Images, channels, height and width: 1 MiB and more of float32.
SHAPES = [
    (1, 3, 512),
    (1, 5, 400),
    (1, 7, 200),
    (1, 12, 200),
    (1, 16, 256),
    (1, 64, 256),
    (1, 256, 32),
    (1, 256, 64),
    (1, 256, 128),
    (1, 256, 256),
    (1, 1024, 64),
    (3, 2048, 7),
    (200, 256, 7),
    (1, 2048, 14),
    (1, 900, 30),
    (1, 512, 28),
    (1, 1024, 40),
    (2, 30, 91),
]
ROUNDS, BATCH_SECONDS = 9, 0.005


def seconds_of(call: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def least(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the least time of each call, called in turn."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            repeats = max(1, int(BATCH_SECONDS / (time.perf_counter() - start)))
            best[name] = min(best[name], *(seconds_of(call, repeats) for _ in range(2)))
    return best


def in_c(handle: pymluops.Handle, x: Any, y: Any, to_nhwc: bool) -> Callable[[], object]:
    """Return a call of the C function alone: the one of Python takes 4 microseconds more."""
    layouts = (Layout.NCHW, Layout.NHWC) if to_nhwc else (Layout.NHWC, Layout.NCHW)
    described = [TensorDescriptor.from_array(a, at) for a, at in zip((x, y), layouts, strict=True)]
    given, wanted = (ffi.cast("void *", array.ctypes.data) for array in (x, y))

    def call() -> None:
        source, target = described
        status = lib.mluOpCpuConvertLayout(handle.cdata, source.cdata, given, target.cdata, wanted)
        assert status == Status.SUCCESS

    return call


def empty_like(tensor: torch.Tensor, offset: int) -> torch.Tensor:
    """Return memory for a tensor of the same kind, so many bytes behind the begin of a line."""
    elements = offset // tensor.element_size()
    flat = torch.empty(tensor.numel() + elements, dtype=tensor.dtype)
    return flat[elements:].as_strided(tensor.shape, tensor.stride(), elements)


def conversions(dtype: torch.dtype, threads: int, offset: int) -> None:
    handle = pymluops.Handle()
    handle.num_threads = threads
    print(f"{str(dtype).removeprefix('torch.'):24}copy, us  to_nhwc  torch  numpy  to_nchw  torch")
    for n, c, size in SHAPES:
        first = torch.randn(n, c, size, size).to(dtype)
        last = first.contiguous(memory_format=torch.channels_last)
        into, into_last = empty_like(first, offset), empty_like(last, offset)
        x, y = first.numpy(), last.permute(0, 2, 3, 1).numpy()
        x_into, y_into = into.numpy(), into_last.permute(0, 2, 3, 1).numpy()
        times = least(
            {
                "copy": partial(into.copy_, first),
                "to_nhwc": in_c(handle, x, y_into, to_nhwc=True),
                "torch": partial(into_last.copy_, first),
                "numpy": partial(np.copyto, y_into, x.transpose(0, 2, 3, 1)),
                "to_nchw": in_c(handle, y, x_into, to_nhwc=False),
                "torch back": partial(into.copy_, last),
            }
        )
        copy = times.pop("copy")
        ratios = "".join(f"{seconds / copy:8.2f}" for seconds in times.values())
        print(f"  {n} x {c} x {size} x {size:<12}{copy * 1e6:9.0f} {ratios}", flush=True)


def operators() -> Iterator[Any]:
    """Yield a name, a function of PyTorch and the images that it takes."""
    for _, module in _families.parts("bench_torch"):
        if hasattr(module, "ours"):
            yield from module.ours()


def operators_by_layout() -> None:
    print(f"{'':20}channels_last, ms  contiguous  step: channels_last  contiguous")
    for name, call, images in operators():
        calls: dict[str, Callable[[], object]] = {}
        for layout in (torch.channels_last, torch.contiguous_format):
            given = [image.contiguous(memory_format=layout) for image in images]
            leaves = [image.clone().requires_grad_() for image in given]
            gradient = torch.randn_like(call(*given))

            def step(leaves=leaves, gradient=gradient, call=call) -> None:
                torch.autograd.grad(call(*leaves), leaves, gradient)

            calls[f"{layout}"] = partial(call, *given)
            calls[f"{layout} step"] = step
        last, last_step, first, first_step = least(calls).values()
        print(
            f"  {name:18}{last * 1e3:17.2f}{first / last:11.1f}x{last_step * 1e3:21.2f}"
            f"{first_step / last_step:11.1f}x",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--only", choices=("conversions", "operators"), help="one half of what is printed"
    )
    parser.add_argument(
        "--offset", type=int, default=0, help="bytes from a line to the result; NumPy's: 16"
    )
    options = parser.parse_args()
    threads = options.threads
    torch.set_num_threads(threads)
    pymluops.set_num_threads(threads)
    if options.only != "operators":
        conversions(torch.float32, threads, options.offset)
        conversions(torch.float16, threads, options.offset)
    if options.only != "conversions":
        operators_by_layout()
