# SPDX-License-Identifier: Apache-2.0
"""What `pymluops bench` shows on a terminal."""

import sys
import time
from collections.abc import Iterator
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Results: TypeAlias = dict[str, Any]

_BAR = 24
_COLUMNS = """\
Sizes of networks. ms: milliseconds with all threads, float32. roofline: the share of what the
machine allows. 1 thread, float16: milliseconds. torch, numba: how many times as long the operator
takes, written with PyTorch operations or with loops that numba compiles.
"""
_DISTURBED = 0.2  # a spread that says that the machine had other work


class Progress:
    """A bar on stderr, where that is a terminal; nothing elsewhere."""

    def __init__(self, steps: int) -> None:
        self._steps, self._done = steps, 0
        self._begin = time.monotonic()
        self._shown = sys.stderr.isatty()

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def tick(self, what: str) -> None:
        """Say what is measured next."""
        if "/" in what:  # a case; before them come the limits
            self._done += 1
        if self._shown:
            share = max(0, self._done - 1) / max(1, self._steps)
            full = int(share * _BAR)
            took = time.monotonic() - self._begin
            left = f", about {took / share - took:.0f} s left" if share > 0.1 else ""
            bar = f"[{'#' * full}{'.' * (_BAR - full)}]"
            print(f"\r\033[K{bar} {what}{left}"[:118], end="", file=sys.stderr, flush=True)


def best(row: Row, *, dtype: str = "float32", one_thread: bool = False) -> Row | None:
    """Return the figures of a case with the best instruction set, with all threads or one."""
    found: list[Row] = [way for way in row["ours"] if way["dtype"] == dtype]
    found = [way for way in found if way["isa"] == row["ours"][0]["isa"]]
    if not found:
        return None
    pick = min if one_thread else max
    return pick(found, key=lambda way: int(way["threads"]))


def fastest_peer(row: Row, library: str) -> Row | None:
    """Return the fastest way to write an operator in a library."""
    found: list[Row] = [peer for peer in row.get("peers", ()) if peer["library"] == library]
    return min(found, key=lambda peer: float(peer["median"]), default=None)


def milliseconds(seconds: float) -> str:
    """Return a time to three digits; from a second on, to milliseconds."""
    time = seconds * 1e3
    return f"{time:.0f}" if time >= 999.5 else f"{time:#.3g}".rstrip(".")


def spread(way: Row) -> float:
    """Return how far the quartiles are apart, relative to the median."""
    return (float(way["high"]) - float(way["low"])) / float(way["median"])


def ratio(row: Row, library: str) -> float | None:
    """Return how many times as fast ours is as a library."""
    ours, peer = best(row), fastest_peer(row, library)
    if ours is None or peer is None:
        return None
    return float(peer["median"]) / float(ours["median"])


def times(value: float | None) -> str:
    """Return a ratio as it is shown."""
    return "-" if value is None else f"{value:.1f}x" if value < 10 else f"{value:.0f}x"


def limits(results: Results) -> Iterator[str]:
    """Yield the limits of the machine, a line each."""
    for isa, rates in results["limits"]["fma"].items():
        parts = [f"{float(rate) / 1e9:.0f} ({_threads(count)})" for count, rate in rates.items()]
        yield f"  multiply-adds, {isa:<10} {', '.join(parts)} GFLOP/s"
    for row in results["limits"]["bandwidth"]:
        ways = ", ".join(f"{way} {row[way] / 1e9:.0f}" for way in ("read", "copy", "fill"))
        size = f"{row['bytes'] / 2**20:g} MiB"
        yield f"  memory, {size:<9} {_threads(row['threads']):<10} {ways} GB/s"


def _threads(count: Any) -> str:
    return "1 thread" if int(count) == 1 else f"{count} threads"


def table(results: Results) -> str:
    """Return everything that was measured, as text."""
    facts = "".join(f"{name}: {value}\n" for name, value in results["machine"].items())
    lines = [facts + "\nThis machine can do:", *limits(results), ""]
    shown = [row for row in results["cases"] if row["group"] == "networks"]
    if shown:
        lines += [_COLUMNS]
        head = f"{'operator/size':<48}{'ms':>9}{'spread':>8}{'roofline':>10}{'1 thread':>10}"
        lines += [head + f"{'float16':>9}{'torch':>8}{'numba':>8}"]
        lines += [_line(row) for row in shown]
        lines += ["", *_by_isa(shown)]
    sizes = [row for row in results["cases"] if row["group"] == "sizes"]
    if sizes:
        lines += ["", f"{'From small to large':<48}{'ms':>9}{'spread':>8}{'roofline':>10}"]
        lines += [_start(row) for row in sizes]
    left_out = [(row["name"], text) for row in shown for text in row.get("left out", ())]
    lines += [f"\nnot timed beside {name}: {text}" for name, text in left_out]
    if results["quick"]:
        lines += ["", "Without --quick, there are more sizes and a comparison with numba."]
    lines += disturbed(results)
    return "\n".join(lines)


def _start(row: Row) -> str:
    way = best(row)
    assert way is not None
    seconds = milliseconds(way["median"])
    return f"{row['name']:<48}{seconds:>9}{spread(way):>7.0%} {way['roofline']:>9.0%}"


def _line(row: Row) -> str:
    one, half = best(row, one_thread=True), best(row, dtype="float16")
    cells = [milliseconds(way["median"]) if way is not None else "-" for way in (one, half)]
    peers = [times(ratio(row, library)) for library in ("torch", "numba")]
    return f"{_start(row)}{cells[0]:>10}{cells[1]:>9}{peers[0]:>8}{peers[1]:>8}"


def _by_isa(shown: list[Row]) -> Iterator[str]:
    """Yield the first size of each operator, in milliseconds of each instruction set."""
    every = [row for row in shown if len({way["isa"] for way in row["ours"]}) > 1]
    if not every:
        return
    isas = list(dict.fromkeys(way["isa"] for way in every[0]["ours"]))
    ends = sorted({way["threads"] for way in every[0]["ours"]})
    ends = sorted({ends[0], ends[-1]})
    columns = [(isa, threads) for isa in isas for threads in ends]
    yield f"{'Instruction sets (milliseconds, float32)':<48}" + "".join(
        f"{f'{isa} t{threads}':>13}" for isa, threads in columns
    )
    for row in every:
        found = {(w["isa"], w["threads"]): w for w in row["ours"] if w["dtype"] == "float32"}
        cells = [milliseconds(found[column]["median"]) for column in columns]
        yield f"{row['name']:<48}" + "".join(f"{cell:>13}" for cell in cells)


def disturbed(results: Results) -> list[str]:
    """Return a warning if the machine had other work."""
    ways = [way for row in results["cases"] for way in row["ours"]]
    wide = [way for way in ways if spread(way) > _DISTURBED]
    if len(wide) <= len(ways) // 10:
        return []
    many = f"{len(wide)} of {len(ways)} times have a spread of more than {_DISTURBED:.0%}"
    return ["", f"DISTURBED: {many}. Other programs took time; close them and run it again."]


def advice(missing: list[str]) -> str:
    """Say how to get what is not installed."""
    names = " and ".join(missing)
    return (
        f"\n{names} not installed, so there is no comparison. "
        f"To install: {sys.executable} -m pip install {' '.join(missing)}"
    )
