# SPDX-License-Identifier: Apache-2.0
"""Programs in an interpreter of their own."""

import json
import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

# The tests have said so already.
_OLDER_LIBRARY = "ignore:the library of pymluops was built:RuntimeWarning"


def run_python(code: str, **environment: str) -> tuple[str, str]:
    """Run a program in a fresh interpreter; return what it wrote to stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", _OLDER_LIBRARY, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


class Outcome(NamedTuple):
    """How a process ended: its exit status, or the number of a signal below 0; what it wrote."""

    status: int
    stdout: str
    stderr: str


FORKS = """
import json, os, sys, tempfile, traceback
import numpy, pymluops

def text(file):
    file.seek(0)
    return file.read().decode(errors="replace")

outcomes = {}
for name, program in json.load(sys.stdin).items():
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            status = 1
            try:
                exec(program, {"__name__": "__main__"})
                status = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        outcomes[name] = status, text(out), text(err)
print(json.dumps(outcomes))
"""


def run_each(programs: dict[str, str], **environment: str) -> dict[str, Outcome]:
    """Run each program in a process of its own: copies of one that has imported the package."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        input=json.dumps(programs),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: Outcome(*outcome) for name, outcome in json.loads(done.stdout).items()}


# Calls with large arrays, in address space for what the process has already and 1 GiB more.
LIMIT = """
    import resource, numpy as np, pymluops
    {imports}
    pymluops.default_handle()
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, resource.RLIM_INFINITY))
    large = np.broadcast_to(np.float32(1), (1, 20000, 20000, 4))  # 6 GiB if it were copied
    small = np.ones((1, 1, 1, 1), np.float32)
    for call in {calls}:
        try:
            eval(call)
        except pymluops.MluOpError as error:
            print(type(error).__name__, error)
"""


def said_without_memory(*calls: str, imports: str = "") -> list[str]:
    """Return the errors of calls in a process that has no memory to copy large arrays."""
    return run_python(LIMIT.format(imports=imports, calls=calls))[0].splitlines()
