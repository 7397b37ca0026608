# SPDX-License-Identifier: Apache-2.0
"""`pymluops bench`: what it measures, what it shows, what it refuses."""

import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

import pymluops
from pymluops import __main__ as cli
from pymluops._cases import small_calls
from pymluops.bench import _charts, _cli, _compare, _limits, _page, _peers, _report, _run
from pymluops.bench._case import all_cases
from pymluops.bench._timing import Effort, measure

CASES = all_cases()


@pytest.fixture
def short(monkeypatch):
    """Measurements that take no time: what they find is not looked at."""
    monkeypatch.setattr(_limits, "SIZES", (64 << 10, 256 << 10))
    monkeypatch.setattr(_limits, "_ROUNDS", 1)
    monkeypatch.setattr(_limits, "_SECONDS", 1e-5)
    monkeypatch.setattr("pymluops.bench._timing._OTHER_BYTES", 1 << 10)
    for name in ("FULL", "QUICK"):
        monkeypatch.setattr(_run, name, Effort(rounds=2, batch=0, column=1))


def small_case(kind="arithmetic"):
    """The smallest case of an operator of a kind with a peer in PyTorch."""
    names = {call.name for call in small_calls().values() if call.kind == kind}
    known = [case for case in CASES if case.group == "sizes" and case.operator in names]
    return min(known, key=lambda case: case.read + case.written)


def figures(median, spread=0.01, **more):
    return {"median": median, "low": median * (1 - spread), "high": median * (1 + spread), **more}


def results(median=1e-3, spread=0.01):
    """The results of two cases, as they are in a file."""
    way = {"isa": "wide", "threads": 2, "dtype": "float32", "roofline": 0.5, "samples": 7}
    one = {**way, "threads": 1}
    peers = [
        {"library": "torch", "how": "slow", **figures(8e-3)},
        {"library": "torch", "how": "fast", **figures(5e-3)},
        {"library": "numba", "how": "loops", **figures(2e-3)},
    ]
    first = {"name": "thing_forward/64", "group": "networks", "read": 8, "written": 8, "flops": 32}
    first |= {"ours": [figures(2e-3, **one), figures(median, spread, **way)], "peers": peers}
    second = {**first, "name": "thing_forward/8", "group": "sizes"}
    memory = {"bytes": 1 << 20, "read": 4e9, "copy": 2e9, "fill": 1e9}
    return {
        "format": 1,
        "quick": False,
        "machine": {"processor": "P", "threads": "2", "instruction sets": "wide narrow"},
        "limits": {
            "fma": {"wide": {"1": 1e9, "2": 2e9}, "narrow": {"1": 5e8, "2": 1e9}},
            "bandwidth": [
                {**memory, "threads": 1},
                {**memory, "threads": 2},
                {**memory, "threads": 2, "bytes": 4 << 20, "read": 2e9},
            ],
        },
        "cases": [{**first, "left out": []}, second],
    }


# ------------------------------------------------------------------------------- what is measured


def test_every_operator_is_measured():
    """At a size of a network, and from small to large."""
    shown = _run.chosen([])
    apis = {case.api for case in shown if case.group == "networks"}
    assert apis == {call.c_function for call in small_calls().values()}
    sizes = {case.operator for case in shown if case.group == "sizes"}
    assert sizes == {call.name for call in small_calls().values()}
    assert len({case.name for case in shown}) == len(shown)


def test_cases_say_the_least_work():
    for case in CASES:
        assert case.read > 0, case.name
        assert case.written > 0, case.name


def test_plan():
    steps = _run.plan(_run.chosen([]), quick=False)
    first = {}
    for step in steps:
        if step.case.group == "networks":
            first.setdefault(step.case.api, step)
    isas = set(pymluops.supported_isas())
    counts = set(_limits.thread_counts())
    for step in first.values():
        assert {way.isa for way in step.ways} == isas
        assert {way.threads for way in step.ways} == counts
        assert {way.dtype for way in step.ways} == {d.name for d in step.case.dtypes}
        assert step.beside
    quick = _run.plan(_run.chosen([]), quick=True)
    assert len(quick) < len(steps)
    assert {step.case.api for step in quick} == {step.case.api for step in steps}


