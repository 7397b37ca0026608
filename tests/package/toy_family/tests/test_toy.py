# SPDX-License-Identifier: Apache-2.0
"""Toy from Python: NumPy and PyTorch."""

import numpy as np
import pytest
import torch

import pymluops
import pymluops.torch


def test_numpy():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(pymluops.toy(x, factor=2), 2 * x)
    with pytest.raises(pymluops.BadParamError, match="x: 1 dim given"):
        pymluops.toy([1.0], factor=2)


def test_torch():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(pymluops.torch.toy(x, 2.0), 2 * x)
    assert torch.equal(torch.compile(pymluops.torch.toy, backend="aot_eager")(x, 2.0), 2 * x)
