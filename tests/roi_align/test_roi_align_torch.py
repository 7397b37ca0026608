# SPDX-License-Identifier: Apache-2.0
"""RoIAlign in PyTorch: numbers known beforehand, empty tensors, errors, modules."""

import copy
import pickle
import re

import numpy as np
import pytest
import torch
from torch_case import assert_empty_gives_zeros, assert_signature, zeros

import pymluops
import pymluops.torch as ours

EXAMPLE = torch.tensor([[[[1.0, 2, 4, 8], [3, 5, 7, 9], [2, 0, 6, 1]]]])
BOXES = torch.tensor([[0.0, 0, 0, 4, 2], [0, -2, -2, 1, 1]])
ROI = torch.tensor([[0.0, 0, 0, 1, 1]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("mode", "pooled", "gradient"),
    [
        ("avg", [2.75, 7, 0, 0.53125], [[4.75, 1.25, 2, 2], [1, 1, 2, 2], [0, 0, 0, 0]]),
        ("max", [5, 9, 0, 1.125], [[7, 1, 0, 0], [0, 4, 0, 8], [0, 0, 0, 0]]),
    ],
)
def test_the_example_of_the_contract(mode, pooled, gradient, dtype):
    x = EXAMPLE.to(dtype, copy=True).requires_grad_()
    result = ours.roi_align(x, BOXES.to(dtype), (1, 2), 1.0, 2, mode)
    result.backward(torch.tensor([4.0, 8] * 2, dtype=dtype).view(2, 1, 1, 2))
    assert result.flatten().tolist() == pooled
    assert x.grad[0, 0].tolist() == gradient


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_places_of_maxima_are_not_rounded(dtype):
    """A sample at 0.3 between two pixels: 16 bits would not give their gradients so exactly."""
    x = torch.tensor([[[[1.0, 5, 2, 0]]]], dtype=dtype, requires_grad=True)
    rois = torch.tensor([[0, 0.5, 0.5, 3.1, 0.5]])  # samples at 0.65 and 1.95
    ours.roi_align(x, rois, 1, 1.0, 2, "max").backward(torch.ones(1, 1, 1, 1, dtype=dtype))
    exact = torch.tensor([0.35, 0.65, 0, 0])
    wide = x.detach().float().requires_grad_()
    ours.roi_align(wide, rois, 1, 1.0, 2, "max").backward(torch.ones(1, 1, 1, 1))
    assert torch.allclose(wide.grad[0, 0, 0], exact, atol=1e-6)
    assert torch.equal(x.grad, wide.grad.to(dtype))


def test_empty_tensors():
    def call(x, rois):
        return ours.roi_align(x, rois, 2)

    assert_empty_gives_zeros(call, [(1, 3, 4, 4), (0, 5)], (0, 3, 2, 2))
    assert_empty_gives_zeros(call, [(1, 0, 4, 4), (2, 5)], (2, 0, 2, 2))
    with pytest.raises(ValueError, match=r"input has shape \(1, 3, 0, 4\), expected pixels"):
        call(zeros(1, 3, 0, 4), zeros(2, 5))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), zeros(2, 4), 2),
            ValueError,
            (
                "roi_align: rois has shape (2, 4), expected (2, 5) = "
                "(R, 5), rows of (image, x1, y1, x2, y2)"
            ),
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, (2, 2, 2)),
            ValueError,
            "roi_align: output_size is (2, 2, 2), expected an int or a pair of ints",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, (2.0, 2)),  # type: ignore[arg-type]
            ValueError,
            "roi_align: output_size is (2.0, 2), expected an int or a pair of ints",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, 0),
            ValueError,
            "roi_align: output_size is (0, 0), expected 1 or more",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, 2, pool_mode="mean"),
            ValueError,
            "roi_align: pool_mode is 'mean', expected 'avg' or 'max'",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI + 1, 2),
            pymluops.BadParamError,
            "rois: row 0: image index is 1",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, 2, aligned="no"),
            TypeError,
            "roi_align: aligned is 'no', expected a bool",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, 2, 1.0, 200, "max"),
            pymluops.NotSupportedError,
            "sampling_ratio is 200",
        ),
        (
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI, 2, 1.0, 2**40),
            ValueError,
            "too large for C",
        ),
        (  # nothing is allocated first, the places of maxima neither
            lambda: ours.roi_align(zeros(1, 3, 4, 4), ROI.expand(2**41, 5), 9, pool_mode="max"),
            pymluops.NotSupportedError,
            "2**31 elements or more",
        ),
    ],
)
def test_errors_name_the_argument(call, kind, text):
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_the_constructor_takes_what_mmcv_takes():
    assert_signature(
        ours.RoIAlign,
        "output_size, spatial_scale=1.0, sampling_ratio=0, pool_mode='avg', aligned=True, "
        "use_torchvision=False",
    )


