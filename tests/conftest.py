# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: handles for each instruction set, seeded random numbers, a clean slate."""

import gc
import os
import random
import re
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import patient_threads  # noqa: F401
import pytest
from remembered import remember_references

import pymluops

remember_references()

ISAS = pymluops.supported_isas()
THREAD_COUNTS: tuple[int, ...] = (1, 2, 3, 8)
# Sanitizers make everything slow, and see no more when the same ranges are divided otherwise. What
# instruction sets have of their own is in the vector layer, whose C tests run on all of them.
BUILD = pymluops.capi.ffi.string(pymluops.capi.lib.mluOpCpuGetBuildInfo()).decode()
if "sanitizers" in BUILD:
    ISAS, THREAD_COUNTS = ISAS[:1], (1, 3)
# Every day the best that a CPU has; -m slow has the others, and so have the C tests every day.
OTHERS = ISAS[1:]


# Thousands of tests and torch are there until the end: Python need not look for garbage in them.
def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# What the caller's environment says must not decide whether tests pass.
@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the MLUOP_* variables of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith("MLUOP_"):
            monkeypatch.delenv(name)


@pytest.fixture(
    params=[pytest.param(isa, marks=[pytest.mark.slow] * (isa in OTHERS)) for isa in ISAS]
)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once for each instruction set of this machine; handles made in it use that one."""
    monkeypatch.setenv("MLUOP_CPU_ISA", request.param)
    return str(request.param)


@pytest.fixture
def handle(isa: str) -> Iterator[pymluops.Handle]:
    """Make a handle for each instruction set in turn."""
    with pymluops.Handle() as made:
        assert made.isa_name == isa
        yield made


@pytest.fixture
def near_and_past(
    isa: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[pymluops.Handle, pymluops.Handle]]:
    """Make two handles: for one every call fits the caches, for the other none does."""
    monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", str(2**63 - 1))
    with pymluops.Handle() as near:
        monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", "0")
        with pymluops.Handle() as past:
            yield near, past


@pytest.fixture
def for_each_thread_count(
    handle: pymluops.Handle,
) -> Callable[[Callable[[], object]], list[object]]:
    """Return a function that runs something with several thread counts of `handle`.

    The results come back in a list, that of one thread first.
    """

    def run(something: Callable[[], object]) -> list[object]:
        results = []
        for count in THREAD_COUNTS:
            handle.num_threads = count
            results.append(something())
        handle.num_threads = 0
        return results

    return run


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return the seed of this test: that of its name, or of PYMLUOPS_TEST_SEED.

    It is in the report of a test that fails. All instruction sets have the same: what a reference
    gives for one is remembered for the others.
    """
    given = os.environ.get("PYMLUOPS_TEST_SEED")
    name = "tests/" + request.node.nodeid.rpartition("/")[2]  # wherever the file stands
    name = re.sub(rf"\b(?:{'|'.join(ISAS)})\b", "isa", name)
    number = int(given) if given else zlib.crc32(name.encode())
    request.node.user_properties.append(("seed", number))
    random.seed(number)
    return number


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Return seeded random numbers."""
    return np.random.default_rng(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    for name, value in item.user_properties:
        if name == "seed" and report.failed:
            report.sections.append(("seed", f"PYMLUOPS_TEST_SEED={value}"))
    return report
