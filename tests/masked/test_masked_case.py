# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of masked im2col and col2im: indices, and no indices."""

import numpy as np
import pytest
from case_files import captured, run

import pymluops
from pymluops._gen_case import call
from pymluops._gen_case.operators import operators
from pymluops._gen_case.tensors import tensors_of


def test_integers_are_read_back(tmp_path):
    h, w = np.int32([2**31 - 1, -(2**31), 0]), np.int32([1, 0, -1])
    feature = np.ones((1, 1, 2, 2), np.float32)
    numbers = {"kernel_h": 2, "kernel_w": 1, "pad_h": -3, "pad_w": 7}
    (read,) = captured(tmp_path, lambda: pymluops.masked_im2col_forward(feature, h, w, **numbers))
    inputs, _ = tensors_of(read)
    assert [one.values().tolist() for one in inputs[1:]] == [h.tolist(), w.tolist()]
    assert call.numbers_of(read, operators()["masked_im2col_forward"]) == numbers


@pytest.mark.parametrize("mode", [1, 2])
def test_tensors_without_elements(mode, tmp_path, capsys):
    col, none = np.zeros((3, 0), np.float32), np.zeros(0, np.int32)

    def make():
        pymluops.masked_col2im_forward(col, none, none, height=2, width=2)

    (read,) = captured(tmp_path, make, mode)
    assert [one.values().shape for one in tensors_of(read)[0]] == [(3, 0), (0,), (0,)]
    assert run(capsys, read.path)[0] == 0
