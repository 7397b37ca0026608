# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md and its picture say what docs/performance.json has."""

import importlib.util
import re
from pathlib import Path

import pytest
from bench_results import results

from pymluops._cases import small_calls
from pymluops.bench import _charts, _cli

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "run python benchmarks/performance_page.py"


@pytest.fixture(scope="module")
def page():
    """The script, as a module."""
    path = ROOT / "benchmarks/performance_page.py"
    spec = importlib.util.spec_from_file_location("performance_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_and_picture_are_current(page):
    found = _cli.read(page.FIGURES)
    written = page.PAGE.read_text()
    assert page.with_figures(written, found) == written, COMMAND
    assert page.CHART.read_text() == _charts.speed(found), COMMAND
    assert page.FIGURES.read_text() == _cli.dumps(found), COMMAND


def test_every_operator_is_in_the_figures(page):
    """Beside both peers, and with every instruction set of the machine."""
    found = _cli.read(page.FIGURES)
    assert not found["quick"]
    rows = [row for row in found["cases"] if row["group"] == "networks"]
    shown = {row["name"].partition("/")[0] for row in rows}
    assert shown == {call.name for call in small_calls().values()}
    isas = found["machine"]["instruction sets"].split()
    for name in shown:
        first = next(row for row in rows if row["name"].startswith(f"{name}/"))
        assert {peer["library"] for peer in first["peers"]} == {"torch", "numba"}
        assert {way["isa"] for way in first["ours"]} == set(isas)
        assert first["left out"] == []


def test_figures_by_hand(page, monkeypatch):
    text = f"before\n{page.BEGIN}old\n{page.END}after\n"
    made = page.with_figures(text, results())
    assert made.startswith("before\n")
    assert made.endswith(f"{page.END}after\n")
    assert "old" not in made
    assert page.with_figures(made, results()) == made
    row = re.search(r"\| thing_forward 64 .*", made)[0]
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    times = ["1.00", "0.990 to 1.01", "50%", "2.00", "-"]
    assert cells == [*times, "5.0x (5.00 ms)", "2.0x (2.00 ms)"]
    assert "| wide | 1 | 2 |" in made
    assert "| 1 MiB | 1 | 4 | 2 | 1 |" in made
    assert "| thing_forward | 64 50%, 8 50% |" in made
    assert "DISTURBED" not in made
    noisy = results(spread=0.2)
    assert "DISTURBED: 2 of 4 times" in page.with_figures(text, noisy)
    assert "DISTURBED by other programs" in _charts.speed(noisy)
    assert "DISTURBED" not in _charts.speed(results())
    with pytest.raises(ValueError, match="has no line"):
        page.with_figures("a page without the mark", results())
