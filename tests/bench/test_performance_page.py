# SPDX-License-Identifier: Apache-2.0
"""The pages and the picture say what benchmarks/figures has."""

import importlib.util
import re
from pathlib import Path

import pytest
from bench_results import results

from pymluops._cases import small_calls
from pymluops.bench import _charts

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


def test_pages_and_picture_are_current(page):
    for path, text in page.files(page.kept()).items():
        assert path.read_text() == text, f"{path}: {COMMAND}"


def test_every_operator_is_in_the_figures(page):
    """Beside both peers, and with every instruction set of the machine."""
    found = page.kept()
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


def test_figures_by_hand(page, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    made = page.with_figures(path, page.of_operators(results()))
    assert made.startswith("before\n")
    assert made.endswith(f"{page.END}after\n")
    assert "old" not in made
    path.write_text(made)
    assert page.with_figures(path, page.of_operators(results())) == made
    row = re.search(r"\| thing_forward 64 .*", made)[0]
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    times = ["1.00", "0.990 to 1.01", "50%", "2.00", "-"]
    assert cells == [*times, "5.0x (5.00 ms)", "2.0x (2.00 ms)"]
    assert "| thing_forward | 64 50%, 8 50% |" in made
    machine = page.of_machine(results())
    assert "| wide | 1 | 2 |" in machine
    assert "| 1 MiB | 1 | 4 | 2 | 1 |" in machine
    assert "DISTURBED" not in machine
    noisy = results(spread=0.2)
    assert "DISTURBED: 2 of 4 times" in page.of_machine(noisy)
    assert "DISTURBED by other programs" in _charts.speed(noisy)
    assert "DISTURBED" not in _charts.speed(results())
    with pytest.raises(ValueError, match="there are no figures of "):
        page.files(results())
    path.write_text("a page without the mark")
    with pytest.raises(ValueError, match="has no line"):
        page.with_figures(path, "")
