# SPDX-License-Identifier: Apache-2.0
"""Memory that operators work in is bounded by their tensors: what docs/operators states.

Each case is a process of its own: how far its address space grows during one call, tensors not
counted, on one thread.
"""

import pytest
from families import family_files
from interpreter import Outcome, run_each

MIB = 1 << 20

PROGRAM = """
import numpy as np
import pymluops as p

def size(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) << 10

def rois_of(count, h, w, side):
    random = np.random.default_rng(5)
    x, y = random.uniform(0, max(w - side, 1), count), random.uniform(0, max(h - side, 1), count)
    return np.stack([0 * x, x, y, x + side, y + side], 1).astype(np.float32)

def boxes_of(h, w):
    return np.tile(np.array([0, 0, w - 1, h - 1], np.float32), (1, h * w, 1))

def ones(*shape):
    return np.ones(shape, np.float32)

with p.threads(1):
    {small}
    given = {given}
    before = size("VmSize")
    call(given)
    print(sum(a.nbytes for a in given), size("VmPeak") - before)
"""


CASES = {
    name: case
    for _, module in family_files("process_cases")
    for name, case in module.SCRATCH.items()
}


def program(setup: str, given: str, _: int) -> str:
    """A program that says the bytes of a call's tensors, and by how many the process grows."""
    lines = setup.strip().replace("\n", "\n    ")
    return PROGRAM.replace("{small}", lines).replace("{given}", given)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return run_each({name: program(*case) for name, case in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_memory_is_bounded_by_the_tensors(name, outcomes):
    outcome = outcomes[name]
    assert outcome.status == 0, outcome.stderr
    tensors, grown = map(int, outcome.stdout.split())
    times = CASES[name][2]
    # What is the same for every size: code that is loaded, 1 MiB for each thread and for lists.
    assert grown <= times * tensors + 8 * MIB, f"{grown / MIB:.1f} MiB for {tensors / MIB:.1f}"
