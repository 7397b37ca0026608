# SPDX-License-Identifier: Apache-2.0
"""Random calls with up to three defects: status and blamed argument are those of the contract.

A few of them here; `python tests/differential/run.py --calls 1000000` makes as many as one likes.
"""

import pytest
from base_calls import bases
from families import family_file
from random_calls import Caller
from random_sets import Setter, setters

CALLS = 1000
BASES = list(bases())


@pytest.mark.parametrize("base", BASES, ids=[base.function for base in BASES])
def test_calls_are_refused_as_the_contract_says(base, seed):
    order = family_file(base.family, "check_order").ORDER[base.function]
    with Caller(base, order, seed) as caller:
        assert caller.run(CALLS) == []
        outcomes = {status for status, _ in caller.counts}
        assert {"BAD_PARAM", "SUCCESS, computed"} <= outcomes


@pytest.mark.parametrize(
    ("function", "kind", "base"), [pytest.param(*s, id=s[0]) for s in setters()]
)
def test_descriptors_are_set_as_the_contract_says(function, kind, base, seed):
    with Setter(function, kind, base, seed) as setter:
        assert setter.run(CALLS) == []
        assert {status for status, _ in setter.counts} == {"BAD_PARAM", "SUCCESS, computed"}
