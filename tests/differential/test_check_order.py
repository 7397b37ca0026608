# SPDX-License-Identifier: Apache-2.0
"""Random calls with up to three defects: status and blamed argument are those of the contract.

A few of them here; `python tests/differential/run.py --calls 1000000` makes as many as one likes.
"""

import pytest
from base_calls import bases
from families import family_file
from random_calls import Caller

CALLS = 1000
BASES = list(bases())


@pytest.mark.parametrize("base", BASES, ids=[base.function for base in BASES])
def test_calls_are_refused_as_the_contract_says(base, seed):
    order = family_file(base.family, "check_order").ORDER[base.function]
    with Caller(base, order, seed) as caller:
        assert caller.run(CALLS) == []
        outcomes = {status for status, _ in caller.counts}
        assert {"BAD_PARAM", "SUCCESS, computed"} <= outcomes
