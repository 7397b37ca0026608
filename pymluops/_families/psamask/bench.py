# SPDX-License-Identifier: Apache-2.0
"""PSANet sizes, and a sweep of small ones."""

from typing import Any

import numpy as np

from pymluops._tensor import FLOAT
from pymluops.bench._case import NHWC, Arguments, Case, Tensor


def _case(direction: str, size: int, kind: int, batch: int, group: str) -> Case:
    mask = 2 * size - 1
    forward = direction == "forward"

    def make(dtype: np.dtype[Any]) -> Arguments:
        rng = np.random.default_rng(size)
        masks, spread = (batch, size, size, mask * mask), (batch, size, size, size * size)
        source, target = (masks, spread) if forward else (spread, masks)
        return {
            "psa_type": kind,
            "given": Tensor(rng.standard_normal(source, np.float32).astype(dtype), NHWC),
            "h_mask": mask,
            "w_mask": mask,
            "out": Tensor(np.zeros(target, dtype), NHWC, output=True),
        }

    used = 4 * batch * size**4
    name = ("collect", "distribute")[kind]
    return Case(
        f"psamask_{direction}/{size}-{name}" + f"-n{batch}" * (batch > 1),
        f"mluOpPsamask{direction.capitalize()}",
        make,
        {"collect": kind == 0, "size": size},
        read=used,
        written=used if forward else 4 * batch * size * size * mask * mask,
        dtypes=FLOAT,
        group=group,
    )


CASES = [
    _case(direction, size, kind, batch, group)
    for group, sizes in (
        ("networks", ((30, 2), (60, 1))),
        ("sizes", ((8, 1), (15, 1), (20, 1), (45, 1))),
        ("more", ((60, 2),)),
        ("sweep", ((1, 1), (2, 1), (3, 1), (5, 1), (13, 1), (21, 1), (34, 1))),
    )
    for size, batch in sizes
    for direction in ("forward", "backward")
    for kind in (0, 1)
]