def test_limits(short):
    said = []
    found = _limits.measure([1, 2], said.append)
    assert list(found["fma"]) == list(pymluops.supported_isas())
    assert all(rate > 0 for rates in found["fma"].values() for rate in rates.values())
    sizes = [(row["bytes"], row["threads"]) for row in found["bandwidth"]]
    assert sizes == [(size, n) for size in _limits.SIZES for n in (1, 2)]
    for row in found["bandwidth"]:
        assert min(row["read"], row["copy"], row["fill"]) > 0
    assert any("multiply-adds" in text for text in said)


def test_what_the_loops_do():
    """They write what they say, and no more; an instruction set that is not there does nothing."""
    memory = _limits._memory(8 << 10)[: 2 * 1024]
    for isa in pymluops.supported_isas():
        name = isa.encode()
        for kind, expected in ((1, 7), (2, 1), (3, 1), (4, 7), (5, 7)):
            memory[:] = 7
            memory[512:1024] = 5 if kind in (4, 5) else 7
            pointer = pymluops.capi.ffi.cast("float *", memory.ctypes.data)
            done = pymluops.capi.lib.mluop_limit_of(name, kind, pointer, 1024, 3)
            assert done == 3 * 4096
            assert np.all(memory[:1024] == expected)
            assert np.all(memory[1024:] == 7)
    null = pymluops.capi.ffi.NULL
    assert pymluops.capi.lib.mluop_limit_of(b"none", 0, null, 256, 1) == -1


def test_roofline_by_hand():
    limits = results()["limits"]
    # 3 MB read and 1 MB written, at 1 MiB: half way between a copy (2 GB/s) and reading (4).
    assert _limits.bandwidth(limits, 2, 1 << 20, 0.75) == pytest.approx(3e9)
    # At 2 MiB half way between sizes, in the logarithm.
    assert _limits.bandwidth(limits, 2, 2 << 20, 1.0) == pytest.approx(3e9)
    assert _limits.roofline(limits, "wide", 1, 3 << 18, 1 << 18, 0) == pytest.approx(2**20 / 3e9)
    assert _limits.roofline(limits, "wide", 1, 1, 0, 1e9) == pytest.approx(1)
    assert _limits.roofline(limits, "wide", 2, 1, 0, 1e9) == pytest.approx(0.5)


def test_timing_takes_turns(monkeypatch):
    monkeypatch.setattr("pymluops.bench._timing._OTHER_BYTES", 1 << 10)
    order = []
    calls = {name: (lambda name=name: order.append(name)) for name in "ab"}
    found = measure(calls, Effort(rounds=3, batch=0))
    assert "".join(order) == "aabb" + "aabb" + "bbaa" + "aabb"
    assert found["a"].samples == 3
    assert found["a"].low <= found["a"].median <= found["a"].high


# ------------------------------------------------------------------------------------ the command


def test_quick(short, capsys, tmp_path):
    case = small_case()
    files = tmp_path / "found.json", tmp_path / "found.html"
    options = ["--quick", "--only", case.name, "--json", str(files[0]), "--html", str(files[1])]
    assert cli.main(["bench", *options]) == 0
    shown = capsys.readouterr()
    assert case.name in shown.out
    assert f"written: {files[0]}" in shown.out
    assert shown.err == ""  # no bar where nobody looks
    found = json.loads(files[0].read_text())
    assert [row["name"] for row in found["cases"]] == [case.name]
    (way,) = found["cases"][0]["ours"]
    assert way["low"] <= way["median"] <= way["high"]
    assert way["roofline"] > 0
    assert "<html" in files[1].read_text()
    assert cli.main(["bench", "--quick", "--only", case.name, "--compare", str(files[0])]) == 0
    assert "Compared with the older figures" in capsys.readouterr().out


