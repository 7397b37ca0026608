# SPDX-License-Identifier: Apache-2.0
"""What stands beside our times computes the same: each peer on a small case of its operator."""

import numpy as np
import pytest

from pymluops import _families
from pymluops._cases import small_calls
from pymluops.bench import _peers
from pymluops.bench._call import Call, Library
from pymluops.bench._case import all_cases


def smallest(operator):
    """The smallest shown case of an operator."""
    cases = [case for case in all_cases() if case.operator == operator and case.group == "sizes"]
    return min(cases, key=lambda case: case.read + case.written)


OPERATORS = sorted({call.name for call in small_calls().values()})


@pytest.mark.parametrize("operator", OPERATORS)
def test_peers_agree(operator):
    case = smallest(operator)
    arguments = case.make(np.dtype(np.float32))
    library = Library()
    with library.handle("", 1) as handle:
        call = Call(library, handle, case.api, arguments)
        call()
        call.close()
    ours = case.results(arguments)
    assert all(np.any(array) for array in ours if array.dtype.kind == "f")
    problem = _peers.problem(case, arguments)
    tried = set()
    for peer in _peers.of_operator(operator, ["torch"]):  # numba compiles for long: see below
        made = peer.make(problem)
        assert made is not None, peer.how
        run, as_ours = made
        for _ in range(2):  # results do not add up
            found = as_ours(run())
        assert _peers.difference(found, ours) <= peer.tolerance, peer.how
        wrong = [array + 1 if array.dtype.kind == "f" else array[:-1] for array in found]
        assert _peers.difference(wrong, ours) > peer.tolerance, "a wrong result is noticed"
        tried.add(peer.library)
    assert tried == {"torch"}


def test_every_family_has_peers():
    assert [family for family, _ in _families.parts("bench_torch")] == _families.names()


def test_difference():
    ones = np.ones((2, 2), np.float32)
    assert _peers.difference([ones], [ones]) == 0
    assert _peers.difference([ones], [2 * ones]) == pytest.approx(0.5)
    assert _peers.difference([ones[:1]], [ones]) == np.inf
    assert _peers.difference([ones * np.nan], [ones]) == np.inf
    assert _peers.difference([], [ones]) == np.inf
    whole = np.arange(4, dtype=np.int32)
    assert _peers.difference([whole], [np.array([0, 1, 2, 9], np.int32)]) == 0.25
    assert _peers.difference([ones, whole], [ones, whole[::-1]]) == 1


@pytest.mark.slow
def test_compiled_peers_agree():
    """The loops as numba compiles them, at a size of a network of every operator."""
    pytest.importorskip("numba")
    assert [family for family, _ in _families.parts("bench_numba")] == _families.names()
    from pymluops.bench import _run
    from pymluops.bench._timing import Effort

    limits = {
        "fma": {isa: {"1": 1e9} for isa in ("avx512", "avx2", "baseline", "neon")},
        "bandwidth": [{"bytes": 1, "threads": 1, "read": 1e9, "copy": 1e9, "fill": 1e9}],
    }
    steps = _run.plan(_run.chosen([]), quick=True)
    tried = set()
    for step in (step for step in steps if step.beside):
        row = _run._measured(step, limits, ["numba"], Effort(rounds=1, batch=0))
        assert row["left out"] == [], step.case.name
        if row["peers"]:
            tried.add(step.case.operator)
    assert tried == set(OPERATORS)
