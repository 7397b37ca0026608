# SPDX-License-Identifier: Apache-2.0
"""Running many cases: what is printed, and the report for CI."""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import pymluops
from pymluops._gen_case import call, judge
from pymluops._gen_case.case import find, load
from pymluops._gen_case.errors import CaseError
from pymluops.errors import MluOpError

_BAR = 30


@dataclass
class Outcome:
    """How one file did."""

    path: Path
    word: str
    """PASS, FAIL, ERROR or LACKS."""
    operator: str = ""
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What is wrong: why it failed, or why it could not be run."""

    def __str__(self) -> str:
        took = f"  {self.seconds * 1e3:.3f} ms" if self.word in ("PASS", "FAIL") else ""
        head = f"{self.word:<6} {self.operator:<26} {self.path}{took}"
        return "\n".join([head, *(f"       {line}" for line in self.lines)])


class _Bar:
    """How far a long run is, on a terminal."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.shown = total > 1 and sys.stderr.isatty()

    def _put(self, text: str) -> None:
        if self.shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def show(self, path: Path) -> None:
        filled = _BAR * self.done // self.total
        bar = "#" * filled + "." * (_BAR - filled)
        self._put(f"[{bar}] {self.done}/{self.total} {path.name[:60]}")

    def clear(self) -> None:
        self.done += 1
        self._put("")


def run(paths: list[Path], with_reference: bool, report: Path | None) -> int:
    """Run files, and the cases in folders; return the exit status."""
    files = list(find(paths))
    if not files:
        where = ", ".join(map(str, paths))
        print(f"pymluops case: no file ends with .prototxt or .pb: {where}", file=sys.stderr)
        return 2
    bar = _Bar(len(files))
    outcomes = []
    with pymluops.Handle() as handle:
        for path in files:
            bar.show(path)
            outcome = run_file(path, handle, with_reference)
            bar.clear()
            print(outcome, flush=True)
            outcomes.append(outcome)
    print(_summary(outcomes))
    if report is not None:
        _write_report(report, outcomes)
    return 1 if any(outcome.word in ("FAIL", "ERROR") for outcome in outcomes) else 0


def run_file(path: Path, handle: pymluops.Handle, with_reference: bool) -> Outcome:
    """Run one file; whatever is wrong with it becomes part of the outcome."""
    outcome = Outcome(path, "ERROR")
    try:
        _run_case(outcome, handle, with_reference)
    except CaseError as error:
        _failed(outcome, "ERROR", error.at(path))
    except MluOpError as error:
        _failed(outcome, "FAIL", f"refused: {error.message}")
    except OSError as error:
        _failed(outcome, "ERROR", f"{path}: {error.strerror or error}")
    except Exception as error:  # whatever one file does, the next one runs
        _failed(outcome, "ERROR", f"{path}: {type(error).__name__}: {error}")
    return outcome


def _failed(outcome: Outcome, word: str, problem: str) -> None:
    outcome.word = word
    outcome.problems.append(problem)
    outcome.lines.append(problem)


def _run_case(outcome: Outcome, handle: pymluops.Handle, with_reference: bool) -> None:
    case = load(outcome.path)
    outcome.operator = case.node.op_name
    for one in case.unknown:
        line = f"line {one.line}: " if one.line else ""
        outcome.lines.append(f"note: {line}{one.field} is unknown, and not looked at")
    if case.operator is None:
        outcome.word = "LACKS"
        outcome.lines.append("there is no such operator here")
        return
    result = call.run(case, handle)
    outcome.seconds = result.seconds
    compared = list(judge.compare(case, result, with_reference))
    for pair in compared:
        limits = ", ".join(f"{name.lower()} {limit:g}" for name, limit in pair.limits.items())
        outcome.lines.append(f"{pair.output} ({pair.baseline}): {pair.figures} (limits: {limits})")
        outcome.lines += [f"  FAILED: {failure}" for failure in pair.failures]
        outcome.problems += [f"{pair.output} ({pair.baseline}): {why}" for why in pair.failures]
    if not compared:
        outcome.lines.append("note: nothing to compare with: no reference, no stored outputs")
    outcome.word = "FAIL" if outcome.problems else "PASS"


def _summary(outcomes: list[Outcome]) -> str:
    def count(word: str) -> int:
        return sum(outcome.word == word for outcome in outcomes)

    lacking = sorted({outcome.operator for outcome in outcomes if outcome.word == "LACKS"})
    parts = [f"{count('PASS')} passed", f"{count('FAIL')} failed"]
    if count("ERROR"):
        parts.append(f"{count('ERROR')} could not be run")
    if lacking:
        parts.append(f"{count('LACKS')} of operators that are not here ({', '.join(lacking)})")
    cases = "1 case" if len(outcomes) == 1 else f"{len(outcomes)} cases"
    return f"{cases}: {', '.join(parts)}"


def _write_report(path: Path, outcomes: list[Outcome]) -> None:
    """Write what CI systems read: JUnit's XML."""
    suite = ET.Element(
        "testsuite",
        name="pymluops case run",
        tests=str(len(outcomes)),
        failures=str(sum(outcome.word == "FAIL" for outcome in outcomes)),
        errors=str(sum(outcome.word == "ERROR" for outcome in outcomes)),
        skipped=str(sum(outcome.word == "LACKS" for outcome in outcomes)),
        time=f"{sum(outcome.seconds for outcome in outcomes):.6f}",
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%S"),
    )
    kinds = {"FAIL": "failure", "ERROR": "error", "LACKS": "skipped"}
    for outcome in outcomes:
        one = ET.SubElement(
            suite,
            "testcase",
            classname=outcome.operator or "unknown",
            name=str(outcome.path),
            time=f"{outcome.seconds:.6f}",
        )
        if outcome.word in kinds:
            message = _printable("; ".join(outcome.problems or outcome.lines))
            ET.SubElement(one, kinds[outcome.word], message=message)
        ET.SubElement(one, "system-out").text = _printable("\n".join(outcome.lines))
    tree = ET.ElementTree(suite)
    ET.indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)


def _printable(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)
