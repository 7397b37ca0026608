# SPDX-License-Identifier: Apache-2.0
"""Calls of deformable convolution: a small one of each operator, and some to compare."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pymluops._cases import SmallCall, Trial, normal, values
from pymluops._tensor import Array

_NUMBERS = {
    "pad": 1,
    "stride": 1,
    "dilation": 1,
    "deformable_group": 2,
    "conv_group": 2,
    "im2col_step": 1,
}


def _small_offset() -> Array:
    """Return moves by less than a pixel, that float16 holds exactly."""
    return ((np.arange(2 * 5 * 6 * 16) % 13 - 6) / 8).reshape(2, 5, 6, 16).astype(np.float32)


SMALL = (
    SmallCall(
        "deform_conv_forward",
        "mluOpDCNForward",
        "arithmetic",
        {
            "input": values(2, 4, 5, 4),
            "offset": _small_offset(),
            "filter": values(6, 2, 2, 2),
            "mask": values(2, 5, 6, 8),
            "bias": values(6),
        },
        _NUMBERS,
    ),
    SmallCall(
        "deform_conv_backward_data",
        "mluOpDCNBackwardData",
        "arithmetic",
        {
            "input": values(2, 4, 5, 4),
            "offset": _small_offset(),
            "filter": values(6, 2, 2, 2),
            "mask": values(2, 5, 6, 8),
            "grad_output": values(2, 5, 6, 6),
        },
        _NUMBERS,
    ),
    SmallCall(
        "deform_conv_backward_weight",
        "mluOpDCNBackwardWeight",
        "arithmetic",
        {
            "input": values(2, 4, 5, 4),
            "offset": _small_offset(),
            "mask": values(2, 5, 6, 8),
            "grad_output": values(2, 5, 6, 6),
        },
        {"kernel_size": 2, **_NUMBERS},
    ),
)


def trials(rng: np.random.Generator, dtype: np.dtype[Any]) -> Iterator[Trial]:
    """Yield calls to compare: plain and modulated, sizes that no vector divides, groups."""
    x, taps = normal(rng, dtype, 2, 13, 17, 42), 9
    numbers: dict[str, Any] = {"pad": 1, "stride": (1, 2)}
    for groups, modulated, variant in ((1, False, "plain"), (3, True, "modulated, groups")):
        offset = 2 * normal(rng, dtype, 2, 13, 9, groups * taps * 2)
        mask = normal(rng, dtype, 2, 13, 9, groups * taps) if modulated else None
        weights = normal(rng, dtype, 27, 3, 3, 42 // groups)
        bias, dy = normal(rng, dtype, 27), normal(rng, dtype, 2, 13, 9, 27)
        settings = {**numbers, "deformable_group": groups, "conv_group": groups}
        scale = {} if mask is None else {"mask": mask}
        yield Trial(
            "deform_conv_forward",
            (x, offset, weights),
            {"bias": bias, **scale, **settings},
            variant,
        )
        settings["grad_output"] = dy
        yield Trial(
            "deform_conv_backward_data", (x, offset, weights), {**scale, **settings}, variant
        )
        settings["kernel_size"] = 3
        yield Trial("deform_conv_backward_weight", (x, offset), {**scale, **settings}, variant)
