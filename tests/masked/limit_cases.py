# SPDX-License-Identifier: Apache-2.0
"""Calls at the limits of sizes: see tests/limits."""

import numpy as np
from declared import Along, Axis, Example

ROW = Along(0)


def large(rng):
    def positions(count):
        chosen = rng.permutation(40 * 50)[:count].astype(np.int32)
        return {"mask_h_idx": chosen // np.int32(50), "mask_w_idx": chosen % np.int32(50)}

    feature = rng.standard_normal((1, 3, 40, 50), np.float32)
    for count in (7, 900):
        arrays = {"feature": feature, **positions(count)}
        taps = Along(0, width=9)
        im2col = Example("masked_im2col_forward", arrays, {"kernel_size": 3, "padding": 1})
        yield im2col, Axis({"feature": Along(1)}, (taps,))
        arrays = {"col": rng.standard_normal((3, count), np.float32), **positions(count)}
        col2im = Example("masked_col2im_forward", arrays, {"height": 40, "width": 50})
        yield col2im, Axis({"col": ROW}, (Along(1),))
    # The library copies positions: with fewer channels there would be more of them.
    arrays = {"feature": rng.standard_normal((1, 64, 40, 50), np.float32), **positions(100)}
    im2col = Example("masked_im2col_forward", arrays, {"kernel_size": 1})
    yield im2col, Axis({"mask_h_idx": ROW, "mask_w_idx": ROW}, (Along(1),))


def work(rng):
    """Positions in order, and any."""
    places = np.sort(rng.permutation(256)[:128]).astype(np.int32)
    anywhere = rng.permutation(places)
    worst = {"mask_h_idx": anywhere // 16, "mask_w_idx": anywhere % 16}
    arrays = {"mask_h_idx": places // np.int32(16), "mask_w_idx": places % np.int32(16)}
    feature = {"feature": rng.standard_normal((1, 32, 16, 16), np.float32), **arrays}
    yield Example("masked_im2col_forward", feature, {"kernel_size": 3, "padding": 1}), worst, 16
    col = {"col": rng.standard_normal((32, 128), np.float32), **arrays}
    yield Example("masked_col2im_forward", col, {"height": 16, "width": 16}), worst, 16
