# SPDX-License-Identifier: Apache-2.0
"""The command ``pymluops``, also ``python -m pymluops``."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pymluops import _config
from pymluops._command_line import seed
from pymluops._gen_case import cli
from pymluops.bench import _cli as bench
from pymluops.errors import MluOpError


def _info(_: argparse.Namespace) -> int:
    _config.show_config()
    return 0


def _selftest(options: argparse.Namespace) -> int:
    from pymluops._selftest import run

    return run(options.seed)


def _demo(options: argparse.Namespace) -> int:
    from pymluops.demo import run

    try:
        return run(options.output)
    except OSError as error:
        print(f"pymluops demo: {error}", file=sys.stderr)
        return 1


def _print_config(options: argparse.Namespace) -> int:
    wanted = [answer() for name, answer in _ANSWERS.items() if getattr(options, name)]
    if not wanted:
        flags = ", ".join(f"--{name}" for name in _ANSWERS)
        print(f"pymluops config: nothing asked for, expected some of {flags}", file=sys.stderr)
        return 2
    print(" ".join(str(answer) for answer in wanted))
    return 0


_ANSWERS = {
    "cflags": _config.cflags,
    "libs": _config.libs,
    "includedir": _config.include_path,
    "libdir": _config.lib_dir,
    "cmakedir": _config.cmake_dir,
    "pkgconfigdir": _config.pkgconfig_dir,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pymluops", description="The MLU-OPS vision operators on CPUs."
    )
    parser.add_argument("--version", action="version", version=f"pymluops {_config.version}")
    commands = parser.add_subparsers(required=True, metavar="command")

    info = commands.add_parser(
        "info",
        help="print versions, instruction set, threads and paths",
        description="Print versions, instruction set, threads and paths. Send this with every "
        "report of a problem.",
    )
    info.set_defaults(run=_info)

    selftest = commands.add_parser(
        "selftest",
        help="compare every operator with its NumPy reference on this machine",
        description="Compare every operator with its NumPy reference, with each instruction set of "
        "this machine. The exit status is 1 if one fails.",
    )
    selftest.add_argument(
        "--seed", type=seed, default=0, help="seed of the random inputs (default 0)"
    )
    selftest.set_defaults(run=_selftest)

    demo = commands.add_parser(
        "demo",
        help="run every operator on a small image and draw what it does",
        description="Run every operator on a small image, print times and errors, and draw one "
        "picture of the results.",
    )
    demo.add_argument(
        "output",
        nargs="?",
        type=Path,
        default=Path("pymluops-demo.png"),
        help="the picture to write (default pymluops-demo.png)",
    )
    demo.set_defaults(run=_demo)

    bench.add(commands)
    cli.add(commands)

    config = commands.add_parser("config", help="print what a C program needs to be built")
    for name, answer in _ANSWERS.items():
        purpose = (answer.__doc__ or "").split("\n")[0].removeprefix("Return ").rstrip(".")
        purpose = purpose.replace("``", "")
        config.add_argument(f"--{name}", action="store_true", help=purpose)
    config.set_defaults(run=_print_config)
    for command in commands.choices.values():
        command.set_defaults(parser=command)  # whose usage an error shows
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status = int(options.run(options))
        if sys.stdout is not None:  # None: whoever started the program has closed it
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("pymluops: interrupted", file=sys.stderr)
        return 130  # as shells have it
    except MluOpError as error:  # such as a wrong value of MLUOP_CPU_ISA
        print(f"pymluops: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # whoever reads has seen enough
            print(f"pymluops: {error}", file=sys.stderr)
        if sys.stdout is not None:  # or Python would try to write the rest at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
