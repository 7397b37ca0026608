# SPDX-License-Identifier: Apache-2.0
"""`pymluops bench`: what it measures, what it shows, what it refuses."""

import json
import re

import numpy as np
import pytest
from bench_results import results

import pymluops
from pymluops import __main__ as cli
from pymluops._cases import small_calls
from pymluops.bench import _limits, _peers, _report, _run
from pymluops.bench._call import Call, Library
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
    assert len(quick) < 0.6 * len(steps)
    assert {step.case.operator for step in quick if not step.beside} == {
        step.case.operator for step in steps if not step.beside
    }
    assert {step.case.api for step in quick} == {step.case.api for step in steps}


def test_plan_of_a_larger_machine(monkeypatch):
    """More threads are measured with the best instruction set; peers have as many as all."""
    monkeypatch.setattr(_limits, "thread_counts", lambda: [1, 2, 4, 6])
    best, *others = pymluops.supported_isas()
    step = next(step for step in _run.plan(_run.chosen([]), quick=False) if step.beside)
    threads = {isa: {way.threads for way in step.ways if way.isa == isa} for isa in (best, *others)}
    assert threads == {best: {1, 2, 4, 6}} | {isa: {1, 6} for isa in others}
    asked = []
    monkeypatch.setattr(_run, "measure", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(_run, "_agreeing", lambda *given: asked.append(given[3]) or ())
    case = small_case()
    ways = [_run.Way(best, count) for count in (1, 6, 2)]
    with pytest.raises(ZeroDivisionError):
        _run._measured(_run.Step(case, ways, beside=True), {}, ["torch"], _run.QUICK)
    assert asked == [6]


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


def test_threads_that_spin_are_waited_for(monkeypatch):
    """A sample of `b`, then a wait, then one of `a`."""
    monkeypatch.setattr("pymluops.bench._timing._OTHER_BYTES", 1 << 10)
    order = []
    monkeypatch.setattr("time.sleep", lambda _: order.append("-"))
    calls = {name: (lambda name=name: order.append(name)) for name in "ab"}
    measure(calls, Effort(rounds=2, batch=0), spinning={"b"})
    assert "".join(order) == "aabb" + "aabb-" + "bb-aa"


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


def test_nothing_but_numpy_is_needed(short, capsys, monkeypatch):
    """Without torch and numba, what is missing is said, and how to install it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    names = [case.name for case in CASES if case.group == "networks"]
    size = min(names, key=lambda name: next(c.read for c in CASES if c.name == name))
    assert cli.main(["bench", "--only", size]) == 0
    shown = capsys.readouterr().out
    assert size in shown
    assert "torch and numba not installed" in shown
    assert "-m pip install torch numba" in shown


def test_interrupted(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(_run, "run", interrupted)
    assert cli.main(["bench"]) == 130
    assert capsys.readouterr().err == "pymluops: interrupted\n"


def test_beside_peers(short, monkeypatch):
    """A peer whose result differs, or that fails, is left out by name; the others are timed."""
    case = small_case()

    def wrong(problem):
        return (lambda: None), lambda _: [array + 1e-3 for array in expected]

    def failing(problem):
        raise RuntimeError("it broke")

    def right(problem):
        return (lambda: None), lambda _: expected

    peers = [
        _peers.Peer(make.__name__, make, 0, "torch")
        for make in (wrong, failing, right, lambda _: None)
    ]
    arguments = case.make(np.dtype(np.float32))
    with Library().handle("", 1) as handle:
        Call(Library(), handle, case.api, arguments)()
    expected = [array.copy() for array in case.results(arguments)]
    monkeypatch.setattr(_peers, "of_operator", lambda *_: peers)
    monkeypatch.setattr(_peers, "set_threads", lambda *_: None)
    monkeypatch.setattr(type(case), "make", None, raising=False)
    object.__setattr__(case, "make", lambda dtype: arguments)
    limits = _limits.measure([1], lambda _: None)
    step = _run.Step(case, [_run.Way(pymluops.supported_isas()[0], 1)], beside=True)
    row = _run._measured(step, limits, ["torch"], _run.QUICK)
    assert [peer["how"] for peer in row["peers"]] == ["right"]
    differs, failed = row["left out"]
    assert re.fullmatch(r"torch, wrong: its result differs by \d\.\de-\d\d", differs)
    assert failed == "torch, failing: RuntimeError: it broke"


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


def test_times_have_three_digits_and_no_exponent():
    times = [1.2345e-6, 0.05, 0.9994, 0.9996, 1.27]
    shown = ["0.00123", "50.0", "999", "1000", "1270"]
    assert [_report.milliseconds(time) for time in times] == shown


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
