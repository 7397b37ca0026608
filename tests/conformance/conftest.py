# SPDX-License-Identifier: Apache-2.0
"""Options of the conformance suite, the library under test, and the Markdown report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import cffi
import pytest

HERE = Path(__file__).resolve().parent


def pytest_addoption(parser):
    group = parser.getgroup("conformance")
    group.addoption("--mluop-library", help="the shared library to test (default: pymluops' own)")
    group.addoption("--cnrt-library", help="its runtime (default: itself, or libcnrt.so beside it)")
    group.addoption("--conformance-report", help="write a Markdown table of the results there")


def pytest_configure(config):
    """A library that cannot be loaded is one mistake, not one for each call."""
    for option in ("mluop_library", "cnrt_library"):
        chosen = config.getoption(option, default=None)
        if chosen:
            try:
                cffi.FFI().dlopen(str(Path(chosen).resolve()))
            except OSError as error:
                raise pytest.UsageError(f"--{option.replace('_', '-')}: {error}") from None


def installed_library() -> Path:
    """Return the library inside the installed Python package."""
    import pymluops  # not needed to test another library

    return pymluops.library_path()


@pytest.fixture(scope="session")
def library(request):
    from mluop_library import Library

    chosen = request.config.getoption("mluop_library", default=None)
    runtime = request.config.getoption("cnrt_library", default=None)
    library = Library(
        Path(chosen).resolve() if chosen else installed_library(),
        Path(runtime).resolve() if runtime else None,
    )
    yield library
    library.close()


def pytest_terminal_summary(terminalreporter, config):
    path = config.getoption("conformance_report", default=None)
    if path is None:
        return
    prefix = "" if config.rootpath == HERE else HERE.relative_to(config.rootpath).as_posix()
    results: dict[str, Counter] = {}
    failures = []
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if not report.nodeid.startswith(prefix):
                continue
            case = report.nodeid.partition("[")[2].removesuffix("]")
            function = case.partition(":")[0] or "the suite itself"
            results.setdefault(function, Counter())[outcome] += 1
            if report.failed:
                failures.append(f"- `{case}`")
    Path(path).write_text(markdown(results, failures))


def markdown(results: dict[str, Counter], failures: list[str]) -> str:
    lines = ["| Function | Cases | Passed | Failed | Skipped |", "|---|---|---|---|---|"]
    total: Counter = Counter()
    for function in sorted(results):
        lines.append(row(function, results[function]))
        total += results[function]
    lines.append(row("**all**", total))
    if failures:
        lines += ["", "Failed:", "", *failures]
    return "\n".join(lines) + "\n"


def row(name: str, count: Counter) -> str:
    failed = count["failed"] + count["error"]
    return f"| {name} | {count.total()} | {count['passed']} | {failed} | {count['skipped']} |"
