# SPDX-License-Identifier: Apache-2.0
"""The command ``pymluops bench``."""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from pymluops._command_line import output_file

_DESCRIPTION = """\
Measure what this machine can do (memory, multiply-adds), then how fast every operator is: at the
sizes of networks in float32 and float16, with one and with all threads and with each instruction
set, and from small to large. Where PyTorch and numba are installed, the same operators written in
them are timed in the same run; a result that differs from ours is not timed. Times are medians.
It takes about five minutes on two idle cores. Close other programs first.
"""


def add(commands: Any) -> None:
    """Add the command to a parser of commands."""
    bench = commands.add_parser(
        "bench",
        help="measure how fast every operator is on this machine",
        description=_DESCRIPTION,
    )
    bench.add_argument("--quick", action="store_true", help="less of everything, below a minute")
    bench.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="only the cases whose name contains NAME; may be given several times",
    )
    bench.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    bench.add_argument("--json", type=Path, metavar="FILE.json", help="write all figures there")
    bench.add_argument(
        "--html", type=Path, metavar="FILE.html", help="write one page with plots there"
    )
    bench.add_argument(
        "--compare",
        type=Path,
        metavar="OLD.json",
        help="say what is slower or faster than in figures written before by --json",
    )
    bench.set_defaults(run=_bench)


def _bench(options: argparse.Namespace) -> int:
    from pymluops.bench import _run

    try:
        for path, suffix in ((options.json, ".json"), (options.html, ".html")):
            if path is not None:
                output_file(path, suffix)
        old = None if options.compare is None else read(options.compare)
    except (OSError, ValueError) as error:
        print(f"pymluops bench: {error}", file=sys.stderr)
        return 2
    cases = _run.chosen(options.only)
    if options.list or not cases:
        if not cases:
            wanted = ", ".join(options.only)
            print(f"pymluops bench: no name contains {wanted}. The names are:", file=sys.stderr)
        for case in cases or _run.chosen([]):
            print(case.name, file=sys.stdout if cases else sys.stderr)
        return 0 if cases else 2
    return _measure(options, cases, old)


def _measure(options: argparse.Namespace, cases: Any, old: dict[str, Any] | None) -> int:
    from pymluops.bench import _compare, _page, _peers, _report, _run

    missing = _peers.missing()
    libraries = [name for name in _peers.LIBRARIES if name not in missing]
    if options.quick and "numba" in libraries:
        libraries.remove("numba")  # compiling takes longer than all the rest
    steps = _run.plan(cases, quick=options.quick)
    with closing(_report.Progress(len(steps))) as progress:
        results = _run.run(steps, quick=options.quick, tick=progress.tick, libraries=libraries)
    print(_report.table(results))
    if missing:
        print(_report.advice(missing))
    if old is not None:
        print(_compare.comparison(old, results))
    for path, write in ((options.json, dumps), (options.html, _page.page)):
        if path is not None:
            path.write_text(write(results), encoding="utf-8")
            print(f"written: {path.resolve()}")
    return 0


def dumps(results: dict[str, Any]) -> str:
    """Return results as JSON, numbers to four digits."""
    return json.dumps(_rounded(results), indent=1) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(of_key) for key, of_key in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def read(path: Path) -> dict[str, Any]:
    """Return the results in a file, or raise ValueError if it has none."""
    from pymluops.bench import _run

    try:
        found = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != _run.FORMAT or "cases" not in found:
        raise ValueError(f"{path} was not written by this version of pymluops bench --json")
    return found