def test_beside_peers(short, monkeypatch):
    """A peer whose result differs, or that fails, is left out by name; the others are timed."""
    case = small_case()

    def wrong(problem):
        return (lambda: None), lambda _: [np.zeros(1)]

    def failing(problem):
        raise RuntimeError("it broke")

    def right(problem):
        expected = [array.copy() for array in ours]
        return (lambda: None), lambda _: expected

    peers = [
        _peers.Peer(make.__name__, make, 0, "torch")
        for make in (wrong, failing, right, lambda _: None)
    ]
    arguments = case.make(np.dtype(np.float32))
    ours = case.results(arguments)
    monkeypatch.setattr(_peers, "of_operator", lambda *_: peers)
    monkeypatch.setattr(_peers, "set_threads", lambda *_: None)
    monkeypatch.setattr(type(case), "make", None, raising=False)
    object.__setattr__(case, "make", lambda dtype: arguments)
    limits = _limits.measure([1], lambda _: None)
    step = _run.Step(case, [_run.Way(pymluops.supported_isas()[0], 1)], beside=True)
    row = _run._measured(step, limits, ["torch"], _run.QUICK)
    assert [peer["how"] for peer in row["peers"]] == ["right"]
    assert row["left out"] == [
        "torch, wrong: its result differs by inf",
        "torch, failing: RuntimeError: it broke",
    ]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--json", "{tmp}/figures.txt"], "expected a name that ends with .json"),
        (["--html", "{tmp}/page.pdf"], "expected a name that ends with .html"),
        (["--html", "{tmp}/missing/page.html"], "missing is not a folder"),
        (["--json", "{tmp}/folder.json"], "folder.json is a folder"),
        (["--json", "/proc/figures.json"], "'/proc/figures.json'"),
        (["--compare", "{tmp}/missing.json"], "No such file"),
        (["--compare", "{tmp}/text.json"], "text.json is not JSON"),
        (["--compare", "{tmp}/other.json"], "was not written by this version"),
        (["--only", "frobnicate"], "no name contains frobnicate. The names are:"),
    ],
)
def test_wrong_options_are_refused_before_the_work(options, problem, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(_run, "run", None)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "text.json").write_text("no JSON")
    (tmp_path / "other.json").write_text('{"format": 0}')
    assert cli.main(["bench", *(option.format(tmp=tmp_path) for option in options)]) == 2
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.startswith("pymluops bench: ")
    assert shown.out == ""


def test_names_are_listed(capsys):
    assert cli.main(["bench", "--only", "frobnicate"]) == 2
    listed = capsys.readouterr().err.splitlines()[1:]
    assert cli.main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == listed
    assert listed == [c.name for c in CASES if c.group in ("networks", "sizes")]


def test_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["bench", "--help"])
    shown = capsys.readouterr().out
    for option in ("--quick", "--only", "--list", "--json", "--html", "--compare"):
        assert option in shown


# --------------------------------------------------------------------------------- what is shown


def test_table():
    shown = _report.table(results())
    (line,) = (line for line in shown.splitlines() if line.startswith("thing_forward/64"))
    # ms, spread, roofline, one thread, half, torch, numba
    assert line.split()[1:] == ["1.00", "2%", "50%", "2.00", "-", "5.0x", "2.0x"]
    assert "1.00 (1 thread), 2" not in shown
    assert "multiply-adds, wide       1 (1 thread), 2 (2 threads) GFLOP/s" in shown
    assert "DISTURBED" not in shown
    assert "DISTURBED: 2 of 4 times spread" in _report.table(results(spread=0.2))


def test_what_is_left_out_is_said():
    found = results()
    found["cases"][0]["left out"] = ["torch, slow: its result differs by 1.0e+00"]
    assert "left out beside thing_forward/64: torch, slow: its result" in _report.table(found)


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
        with _report.Progress(4) as progress:
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
