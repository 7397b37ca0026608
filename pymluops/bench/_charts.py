# SPDX-License-Identifier: Apache-2.0
"""The plots of what `pymluops bench` has measured, as SVG."""

import math
from collections.abc import Callable, Sequence

from pymluops.bench._report import (
    Results,
    Row,
    best,
    disturbed,
    fastest_peer,
    milliseconds,
    ratio,
    times,
)
from pymluops.bench._svg import COLORS, FAINT, INK, LINE, NUMBA, OURS, TORCH, Drawing

_PEERS = {"torch": ("PyTorch operations", TORCH), "numba": ("loops compiled by numba", NUMBA)}
_LEFT, _RIGHT = 236, 70


def networks(results: Results) -> list[Row]:
    """Return the cases at the sizes of networks."""
    return [row for row in results["cases"] if row["group"] == "networks"]


def first_of_each(rows: Sequence[Row]) -> list[Row]:
    """Return the first size of each operator."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row["name"].partition("/")[0], row)
    return list(found.values())


def _how(results: Results) -> str:
    machine = results["machine"]
    threads = int(machine["threads"])
    isa = machine["instruction sets"].split()[0]
    noise = ", DISTURBED by other programs" if disturbed(results) else ""
    return f"float32, {threads} thread{'s' * (threads > 1)}, {isa}, {machine['processor']}{noise}"


def _log(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    """Return what maps numbers to places, evenly in the logarithm."""
    wide = math.log(high / low)
    return lambda value: begin + (end - begin) * math.log(max(value, low / 2) / low) / wide


def _decades(low: float, high: float) -> list[float]:
    return [10.0**k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def speed(results: Results) -> str:
    """Return bars: how many times as long each operator takes in PyTorch and in numba."""
    rows = [
        row
        for row in first_of_each(networks(results))
        if any(ratio(row, library) is not None for library in _PEERS)
    ]
    return _speed(
        rows, "How many times as fast as PyTorch operations and numba loops", _how(results)
    )


def speed_of_all(results: Results) -> str:
    """Return the same of every size of a network."""
    rows = [row for row in networks(results) if row.get("peers")]
    return _speed(rows, "How many times as fast as PyTorch and numba, at every size", _how(results))


def _speed(rows: Sequence[Row], title: str, how: str) -> str:
    step, top, width = 32, 92, 860
    draw = Drawing(width, top + step * len(rows) + 46, title)
    draw.text(20, 30, title, size=17, bold=True)
    draw.text(20, 50, how, color=FAINT)
    left = 20.0
    for name, color in _PEERS.values():
        draw.box(left, 61, 11, 11, color)
        draw.text(left + 17, 71, name, color=FAINT)
        left += 36 + 7 * len(name)
    found = [r for row in rows for library in _PEERS if (r := ratio(row, library)) is not None]
    most = max([10.0, *found]) * 1.05
    place = _log(min([1.0, *found]), most, _LEFT, width - _RIGHT)
    bottom = top + step * len(rows)
    for tick in (1, 2, 5, 10, 20, 50, 100, 1000, 10000, 100000):
        if tick <= most and (most < 300 or tick in (1, 10, 100, 1000, 10000, 100000)):
            strong = tick == 1
            draw.line(place(tick), top - 4, place(tick), bottom, INK if strong else LINE)
            draw.text(place(tick), bottom + 18, f"{tick}x", color=FAINT, size=11, anchor="middle")
    draw.text(width - 20, bottom + 38, "longer is better", color=FAINT, size=11, anchor="end")
    for number, row in enumerate(rows):
        _bars(draw, row, top + step * number, place)
    return draw.svg()


def _bars(draw: Drawing, row: Row, y: float, place: Callable[[float], float]) -> None:
    operator, _, size = row["name"].partition("/")
    draw.text(_LEFT - 10, y + 12, operator, size=12, anchor="end")
    draw.text(_LEFT - 10, y + 24, size, size=10, color=FAINT, anchor="end")
    for offset, (library, (name, color)) in zip((1, 14), _PEERS.items(), strict=True):
        value, peer, ours = ratio(row, library), fastest_peer(row, library), best(row)
        if value is None or peer is None or ours is None:
            draw.text(place(1) + 5, y + offset + 9, "-", size=10, color=FAINT)
            continue
        begin, end = sorted((place(1), place(value)))
        hint = f"{name} ({peer['how']}): {milliseconds(peer['median'])} ms"
        hint += f", pymluops: {milliseconds(ours['median'])} ms"
        draw.box(begin, y + offset, end - begin, 11, color, hint)
        draw.text(end + 5, y + offset + 9.5, times(value), size=11)


def shares(results: Results) -> str:
    """Return bars: the share of the roofline that each operator reaches."""
    rows, step, top, width = networks(results), 17, 72, 860
    draw = Drawing(width, top + step * len(rows) + 40, "Share of the roofline")
    draw.text(20, 30, "Share of the roofline", size=17, bold=True)
    draw.text(20, 50, f"{_how(results)}; 100 % is what the machine allows", color=FAINT)
    ways = [(row, way) for row in rows if (way := best(row)) is not None]
    most = max([1.0, *(float(way["roofline"]) for _, way in ways)])
    left = _LEFT + 90
    bottom = top + step * len(ways)

    def place(share: float) -> float:
        return left + (width - _RIGHT - left) * float(share) / most

    for tick in range(int(most * 4) + 1):
        draw.line(place(tick / 4), top - 4, place(tick / 4), bottom, INK if tick == 4 else LINE)
        label = f"{tick * 25} %"
        draw.text(place(tick / 4), bottom + 18, label, size=11, color=FAINT, anchor="middle")
    for number, (row, way) in enumerate(ways):
        y = top + step * number
        draw.text(left - 10, y + 10, row["name"], size=11, anchor="end")
        hint = f"{milliseconds(way['median'])} ms"
        draw.box(left, y + 1, place(way["roofline"]) - left, 11, OURS, hint)
        draw.text(place(way["roofline"]) + 5, y + 10.5, f"{way['roofline']:.0%}", size=11)
    return draw.svg()


def roofline(results: Results) -> str:
    """Return the classical plot: operations in a second against operations for a byte."""
    width, height, left, top, bottom = 860, 470, 70, 72, 410
    draw = Drawing(width, height, "Roofline")
    draw.text(20, 30, "Roofline", size=17, bold=True)
    draw.text(20, 50, f"{_how(results)}; operators that calculate", color=FAINT)
    shown = [(r, w) for r in networks(results) if r["flops"] and (w := best(r)) is not None]
    points = [
        (r["flops"] / (r["read"] + r["written"]), r["flops"] / w["median"] / 1e9, r)
        for r, w in shown
    ]
    limits = results["limits"]
    most = max(map(int, next(iter(limits["fma"].values()))))
    peak = next(iter(limits["fma"].values()))[str(most)] / 1e9
    roofs = [row for row in limits["bandwidth"] if row["threads"] == most]
    right = width - 190
    x = _log(min([0.1, *(p[0] for p in points)]) / 1.5, 3000, left, right)
    low = min([1.0, *(p[1] for p in points)]) / 1.5
    y = _log(low, peak * 2, bottom, top)
    for tick in _decades(0.1, 3000):
        draw.line(x(tick), top, x(tick), bottom)
        draw.text(x(tick), bottom + 18, f"{tick:g}", size=11, color=FAINT, anchor="middle")
    for tick in _decades(low, peak * 2):
        draw.line(left, y(tick), right, y(tick))
        draw.text(left - 8, y(tick) + 4, f"{tick:g}", size=11, color=FAINT, anchor="end")
    draw.text((left + right) / 2, bottom + 38, "operations for a byte", anchor="middle")
    draw.text(20, top - 6, "GFLOP/s", size=11, color=FAINT)
    for number, roof in enumerate((roofs[0], roofs[-1])):
        rate = roof["read"] / 1e9
        begin = max(low / rate, 0.05)
        corner = peak / rate
        draw.path([(x(begin), y(begin * rate)), (x(corner), y(peak)), (x(3000), y(peak))], INK, 1.5)
        label = f"{rate:.0f} GB/s ({roof['bytes'] / 2**20:g} MiB)"
        draw.text(x(corner) - 6, y(peak) - 8 - 14 * number, label, size=11, anchor="end")
    draw.text(right + 4, y(peak) + 4, f"{peak:.0f} GFLOP/s", size=11)
    families = list(dict.fromkeys(row["name"].partition("/")[0] for _, _, row in points))
    for at, rate, row in points:
        color = COLORS[families.index(row["name"].partition("/")[0]) % len(COLORS)]
        draw.dot(x(at), y(rate), color, f"{row['name']}: {rate:.0f} GFLOP/s")
    for number, name in enumerate(families):
        draw.dot(right + 8, top + 60 + 18 * number, COLORS[number % len(COLORS)])
        draw.text(right + 16, top + 64 + 18 * number, name, size=10)
    return draw.svg()


def sizes(results: Results) -> str:
    """Return small plots, one for each operator: the share of the roofline against the bytes."""
    of: dict[str, list[tuple[float, float, str]]] = {}
    for row in results["cases"]:
        way = best(row)
        if way is not None:
            point = (row["read"] + row["written"], way["roofline"], row["name"])
            of.setdefault(row["name"].partition("/")[0], []).append(point)
    across, wide, high, top = 4, 205, 154, 82
    down = -(-len(of) // across)
    draw = Drawing(40 + across * wide, top + down * high + 10, "From small to large")
    draw.text(20, 30, "From small to large", size=17, bold=True)
    note = "share of the roofline (0 to 100 %) against the bytes read and written"
    draw.text(20, 50, f"{_how(results)}; {note}", color=FAINT, size=11)
    x = _log(1e4, 1e9, 34, wide - 12)
    for number, (name, points) in enumerate(of.items()):
        x0, y0 = 20 + number % across * wide, top + number // across * high
        draw.text(x0 + 34, y0, name, size=10.5, bold=True)
        for share in (0, 0.5, 1):
            y = y0 + 112 - 90 * share
            draw.line(x0 + 34, y, x0 + wide - 12, y)
            draw.text(x0 + 30, y + 4, f"{share:.0%}", size=9, color=FAINT, anchor="end")
        for tick, label in ((1e4, "10 kB"), (1e6, "1 MB"), (1e8, "100 MB")):
            draw.text(x0 + x(tick), y0 + 126, label, size=9, color=FAINT, anchor="middle")
        places = [
            (x0 + x(b), y0 + 112 - 90 * min(s, 1.15), f"{n}: {s:.0%}") for b, s, n in sorted(points)
        ]
        draw.path([(a, b) for a, b, _ in places], OURS, 1.5)
        for a, b, hint in places:
            draw.dot(a, b, OURS, hint)
    return draw.svg()


def threads(results: Results) -> str:
    """Return bars: how many times as fast each operator is with more threads than one."""
    rows = list(first_of_each(networks(results)))
    counts = sorted({way["threads"] for row in rows for way in row["ours"]})[1:]
    step, top, width = 12 * max(1, len(counts)) + 8, 80, 860
    draw = Drawing(width, top + step * len(rows) + 36, "Threads")
    draw.text(20, 30, "Threads", size=17, bold=True)
    draw.text(20, 50, "times as fast as with one thread", color=FAINT)
    for number, count in enumerate(counts):
        draw.text(20 + 90 * number, 68, f"{count} threads", size=11, color=COLORS[number % 6])
    most = max([2, *map(int, counts)])

    def place(value: float) -> float:
        return _LEFT + (width - _RIGHT - _LEFT) * value / most

    bottom = top + step * len(rows)
    for tick in range(0, most + 1, max(1, most // 8)):
        draw.line(place(tick), top - 4, place(tick), bottom, INK if tick == 1 else LINE)
        draw.text(place(tick), bottom + 18, f"{tick}x", size=11, color=FAINT, anchor="middle")
    for number, row in enumerate(rows):
        one = best(row, one_thread=True)
        draw.text(_LEFT - 10, top + step * number + 12, row["name"].partition("/")[0], anchor="end")
        for k, count in enumerate(counts):
            found = [
                w
                for w in row["ours"]
                if w["threads"] == count
                and w["dtype"] == "float32"
                and w["isa"] == row["ours"][0]["isa"]
            ]
            if one is not None and found:
                gain = one["median"] / found[0]["median"]
                y = top + step * number + 12 * k + 2
                draw.box(_LEFT, y, place(min(gain, most)) - _LEFT, 10, COLORS[k % len(COLORS)])
                draw.text(place(min(gain, most)) + 5, y + 9, f"{gain:.1f}x", size=10)
    return draw.svg()
