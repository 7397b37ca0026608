# SPDX-License-Identifier: Apache-2.0
"""Compare every operator with its NumPy reference, on the machine at hand.

Each operator runs with every instruction set of the CPU, and with one and with several threads,
which must give the same bits.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import pymluops
from pymluops import accuracy
from pymluops._tensor import Array
from pymluops.reference import (
    border_align,
    carafe,
    deform_roi_pool,
    masked_col2im,
    masked_im2col,
    psamask,
)

_THREADS = (1, 3)
_NAME_WIDTH, _WIDTH = 38, 10


@dataclass
class _Case:
    operator: Callable[..., Any]
    reference: Callable[..., Any]
    kind: accuracy.Kind
    arrays: tuple[Array, ...]
    numbers: dict[str, Any]
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.operator.__name__} {self.variant}".rstrip()

    @property
    def dtype(self) -> str:
        return self.arrays[0].dtype.name


def run(seed: int = 0) -> int:
    """Print a table of the largest error of each operator; return 1 if one is too large."""
    isas = pymluops.supported_isas()
    print(f"{'operator':<{_NAME_WIDTH}}{'dtype':<10}" + "".join(f"{isa:<{_WIDTH}}" for isa in isas))
    failures: list[str] = []
    count = 0
    for case in _cases(np.random.default_rng(seed)):
        expected = _tuple(case.reference(*case.arrays, **case.numbers))
        cells = []
        for isa in isas:
            cell, problem = _judge(case, isa, expected)
            cells.append(cell)
            count += 1
            if problem:
                failures.append(f"{case.name} {case.dtype} {isa}: {problem}")
        print(
            f"{case.name:<{_NAME_WIDTH}}{case.dtype:<10}" + "".join(f"{c:<{_WIDTH}}" for c in cells)
        )
    for failure in failures:
        print(failure)
    print(
        f"{len(failures)} of {count} checks FAILED"
        if failures
        else f"all {count} checks passed: values are the largest of diff1 and diff2, "
        f"the same bits with {' and '.join(map(str, _THREADS))} threads"
    )
    return 1 if failures else 0


def _judge(case: _Case, isa: str, expected: tuple[Array, ...]) -> tuple[str, str]:
    """Return the cell of the table, and what is wrong, if anything."""
    try:
        results = _results(case, isa)
    except pymluops.MluOpError as error:
        return "FAILED", str(error)
    if any(a.tobytes() != b.tobytes() for a, b in zip(*results, strict=True)):
        return "FAILED", "results depend on the number of threads"
    verdicts = [
        # Indices are exact whatever the operator does with values.
        accuracy.check(
            result,
            baseline,
            kind="movement" if result.dtype.kind == "i" else case.kind,
            bar="tight",
        )
        for result, baseline in zip(results[0], expected, strict=True)
    ]
    for verdict in verdicts:
        if not verdict:
            return "FAILED", str(verdict)
    largest = max(max(verdict.diff1, verdict.diff2) for verdict in verdicts)
    return ("exact" if largest == 0 else f"{largest:.1e}"), ""


def _results(case: _Case, isa: str) -> list[tuple[Array, ...]]:
    """Return what the operator gives with each number of threads."""
    results = []
    with _handle(isa) as handle:
        for threads in _THREADS:
            handle.num_threads = threads
            results.append(_tuple(case.operator(*case.arrays, **case.numbers, handle=handle)))
    return results


@contextmanager
def _handle(isa: str) -> Iterator[pymluops.Handle]:
    """Make a handle for an instruction set: the library reads the variable at that moment."""
    before = os.environ.get("MLUOP_CPU_ISA")
    os.environ["MLUOP_CPU_ISA"] = isa
    try:
        with pymluops.Handle() as handle:
            yield handle
    finally:
        if before is None:
            del os.environ["MLUOP_CPU_ISA"]
        else:
            os.environ["MLUOP_CPU_ISA"] = before


def _tuple(results: Any) -> tuple[Array, ...]:
    return results if isinstance(results, tuple) else (results,)


def _cases(rng: np.random.Generator) -> Iterator[_Case]:
    # Sizes that are no multiples of a vector, and more work than one thread's share.
    for dtype in (np.dtype(np.float32), np.dtype(np.float16)):
        yield from _carafe(rng, dtype)
        if dtype == np.float32:
            yield from _psamask(rng)
        yield from _deform_roi_pool(rng, dtype)
        yield from _border_align(rng, dtype)
        yield from _masked(rng, dtype)


def _normal(rng: np.random.Generator, dtype: np.dtype[Any], *shape: int) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def _carafe(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[_Case]:
    numbers = {"kernel_size": 5, "group_size": 2, "scale_factor": 2}
    x, mask = _normal(rng, dtype, 2, 9, 11, 38), _normal(rng, dtype, 2, 18, 22, 50)
    dy = _normal(rng, dtype, 2, 18, 22, 38)
    yield _Case(pymluops.carafe_forward, carafe.carafe_forward, "arithmetic", (x, mask), numbers)
    yield _Case(
        pymluops.carafe_backward, carafe.carafe_backward, "arithmetic", (x, mask, dy), numbers
    )


def _psamask(rng: np.random.Generator) -> Iterator[_Case]:
    dtype = np.dtype(np.float32)
    forward, backward = psamask.psamask_forward, psamask.psamask_backward
    for variant in ("collect", "distribute"):
        numbers = {"psa_type": ("collect", "distribute").index(variant), "h_mask": 9, "w_mask": 13}
        x, dy = _normal(rng, dtype, 2, 11, 10, 117), _normal(rng, dtype, 2, 11, 10, 110)
        yield _Case(pymluops.psamask_forward, forward, "movement", (x,), numbers, variant)
        yield _Case(pymluops.psamask_backward, backward, "movement", (dy,), numbers, variant)


def _deform_roi_pool(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[_Case]:
    numbers = {"pooled_height": 3, "pooled_width": 4, "spatial_scale": 0.5, "gamma": 0.2}
    x, dy = _normal(rng, dtype, 2, 13, 17, 21), _normal(rng, dtype, 20, 3, 4, 21)
    corners = rng.uniform(-3, 36, (20, 2, 2))
    rois = np.column_stack(
        (rng.integers(0, 2, 20), corners.min(axis=1), corners.max(axis=1))
    ).astype(dtype)
    offset = _normal(rng, dtype, 20, 2, 3, 4)
    forward = deform_roi_pool.deform_roi_pool_forward
    backward = deform_roi_pool.deform_roi_pool_backward
    for ratio, variant in ((0, "adaptive"), (2, "2x2 samples")):
        settings = {**numbers, "sampling_ratio": ratio}
        yield _Case(
            pymluops.deform_roi_pool_forward,
            forward,
            "arithmetic",
            (x, rois, offset),
            settings,
            variant,
        )
        yield _Case(
            pymluops.deform_roi_pool_backward,
            backward,
            "arithmetic",
            (dy, x, rois, offset),
            settings,
            variant,
        )


def _border_align(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[_Case]:
    x = _normal(rng, dtype, 2, 7, 9, 4 * 19)
    corners = rng.uniform(-1, 9, (2, 63, 2, 2))
    boxes = np.concatenate((corners.min(axis=2), corners.max(axis=2)), axis=2).astype(dtype)
    yield _Case(
        pymluops.border_align_forward,
        border_align.border_align_forward,
        "arithmetic",
        (x, boxes),
        {"pool_size": 6},
    )
    yield _Case(
        pymluops.border_align_backward,
        border_align.border_align_backward,
        "arithmetic",
        (
            _normal(rng, dtype, 2, 63, 4, 19),
            boxes,
            rng.integers(0, 7, (2, 63, 4, 19), dtype=np.int32),
        ),
        {"pool_size": 6, "height": 7, "width": 9},
    )


def _masked(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[_Case]:
    rows, columns = np.nonzero(rng.random((23, 31)) < 0.3)
    positions = rows.astype(np.int32), columns.astype(np.int32)
    feature, col = _normal(rng, dtype, 1, 7, 23, 31), _normal(rng, dtype, 7, len(rows))
    yield _Case(
        pymluops.masked_im2col_forward,
        masked_im2col.masked_im2col_forward,
        "movement",
        (feature, *positions),
        {"kernel_h": 3, "kernel_w": 5, "pad_h": 1, "pad_w": 2},
    )
    yield _Case(
        pymluops.masked_col2im_forward,
        masked_col2im.masked_col2im_forward,
        "movement",
        (col, *positions),
        {"height": 23, "width": 31},
    )
