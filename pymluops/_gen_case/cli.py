# SPDX-License-Identifier: Apache-2.0
"""``pymluops case``: its arguments. What it does is imported when it is wanted."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pymluops._gen_case.errors import CaseError

_RUN = """\
Run test cases of MLU-OPS here, and judge their results by the outputs that they store and by the
NumPy reference. The exit status is 0 if all of them passed, 1 if one did not, 2 if there is nothing
to run. Cases of operators that are not here are listed, and are no failures."""
_NEW = """\
Print a new case of an operator. Letters of the shapes (N, H, W, C ...) and parameters of the
operator are set by NAME=VALUE; `pymluops case new OP --list` shows them."""


def add(commands: Any) -> None:
    """Add the command to those of ``pymluops``."""
    case = commands.add_parser("case", help="run, make and show MLU-OPS test cases")
    actions = case.add_subparsers(required=True, metavar="action")

    run = actions.add_parser("run", help="run cases, and judge their results", description=_RUN)
    run.add_argument("paths", nargs="+", type=Path, metavar="FILE|DIR")
    run.add_argument("--junit-xml", type=Path, metavar="FILE", help="write a report for CI")
    run.add_argument(
        "--no-reference", action="store_true", help="compare with stored outputs alone"
    )
    run.set_defaults(run=_run)

    new = actions.add_parser("new", help="print a new case", description=_NEW)
    new.add_argument(
        "operator",
        metavar="OP",
        help="its name in C, in small letters: thing_forward for mluOpThingForward",
    )
    new.add_argument("--shape", nargs="+", default=[], metavar="NAME=VALUE")
    new.add_argument("--dtype", choices=("float", "half"), default="float")
    new.add_argument("--seed", type=int, default=23)
    new.add_argument("--list", action="store_true", help="show what --shape takes")
    new.add_argument("-o", "--output", type=Path, help="a file: .prototxt, or .pb for binary")
    new.set_defaults(run=_new)

    show = actions.add_parser("show", help="print what a case says, and draw it")
    show.add_argument("path", type=Path, metavar="FILE")
    show.add_argument("--picture", type=Path, metavar="FILE.png", help="draw it, where that helps")
    show.set_defaults(run=_show)


def _guarded(action: Callable[[], int], path: Path | None = None) -> int:
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

    return _guarded(action)


def _new(options: argparse.Namespace) -> int:
    def action() -> int:
        from pymluops._gen_case import new

        if options.list:
            return new.explain(options.operator)
        return new.make(
            options.operator, options.shape, options.dtype, options.seed, options.output
        )

    return _guarded(action)


def _show(options: argparse.Namespace) -> int:
    def action() -> int:
        from pymluops._gen_case.show import show

        return show(options.path, options.picture)

    return _guarded(action, options.path)
