# SPDX-License-Identifier: Apache-2.0
"""The size of the last-level cache: a setting for tests, which changes no bit of a result."""

import numpy as np
import pytest
from python_calls import CALLS, as_tuple

import pymluops


def test_the_environment_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", "32M")
    with pytest.raises(pymluops.BadParamError, match='is "32M", expected a number of bytes'):
        pymluops.Handle()


@pytest.mark.parametrize("name", CALLS)
def test_results_do_not_depend_on_it(name: str, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for size in ("", "0", "9223372036854775807"):
        monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", size)
        with pymluops.Handle() as handle:
            results.append([y.tobytes() for y in as_tuple(CALLS[name](handle=handle))])
    assert results[0] == results[1] == results[2]


# Bins that touch few pixels of a map, about as many as there are, and most of them many times.
@pytest.mark.parametrize("rois", [2, 10, 60])
@pytest.mark.parametrize("channels", [16, 127, 128, 257])
def test_grad_offset_does_not_depend_on_it(
    rois: int,
    channels: int,
    rng: np.random.Generator,
    isa: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = rng.standard_normal((1, 30, 30, channels)).astype(np.float32)
    corners = rng.uniform(0, 20, (rois, 2))
    boxes = np.concatenate([np.zeros((rois, 1)), corners, corners + 8], 1).astype(np.float32)
    offset = rng.uniform(-1, 1, (rois, 2, 3, 3)).astype(np.float32)
    grad = rng.standard_normal((rois, 3, 3, channels)).astype(np.float32)
    results = []
    for size in ("0", "9223372036854775807"):
        monkeypatch.setenv("MLUOP_CPU_CACHE_BYTES", size)
        with pymluops.Handle() as handle:
            gradients = pymluops.deform_roi_pool_backward(
                *(grad, x, boxes, offset),
                pooled_height=3,
                pooled_width=3,
                spatial_scale=1.0,
                sampling_ratio=2,
                gamma=0.1,
                handle=handle,
            )
            results.append([g.tobytes() for g in gradients])
    assert results[0] == results[1]
