# SPDX-License-Identifier: Apache-2.0
"""The worst data that was found takes a bounded number of instructions for each element."""

import shutil

import pytest
import work


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind to count instructions")
def test_instructions_are_bounded():
    counted = work.count()
    assert [row for row in counted if max(row[1:3]) > row[3]] == []
    assert len(counted) == sum(1 for _ in work.cases())
