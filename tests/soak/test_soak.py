# SPDX-License-Identifier: Apache-2.0
"""A moment of the long run."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_a_moment() -> None:
    command = [sys.executable, Path(__file__).with_name("soak.py"), "--minutes", "0.01"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ({"memory": 99 << 20, "files": 1, "threads": 1}, "memory grew from 1 to 103809024"),
        ({"memory": 1, "files": 2, "threads": 1}, "files grew from 1 to 2"),
        ({"memory": 1, "files": 1, "threads": 8}, "threads grew from 1 to 8"),
    ],
)
def test_growth_is_noticed(after: dict[str, int], problem: str) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from soak import problems

    before = {"memory": 1, "files": 1, "threads": 1}
    found = {"wrong": [], "before": before, "after": after, "most threads": 7}
    assert problems(found) == [problem]
    assert problems(found | {"wrong": ["a"], "after": before}) == ["a"]