def test_the_module_describes_and_copies_itself():
    module = ours.RoIAlign(7, 0.25, 2)
    text = (
        "RoIAlign(output_size=(7, 7), spatial_scale=0.25, sampling_ratio=2, pool_mode='avg', "
        "aligned=True)"
    )
    assert repr(module) == text
    assert repr(copy.deepcopy(module)) == text
    assert repr(pickle.loads(pickle.dumps(module))) == text


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_contiguous_tensors_have_the_same_bits(mode: str) -> None:
    x = torch.randn(2, 20, 9, 8, requires_grad=True)
    last = x.detach().to(memory_format=torch.channels_last).requires_grad_()
    rois = torch.rand(10, 5).mul(8)
    rois[:, 0] = torch.arange(10) % 2
    result = ours.roi_align(x, rois, (2, 3), 0.5, 2, mode)
    whole = ours.roi_align(last, rois, (2, 3), 0.5, 2, mode)
    assert result.is_contiguous()
    assert torch.equal(result, whole)
    result.square().sum().backward()
    whole.square().sum().backward()
    assert torch.equal(x.grad, last.grad)


def test_a_subnormal_scale_where_torch_flushes() -> None:
    """The first call makes the descriptor that both have: Python itself would flush the scale."""
    x, rois = EXAMPLE.permute(0, 2, 3, 1).numpy(), torch.tensor([[0, 0, 0, 2e38, 2e38]]).numpy()
    settings = {"pooled": 1, "spatial_scale": 1e-38}
    expected = pymluops.roi_align_forward(x, rois, **settings)
    torch.set_flush_denormal(True)
    try:
        found = pymluops.roi_align_forward(x, rois, **settings)
    finally:
        torch.set_flush_denormal(False)
    assert expected.item() == pytest.approx(2.75, abs=1e-5)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_the_input_may_change_before_the_backward(mode: str) -> None:
    """As in mmcv and torchvision: its values are not needed any more."""
    x = EXAMPLE.clone().requires_grad_()
    (expected,) = torch.autograd.grad(ours.roi_align(x, BOXES, 2, pool_mode=mode).sum(), x)
    features = x + 0
    result = ours.roi_align(features, BOXES, 2, pool_mode=mode)
    features.zero_()
    result.sum().backward()
    assert torch.equal(x.grad, expected)


def test_numbers_of_numpy() -> None:
    expected = ours.roi_align(EXAMPLE, BOXES, 2)
    assert torch.equal(ours.roi_align(EXAMPLE, BOXES, np.int64(2)), expected)
    assert torch.equal(ours.roi_align(EXAMPLE, BOXES, (np.int32(2), 2)), expected)


def test_more_samples_than_float64_takes() -> None:
    """Only float64 keeps every sample that lies on the map."""
    rois = torch.tensor([[0.0, 0, 0, 4, 4]], dtype=torch.float64)
    with pytest.raises(pymluops.NotSupportedError, match="samples in a row"):
        ours.roi_align(EXAMPLE.double(), rois, 1, 1.0, 2**31 - 1)
    rois[:, 3:] = 5e9
    assert ours.roi_align(EXAMPLE.double(), rois, 1, 1.0, 2**30).isfinite().all()
