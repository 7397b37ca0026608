# SPDX-License-Identifier: Apache-2.0
"""How calls are drawn. What holds of them is in test_nms_properties.py, as none is linear."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def candidates(draw):
    """Boxes of whole numbers, which meet a threshold exactly, or of any; no two equal scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, side = draw(st.sampled_from([1, 2, 3, 8, 30, 200])), draw(st.sampled_from([4, 30, 300]))
    boxes = rng.uniform(0, side, (n, 4)).astype(np.float32)
    if draw(st.booleans()):
        boxes = np.round(boxes)
    scores = (rng.permutation(n) + rng.uniform(0.1, 0.9, n)) / n
    return boxes, scores.astype(np.float32)


EXAMPLES = {}
