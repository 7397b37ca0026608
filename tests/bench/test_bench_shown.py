# SPDX-License-Identifier: Apache-2.0
"""What `pymluops bench` shows: the table, progress, comparisons, plots, the page."""

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from contextlib import closing
from html.parser import HTMLParser

import pytest
from bench_results import results

from pymluops.bench import _charts, _cli, _compare, _page, _peers, _report

# --------------------------------------------------------------------------------- what is shown


def test_table():
    shown = _report.table(results())
    (line,) = (line for line in shown.splitlines() if line.startswith("thing_forward/64"))
    # ms, spread, roofline, one thread, half, torch, numba
    assert line.split()[1:] == ["1.00", "2%", "50%", "2.00", "-", "5.0x", "2.0x"]
    assert "1.00 (1 thread), 2" not in shown
    assert "multiply-adds, wide       1 (1 thread), 2 (2 threads) GFLOP/s" in shown
    assert "DISTURBED" not in shown
    assert "DISTURBED: 2 of 4 times have a spread of" in _report.table(results(spread=0.2))


def test_what_is_left_out_is_said():
    found = results()
    found["cases"][0]["left out"] = ["torch, slow: its result differs by 1.0e+00"]
    assert "not timed beside thing_forward/64: torch, slow: its result" in _report.table(found)


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert _peers.missing() == ["torch", "numba"]
    assert "-m pip install torch numba" in _report.advice(_peers.missing())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress(monkeypatch):
    for stream, parts in ((io.StringIO(), ()), (Terminal(), ("[####", "thing/2", "s left"))):
        monkeypatch.setattr(sys, "stderr", stream)
        with closing(_report.Progress(4)) as progress:
            for name in ("limits", "thing/1", "thing/2"):
                progress.tick(name)
        shown = stream.getvalue()
        assert all(part in shown for part in parts)
        assert bool(shown) == bool(parts)


@pytest.mark.parametrize(
    ("new", "spread", "word"),
    [
        (1e-3, 0.01, "as before"),
        (2e-3, 0.01, "slower"),
        (0.5e-3, 0.01, "faster"),
        (1.3e-3, 0.4, "as before"),
        (1.025e-3, 0.01, "as before"),
    ],
)
def test_compare(new, spread, word):
    old = results()
    now = results(new, spread)
    was, way = old["cases"][0]["ours"][1], now["cases"][0]["ours"][1]
    assert _compare.verdict(was, way) == word
    shown = _compare.comparison(old, now)
    changed = [line for line in shown.splitlines() if re.match(r"  (slower|faster) ", line)]
    assert len(changed) == (0 if word == "as before" else 2)
    assert all(word in line and "thing_forward" in line for line in changed)
    assert f"{4 - len(changed)} of 4 times are as before" in shown
    assert "WARNING" not in shown


def test_compare_warns_of_another_machine():
    other = results()
    other["machine"]["processor"], other["quick"] = "Q", True
    other["cases"] = other["cases"][:0]
    shown = _compare.comparison(other, results())
    assert "WARNING: processor was Q, is P" in shown
    assert "WARNING: one of them is --quick" in shown
    assert "no case is in both" in shown


# ------------------------------------------------------------------------------------- the plots


class Links(HTMLParser):
    found: list[str]

    def handle_starttag(self, tag, attributes):
        self.found += [value or "" for name, value in attributes if name in ("src", "href")]
        assert tag not in ("script", "link", "img", "iframe")


def test_the_page_needs_nothing_else():
    page = _page.page(results())
    links = Links()
    links.found = []
    links.feed(page)
    assert links.found == []
    assert "url(" not in page
    assert "@import" not in page
    assert {*re.findall(r"https?://[^'\" ]*", page)} == {"http://www.w3.org/2000/svg"}
    assert page.count("<svg") == 5


@pytest.mark.parametrize(
    "chart", [_charts.speed, _charts.speed_of_all, _charts.shares, _charts.roofline, _charts.sizes]
)
def test_charts_are_well_formed(chart):
    drawn = chart(results())
    root = ET.fromstring(drawn)
    width, height = float(root.get("width")), float(root.get("height"))
    texts = root.findall("{*}text")
    assert texts
    for text in texts:
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height
    assert chart(results()) == drawn


def test_bars_are_as_long_as_ratios():
    """On an axis with evenly spaced tens, 5 ends where log 5 is between 1 and 10."""
    root = ET.fromstring(_charts.speed(results()))
    bars = [
        (float(box.get("x")), float(box.get("width")), box.findtext("{*}title"))
        for box in root.findall("{*}rect")
        if box.find("{*}title") is not None
    ]
    ticks = {text.text: float(text.get("x")) for text in root.findall("{*}text")}
    ends = {title.split(" (")[0]: begin + width for begin, width, title in bars}
    assert ends["PyTorch operations"] == pytest.approx(ticks["5x"], abs=0.3)
    assert ends["loops compiled by numba"] == pytest.approx(ticks["2x"], abs=0.3)
    assert "5.0x" in ticks
    assert "2.0x" in ticks


def test_numbers_are_kept_to_four_digits():
    text = _cli.dumps({"a": [1.23456789, 7], "b": {"c": 0.000123456}})
    assert json.loads(text) == {"a": [1.235, 7], "b": {"c": 0.0001235}}
