# SPDX-License-Identifier: Apache-2.0
"""The arguments of ``pymluops case``. The code behind it is imported when it is needed."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pymluops._command_line import output_file, seed
from pymluops._gen_case.errors import CaseError

_RUN = """\
Run test cases of MLU-OPS. The results are compared with the outputs that are stored in the cases,
and with the NumPy reference. The exit status is 0 if all cases passed, 1 if one failed, and 2 if
there was nothing to run. Cases of operators that this library does not have are listed, and do not
count as failures."""
_NEW = """\
Print a new test case of an operator. Set the sizes (N, H, W, C ...) and the parameters of the
operator with --shape NAME=VALUE; `pymluops case new OP --list` shows all names."""


def add(commands: Any) -> None:
    """Add the command to those of ``pymluops``."""
    case = commands.add_parser(
        "case",
        help="run, make and show MLU-OPS test cases",
        description="Run, make and show MLU-OPS test cases. A test case is a file that contains "
        "one call of an operator: shapes, parameters and, optionally, values.",
    )
    actions = case.add_subparsers(required=True, metavar="action")

    run = actions.add_parser("run", help="run cases, and compare their results", description=_RUN)
    run.add_argument(
        "paths", nargs="+", type=Path, metavar="FILE|DIR", help="cases, and folders of cases"
    )
    run.add_argument("--junit-xml", type=Path, metavar="FILE.xml", help="write a report for CI")
    run.add_argument(
        "--no-reference", action="store_true", help="compare with the stored outputs only"
    )
    run.set_defaults(run=_run)

    new = actions.add_parser("new", help="print a new case", description=_NEW)
    new.add_argument(
        "operator",
        metavar="OP",
        help="its C name in lower case: thing_forward for mluOpThingForward",
    )
    new.add_argument(
        "--shape", nargs="+", default=[], metavar="NAME=VALUE", help="sizes and parameters"
    )
    new.add_argument(
        "--dtype", choices=("float", "half"), default="float", help="data type (default float)"
    )
    new.add_argument("--seed", type=seed, default=23, help="seed of the random inputs (default 23)")
    new.add_argument("--list", action="store_true", help="show the names for --shape")
    new.add_argument(
        "-o", "--output", type=Path, help="the file to write: .prototxt (text) or .pb (binary)"
    )
    new.set_defaults(run=_new)

    show = actions.add_parser("show", help="print a case, and draw it")
    show.add_argument("path", type=Path, metavar="FILE", help="the case")
    show.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.png",
        help="draw it, if there is a picture for its operator",
    )
    show.set_defaults(run=_show)
    for action in actions.choices.values():
        action.set_defaults(parser=action)


def _guarded(
    action: Callable[[], int],
    path: Path | None = None,
    *,
    output: Path | None = None,
    suffixes: tuple[str, ...] = (),
) -> int:
    """Return the status of an action, or 1 and its problem; the output is judged before it."""
    try:
        if output is not None:
            output_file(output, *suffixes)
    except OSError as error:
        print(f"pymluops case: {error}", file=sys.stderr)
        return 1
    try:
        from pymluops._gen_case.schema import node_class

        node_class()
        return action()
    except CaseError as error:
        text = error.at(path) if path is not None else str(error)
        print(f"pymluops case: {text}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    def action() -> int:
        from pymluops._gen_case.runner import run

        return run(options.paths, not options.no_reference, options.junit_xml)

    return _guarded(action, output=options.junit_xml, suffixes=(".xml",))


def _new(options: argparse.Namespace) -> int:
    def action() -> int:
        from pymluops._gen_case import new

        if options.list:
            return new.explain(options.operator)
        return new.make(
            options.operator, options.shape, options.dtype, options.seed, options.output
        )

    return _guarded(action, output=options.output, suffixes=(".prototxt", ".pb"))


def _show(options: argparse.Namespace) -> int:
    def action() -> int:
        from pymluops._gen_case.show import show

        return show(options.path, options.picture)

    return _guarded(action, options.path, output=options.picture, suffixes=(".png",))
