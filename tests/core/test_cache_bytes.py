# SPDX-License-Identifier: Apache-2.0
"""The size of the last-level cache: a setting for tests, which changes no bit of a result."""

import pytest
from python_calls import CALLS, as_tuple

import pymluops


def test_the_environment_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", "32M")
    with pytest.raises(pymluops.BadParamError, match='is "32M", expected a number of bytes'):
        pymluops.Handle()


@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_it(name: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for size in ("", "0", "9223372036854775807"):
        monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", size)
        with pymluops.Handle() as handle:
            results.append([y.tobytes() for y in as_tuple(CALLS[name](handle=handle))])
    assert results[0] == results[1] == results[2]
