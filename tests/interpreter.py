# SPDX-License-Identifier: Apache-2.0
"""Programs in an interpreter of their own."""

import os
import subprocess
import sys
import textwrap


def run_python(code: str, **environment: str) -> tuple[str, str]:
    """Run a program in a fresh interpreter; return what it wrote to stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
