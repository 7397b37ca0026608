# SPDX-License-Identifier: Apache-2.0
"""What is measured: limits, every operator in every way and beside the peers, sizes.

The result is plain data, as it is written to JSON files: see docs/bench.md.
"""

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import pymluops
from pymluops import _config
from pymluops.bench import _limits, _peers
from pymluops.bench._call import Call, Library
from pymluops.bench._case import Arguments, Case, all_cases
from pymluops.bench._timing import Effort, Times, measure

FORMAT = 1
#: A case and what was measured of it, as JSON has them.
Row: TypeAlias = dict[str, Any]
Results: TypeAlias = dict[str, Any]

FULL = Effort(rounds=7, batch=0.003, column=0.35)
QUICK = Effort(rounds=5, batch=0.002, column=0.12)


@dataclass(frozen=True)
class Way:
    """How a case is run."""

    isa: str
    threads: int
    dtype: str = "float32"

    @property
    def label(self) -> str:
        """A name for it."""
        return f"{self.dtype} {self.isa} {self.threads}"


@dataclass(frozen=True)
class Step:
    """A case with the ways to run it, and whether its peers are run, too."""

    case: Case
    ways: Sequence[Way]
    beside: bool


def plan(cases: Sequence[Case], *, quick: bool) -> list[Step]:
    """Return what is measured of some cases.

    Of the sizes of networks, the first of each operator is measured in every way, the others with
    the best instruction set; the other sizes are measured in one way. Quick is the first of each,
    in fewer ways, and every second of the other sizes.
    """
    isas, counts = pymluops.supported_isas(), _limits.thread_counts()
    ends = sorted({counts[0], counts[-1]})
    best = [Way(isas[0], count, dtype) for dtype in ("float32", "float16") for count in ends]
    every = [Way(i, count, d) for d in ("float32", "float16") for i in isas for count in ends]
    every += [Way(isas[0], count) for count in counts[1:-1]]
    first: set[str] = set()
    seen: Counter[str] = Counter()
    steps = []
    for case in cases:
        dtypes = {dtype.name for dtype in case.dtypes}
        if case.group == "networks" and (not quick or case.api not in first):
            ways = best if quick or case.api in first else every
            first.add(case.api)
            steps.append(Step(case, [way for way in ways if way.dtype in dtypes], beside=True))
        elif case.group == "sizes":
            seen[case.operator] += 1
            if not quick or seen[case.operator] % 2:
                steps.append(Step(case, [Way(isas[0], counts[-1])], beside=False))
    return steps


def chosen(only: Sequence[str]) -> list[Case]:
    """Return the cases that `pymluops bench` knows whose names contain one of some texts."""
    known = [case for case in all_cases() if case.group in ("networks", "sizes")]
    return [case for case in known if not only or any(text in case.name for text in only)]


def run(
    steps: Sequence[Step], *, quick: bool, tick: Callable[[str], object], libraries: Sequence[str]
) -> Results:
    """Measure everything, and return it."""
    limits = _limits.measure(_limits.thread_counts(), tick)
    rows = []
    for step in steps:
        tick(step.case.name)
        rows.append(_measured(step, limits, libraries, QUICK if quick else FULL))
    return {
        "format": FORMAT,
        "quick": quick,
        "machine": machine(libraries),
        "limits": limits,
        "cases": rows,
    }


def machine(libraries: Sequence[str]) -> dict[str, str]:
    """Return what the figures depend on."""
    facts = {
        "processor": _processor(),
        "threads": str(_limits.thread_counts()[-1]),
        "instruction sets": " ".join(pymluops.supported_isas()),
        "pymluops": _config.version,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    facts |= {name: _config.distribution_version(name) for name in libraries}
    return facts | {"load before": f"{os.getloadavg()[0]:.1f}"}


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    for line in info.read_text(errors="replace").splitlines() if info.exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _measured(step: Step, limits: _limits.Limits, libraries: Sequence[str], effort: Effort) -> Row:
    """Measure one case, all ways and peers in turn."""
    case, threads = step.case, max(way.threads for way in step.ways)
    problems: list[str] = []
    with ExitStack() as stack:
        columns: dict[str, Callable[[], Any]] = {}
        made = {dtype: case.make(np.dtype(dtype)) for dtype in {way.dtype for way in step.ways}}
        for way in step.ways:
            columns[way.label] = _call(stack, case, way, made[way.dtype])
        peers: list[tuple[str, _peers.Peer]] = []
        if step.beside and libraries and "float32" in made:
            columns[step.ways[0].label]()
            expected = case.results(made["float32"])
            for peer, peer_run in _agreeing(case, made["float32"], expected, threads, libraries):
                if isinstance(peer_run, str):
                    problems.append(f"{peer.library}, {peer.how}: {peer_run}")
                    continue
                label = f"{peer.library} {peer.how}"
                peers.append((label, peer))
                columns[label] = peer_run
        times = measure(columns, effort, spinning={label for label, _ in peers})
    row: Row = {
        "name": case.name,
        "group": case.group,
        "read": case.read,
        "written": case.written,
        "flops": case.flops,
        "ours": [_of_way(case, way, times[way.label], limits) for way in step.ways],
    }
    if step.beside:
        row["peers"] = [
            {"library": peer.library, "how": peer.how, "threads": threads} | _seconds(times[label])
            for label, peer in peers
        ]
        row["left out"] = problems
    return row


def _call(stack: ExitStack, case: Case, way: Way, arguments: Arguments) -> Call:
    library = Library()
    handle = stack.enter_context(library.handle(way.isa, way.threads))
    return stack.enter_context(closing(Call(library, handle, case.api, arguments)))


def _agreeing(
    case: Case,
    arguments: Arguments,
    expected: Sequence[Any],
    threads: int,
    libraries: Sequence[str],
) -> Iterator[tuple[_peers.Peer, Callable[[], Any] | str]]:
    """Yield the peers with their calls, or with what is wrong with them."""
    ours = [array.copy() for array in expected]
    problem = _peers.problem(case, arguments)
    for peer in _peers.of_operator(case.operator, libraries):
        try:
            _peers.set_threads(peer.library, threads)
            made = peer.make(problem)
            if made is None:
                continue
            peer_run, as_ours = made
            found = _peers.difference(as_ours(peer_run()), ours)
        except Exception as error:  # whatever that library raises: the others are measured
            yield peer, f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        if found > peer.tolerance:
            yield peer, f"its result differs by {found:.1e}"
        else:
            yield peer, partial(peer_run)


def _seconds(times: Times) -> dict[str, float]:
    return {"median": times.median, "low": times.low, "high": times.high, "samples": times.samples}


def _of_way(case: Case, way: Way, times: Times, limits: _limits.Limits) -> Row:
    share = np.dtype(way.dtype).itemsize / 4
    least = _limits.roofline(
        limits, way.isa, way.threads, case.read * share, case.written * share, case.flops
    )
    entry: Row = {"isa": way.isa, "threads": way.threads, "dtype": way.dtype, **_seconds(times)}
    return entry | {"roofline": least / times.median}
