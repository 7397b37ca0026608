# SPDX-License-Identifier: Apache-2.0
"""Indices that another thread changes during calls: nothing outside the tensors is touched.

Every tensor ends at a page that nobody may touch, and each operator has a process of its own, in
which a second thread exchanges good indices for bad ones as fast as it can.
"""

from pathlib import Path

import pytest
from families import family_files
from interpreter import run_each

import pymluops

PROGRAM = """
import sys, threading, time
sys.path.insert(0, {tests!r})
import numpy as np
import pymluops as p
import guard

SECONDS = 0.1

def array(values, dtype=np.float32):
    return guard.ending(np.ascontiguousarray(values, dtype))

random = np.random.default_rng(3)

def floats(*shape):
    return array(random.standard_normal(shape))

{setup}

def change():
    while not done:
        for part in changing:
            part[1][:] = part[2]
            part[1][:] = part[0]

done = False
changing = [(target.copy(), target, bad) for target, bad in changing]
other = threading.Thread(target=change)
other.start()
counts = [0, 0]
try:
    end = time.monotonic() + SECONDS
    with p.threads(1):
        while time.monotonic() < end:
            for _ in range(20):
                try:
                    call()
                    counts[0] += 1
                except p.BadParamError:
                    counts[1] += 1
finally:
    done = True
    other.join()
print(*counts)
"""

CASES = {
    name: case
    for _, module in family_files("process_cases")
    for name, case in getattr(module, "RACES", {}).items()
}


# Each takes its time: the best instruction set is enough for every day.
ISAS = [
    pytest.param(isa, marks=[] if isa == pymluops.supported_isas()[0] else pytest.mark.slow)
    for isa in pymluops.supported_isas()
]


@pytest.fixture(scope="module", params=ISAS)
def outcomes(request):
    tests = str(Path(__file__).parents[1])
    programs = {name: PROGRAM.format(tests=tests, setup=case) for name, case in CASES.items()}
    return run_each(programs, MLUOP_CPU_ISA=request.param)


@pytest.mark.parametrize("name", CASES)
def test_changing_indices_touch_nothing_outside(name, outcomes):
    outcome = outcomes[name]
    assert outcome.status == 0, f"exit status {outcome.status}\n{outcome.stderr[-2000:]}"
    assert sum(map(int, outcome.stdout.split())) > 0
