# SPDX-License-Identifier: Apache-2.0
"""mmcv's functions of boxes on our operator, beside ours."""

import torch
from families import family_file
from installed_mmcv import theirs

import pymluops.torch as ours

BOXES, SCORES = family_file("nms", "torch_cases").arguments(torch.Generator().manual_seed(0), 60)


def test_nms() -> None:
    for threshold, offset, least, most in ((0.5, 0, 0, -1), (0.3, 1, 0.4, 6)):
        arguments = (BOXES, SCORES, threshold, offset, least, most)
        assert all(map(torch.equal, theirs.nms(*arguments), ours.nms(*arguments)))


def test_soft_nms() -> None:
    for method in ("linear", "gaussian", "naive"):
        arguments = (BOXES, SCORES, 0.3, 0.5, 0.01, method)
        assert all(map(torch.equal, theirs.soft_nms(*arguments), ours.soft_nms(*arguments)))


def test_batched_nms() -> None:
    arguments = (BOXES, SCORES, torch.arange(60) % 3, {"type": "nms", "iou_threshold": 0.5})
    assert torch.equal(theirs.batched_nms(*arguments)[1], ours.batched_nms(*arguments)[1])
