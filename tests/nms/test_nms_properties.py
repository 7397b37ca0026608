# SPDX-License-Identifier: Apache-2.0
"""What holds of a selection whatever the boxes are."""

import numpy as np
import pytest
from declared import COUNTS, check, handles
from families import family_file
from hypothesis import strategies as st

import pymluops

THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
candidates = family_file("nms", "property_cases").candidates
METHODS = ("hard", "linear", "gaussian")


def select(drawn, threshold, handle, method="hard"):
    return pymluops.nms(
        *drawn,
        iou_threshold=threshold,
        score_threshold=1e-3,
        method=method,
        return_scores=True,
        handle=handle,
    )


@COUNTS
def test_what_is_kept_is_kept_again(count):
    def test(drawn, threshold, handle):
        kept, _ = select(drawn, threshold, handle)
        again, _ = select([array[kept] for array in drawn], threshold, handle)
        assert np.array_equal(again, np.arange(len(kept)))

    check(count, test, candidates(), THRESHOLDS, handles())


@COUNTS
def test_what_is_removed_could_as_well_be_missing(count):
    def test(drawn, threshold, handle):
        kept, _ = select(drawn, threshold, handle)
        others = np.setdiff1d(np.arange(len(drawn[0])), kept)
        left = np.setdiff1d(np.arange(len(drawn[0])), others[::2])
        found, _ = select([array[left] for array in drawn], threshold, handle)
        assert np.array_equal(left[found], kept)

    check(count, test, candidates(), THRESHOLDS, handles())


@pytest.mark.parametrize("method", METHODS)
@COUNTS
def test_order_of_the_input_does_not_matter(count, method):
    def test(drawn, threshold, handle, seed):
        places = np.random.default_rng(seed).permutation(len(drawn[0]))
        kept, scores = select(drawn, threshold, handle, method)
        found, found_scores = select([a[places] for a in drawn], threshold, handle, method)
        assert np.array_equal(places[found], kept)
        assert found_scores.tobytes() == scores.tobytes()

    check(count, test, candidates(), THRESHOLDS, handles(), st.integers(0, 2**32 - 1))
