# SPDX-License-Identifier: Apache-2.0
"""Writes the figures of `pymluops bench --json` into the documentation.

pymluops bench --json results.json
python benchmarks/performance_page.py results.json      keeps them in benchmarks/figures, too
python benchmarks/performance_page.py                   writes the pages of what is kept

docs/performance.md gets what the machine can do, the page of each family its figures, and
docs/images/speed.svg the first size of each operator.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from pymluops import _families
from pymluops.bench import _charts, _cli, _report
from pymluops.bench._report import Results, Row

ROOT = Path(__file__).resolve().parents[1]
FIGURES, PAGES = ROOT / "benchmarks/figures", ROOT / "docs/operators"
PAGE, CHART = ROOT / "docs/performance.md", ROOT / "docs/images/speed.svg"
BEGIN = "<!-- figures: python benchmarks/performance_page.py -->\n"
END = "<!-- end of figures -->\n"


def kept() -> Results:
    """The results in benchmarks/figures: the machine, and the cases of each family."""
    results = _cli.read(FIGURES / "machine.json")
    for path in sorted(FIGURES.glob("*.json")):
        if path.stem != "machine":
            results["cases"] += json.loads(path.read_text())
    return results


def of_families(results: Results) -> Iterator[tuple[str, Results]]:
    """Each family, and the results with its cases alone."""
    for family, bench in _families.parts("bench"):
        names = {case.name for case in bench.CASES}
        rows = [row for row in results["cases"] if row["name"] in names]
        if not rows:
            raise ValueError(
                f"there are no figures of {family}: all families are measured in one run"
            )
        yield family, {**results, "cases": rows}


def files(results: Results) -> dict[Path, str]:
    """What is written, by its path."""
    machine = {**results, "cases": []}
    found = {FIGURES / "machine.json": _cli.dumps(machine), CHART: _charts.speed(results)}
    found[PAGE] = with_figures(PAGE, of_machine(results))
    for family, part in of_families(results):
        found[FIGURES / f"{family}.json"] = _cli.dumps(part["cases"])
        page = PAGES / f"{family}.md"
        found[page] = with_figures(page, of_operators(part))
    return found


def with_figures(path: Path, tables: str) -> str:
    """The page with the tables as they are now."""
    head, _, rest = path.read_text().partition(BEGIN)
    if not rest:
        raise ValueError(f"{path} has no line {BEGIN.strip()}")
    return f"{head}{BEGIN}\n{tables}\n{END}{rest.partition(END)[2]}"


def of_machine(results: Results) -> str:
    """Where it was measured, and what is possible there."""
    machine = results["machine"]
    facts = ", ".join(f"{name} {value}" for name, value in machine.items() if name != "load before")
    noise = "".join(f"\n\n{line}" for line in _report.disturbed(results) if line)
    return f"Measured with: {facts}.{noise}\n{_limits(results)}"


def of_operators(results: Results) -> str:
    """What the operators of a family take."""
    return "\n".join([_networks(results), _instruction_sets(results), _sizes(results)]).lstrip("\n")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _limits(results: Results) -> str:
    rates = results["limits"]["fma"]
    counts = list(next(iter(rates.values())))
    head = ["GFLOP/s", *(f"{n} thread{'s' * (n != '1')}" for n in counts)]
    rows = [[isa, *(f"{of[n] / 1e9:.0f}" for n in counts)] for isa, of in rates.items()]
    wide = results["limits"]["bandwidth"]
    more = [
        [
            f"{row['bytes'] / 2**20:g} MiB",
            str(row["threads"]),
            *(f"{row[way] / 1e9:.0f}" for way in ("read", "copy", "fill")),
        ]
        for row in wide
    ]
    memory = _table(["Memory", "Threads", "Read, GB/s", "Copy, GB/s", "Fill, GB/s"], more)
    return _table(head, rows) + memory


def _spread(way: Row) -> str:
    low, high = (_report.milliseconds(way[name]) for name in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def _peer(row: Row, library: str) -> str:
    peer = _report.fastest_peer(row, library)
    ratio = _report.times(_report.ratio(row, library))
    return "-" if peer is None else f"{ratio} ({_report.milliseconds(peer['median'])} ms)"


def _networks(results: Results) -> str:
    rows = []
    for row in _charts.networks(results):
        way = _report.best(row)
        assert way is not None
        others = [_report.best(row, one_thread=True), _report.best(row, dtype="float16")]
        cells = ["-" if of is None else _report.milliseconds(of["median"]) for of in others]
        name = row["name"].replace("/", " ", 1)
        ms = _report.milliseconds(way["median"])
        shares = [name, ms, _spread(way), f"{way['roofline']:.0%}"]
        rows.append([*shares, *cells, _peer(row, "torch"), _peer(row, "numba")])
    head = ["Operator and size", "ms", "Quartiles", "Roofline", "1 thread, ms", "float16, ms"]
    return _table([*head, "PyTorch", "numba"], rows)


def _instruction_sets(results: Results) -> str:
    every = [r for r in _charts.networks(results) if len({w["isa"] for w in r["ours"]}) > 1]
    if not every:
        return ""
    isas = list(dict.fromkeys(way["isa"] for way in every[0]["ours"]))
    rows = []
    for row in every:
        most = max(way["threads"] for way in row["ours"])
        found = {(w["isa"], w["dtype"]): w for w in row["ours"] if w["threads"] == most}
        of = {key: _report.milliseconds(way["median"]) for key, way in found.items()}
        cells = [of.get((isa, d), "-") for d in ("float32", "float16") for isa in isas]
        rows.append([row["name"].replace("/", " ", 1), *cells])
    head = [f"{isa}, {dtype}" for dtype in ("float32", "float16") for isa in isas]
    return _table(["Milliseconds, all threads", *head], rows)


def _sizes(results: Results) -> str:
    of: dict[str, list[tuple[int, str]]] = {}
    for row in results["cases"]:
        way = _report.best(row)
        assert way is not None
        operator, _, size = row["name"].partition("/")
        text = f"{size} {way['roofline']:.0%}"
        of.setdefault(operator, []).append((row["read"] + row["written"], text))
    rows = [[name, ", ".join(text for _, text in sorted(sizes))] for name, sizes in of.items()]
    return _table(["Operator", "Share of the roofline, from small to large"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", nargs="?", type=Path)
    path = parser.parse_args().results
    FIGURES.mkdir(exist_ok=True)
    for name, text in files(kept() if path is None else _cli.read(path)).items():
        name.write_text(text)
        print(f"written: {name}")


if __name__ == "__main__":
    main()
