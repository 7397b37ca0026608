# SPDX-License-Identifier: Apache-2.0
"""Programs in an interpreter of their own."""

import os
import subprocess
import sys
import textwrap

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
