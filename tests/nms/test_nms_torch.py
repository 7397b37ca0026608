# SPDX-License-Identifier: Apache-2.0
"""nms in PyTorch: values, and what torch asks of an operator."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from families import family_file
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch_case import Case

import pymluops
import pymluops.torch as ours
from pymluops.torch import mmcv_backend
from pymluops.torch._mmcv_ext import OPERATORS

cases = family_file("nms", "torch_cases")
ALL_CASES = pytest.mark.parametrize("case", cases.CASES, ids=str)


def given(seed: int = 0, n: int = 60) -> tuple[Tensor, Tensor]:
    made: tuple[Tensor, Tensor] = cases.arguments(torch.Generator().manual_seed(seed), n)
    return made


def same(one: tuple[Tensor, Tensor], two: tuple[Tensor, Tensor]) -> bool:
    return torch.equal(one[0], two[0]) and torch.equal(one[1], two[1])


@ALL_CASES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_values_match_the_reference(case: Case, dtype: torch.dtype) -> None:
    args = case.arguments(dtype)
    dets, inds = case.ours(*args)
    expected = case.reference(args[0].float(), args[1].float(), *args[2:])
    assert (dets.dtype, inds.dtype) == (dtype, torch.int64)
    assert torch.equal(inds, expected[1])
    assert torch.equal(dets.float(), expected[0])


@ALL_CASES
def test_float64(case: Case) -> None:
    args = case.arguments(torch.float64)
    dets, inds = case.ours(*args)
    expected = case.reference(*args)
    assert (dets.dtype, inds.dtype) == (torch.float64, torch.int64)
    assert torch.equal(inds, expected[1])
    assert torch.equal(dets, expected[0])
    name, operator_args = case.operator(*args)
    torch.library.opcheck(getattr(torch.ops.pymluops, name).default, operator_args)


def test_float64_decides_in_float64() -> None:
    """An IoU of half, and one that float32 takes for half."""
    boxes = torch.tensor([[0.0, 0, 2, 1], [0, 0, 1, 1]], dtype=torch.float64)
    scores = torch.tensor([1.0, 0.5], dtype=torch.float64)
    assert ours.nms(boxes, scores, 0.5)[1].tolist() == [0, 1]
    boxes[1, 2] += 1e-9
    assert ours.nms(boxes, scores, 0.5)[1].tolist() == [0]
    assert ours.nms(boxes.float(), scores.float(), 0.5)[1].tolist() == [0, 1]
    assert ours.nms(boxes, scores.float(), 0.5)[1].tolist() == [0]
    _, now = torch.ops.pymluops.nms(boxes, scores, None, 0.4, 0.0, 9, 0, 1, 0.5)
    assert now.dtype is torch.float64
    dets, inds = ours.soft_nms(boxes, scores, 0.4, min_score=1e-12)
    assert inds.tolist() == [0, 1]
    assert dets[1, 4] == 0.5 * (1 - (1 + 1e-9) / 2)
    inds = ours.soft_nms(boxes, scores, 0.6, min_score=0.5 * (1 + 1e-12), method="naive")[1]
    assert inds.tolist() == [0]


@ALL_CASES
def test_opcheck(case: Case) -> None:
    args = case.arguments()
    args[0].requires_grad_()
    name, operator_args = case.operator(*args)
    torch.library.opcheck(getattr(torch.ops.pymluops, name).default, operator_args)


@pytest.mark.parametrize("select", [ours.nms, ours.soft_nms])
def test_a_graph_for_no_boxes_keeps_none(select: Callable[..., tuple[Tensor, Tensor]]) -> None:
    """With a size that depends on data, Inductor does not compile what takes rows of no boxes."""
    with FakeTensorMode(shape_env=ShapeEnv()):
        dets, inds = select(torch.empty(0, 4), torch.empty(0), 0.5)
    assert all(isinstance(size, int) for size in (*dets.shape, *inds.shape))


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)
def test_compile_without_graph_breaks() -> None:
    compiled = torch.compile(ours.nms, fullgraph=True, backend="aot_eager")
    for n in (60, 20):
        assert same(compiled(*given(n, n), 0.5), ours.nms(*given(n, n), 0.5))


def test_what_is_taken_has_gradients() -> None:
    boxes, scores = (tensor.requires_grad_() for tensor in given())
    dets, inds = ours.nms(boxes, scores, 0.5)
    assert 0 < len(inds) < 60
    dets.sum().backward()
    expected = torch.zeros(60)
    expected[inds] = 1
    assert torch.equal(scores.grad, expected)
    assert torch.equal(boxes.grad, expected[:, None].expand(60, 4))


def test_autocast() -> None:
    boxes, scores = given()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert same(ours.nms(boxes, scores, 0.5), ours.nms(boxes, scores, 0.5))


def test_any_strides() -> None:
    boxes, scores = given()
    strided = boxes.t().contiguous().t(), torch.stack([scores, scores], 1)[:, 0]
    assert same(ours.nms(*strided, 0.5), ours.nms(boxes, scores, 0.5))


def test_numpy_gives_numpy() -> None:
    boxes, scores = given()
    for function in (ours.nms, ours.soft_nms):
        dets, inds = function(boxes.numpy(), scores.numpy(), 0.5)
        expected = function(boxes, scores, 0.5)
        assert np.array_equal(dets, expected[0].numpy())
        assert np.array_equal(inds, expected[1].numpy())


def test_no_boxes() -> None:
    boxes, scores = torch.zeros(0, 4), torch.zeros(0)
    results = [ours.nms(boxes, scores, 0.5), ours.soft_nms(boxes, scores, 0.5)]
    labels = torch.zeros(0, dtype=torch.int64)
    results.append(ours.batched_nms(boxes, scores, labels, {"type": "nms", "iou_threshold": 0.5}))
    for dets, inds in results:
        assert (dets.shape, inds.shape, inds.dtype) == ((0, 5), (0,), torch.int64)


@pytest.mark.parametrize(
    ("boxes", "scores", "kind", "text"),
    [
        (torch.zeros(3, 5), torch.zeros(3), ValueError, r"boxes has shape \(3, 5\)"),
        (torch.zeros(12), torch.zeros(3), ValueError, r"boxes has shape \(12,\), expected 2 dims"),
        (torch.zeros(3, 4), torch.zeros(2), ValueError, r"scores has shape \(2,\)"),
        (torch.zeros(3, 4).int(), torch.zeros(3), TypeError, "boxes is int32"),
        (torch.zeros(3, 4), torch.zeros(3).long(), TypeError, "scores is int64"),
        (torch.zeros(3, 4).to_sparse(), torch.zeros(3), ValueError, "boxes is a sparse"),
    ],
)
def test_refusals(boxes: Tensor, scores: Tensor, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"nms: {text}"):
        ours.nms(boxes, scores, 0.5)


def test_other_refusals() -> None:
    boxes, scores = given()
    with pytest.raises(ValueError, match="soft_nms: method is 'hard', expected one of naive, "):
        ours.soft_nms(boxes, scores, method="hard")
    for wrong, kind in ((boxes.tolist(), "list"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"soft_nms: boxes is a {kind}, expected a Tensor"):
            ours.soft_nms(wrong, scores)
        with pytest.raises(TypeError, match=f"batched_nms: scores is a {kind}, expected a Tensor"):
            ours.batched_nms(boxes, wrong, scores.long(), {"type": "soft_nms"})
    with pytest.raises(ValueError, match="soft_nms: sigma is nan, expected 0 or more"):
        ours.soft_nms(boxes, scores, sigma=np.nan)
    with pytest.raises(ValueError, match="soft_nms: min_score is nan, expected a number"):
        ours.soft_nms(boxes.double(), scores.double(), min_score=np.nan)
    with pytest.raises(ValueError, match=r"^nms: offset is 2, expected 0 or 1"):
        ours.nms(boxes, scores, 0.5, offset=2)
    with pytest.raises(ValueError, match="batched_nms: type is 'nms_rotated'"):
        ours.batched_nms(boxes, scores, scores.long(), {"type": "nms_rotated"})
    for idxs, what in (([0] * 60, "list"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"batched_nms: idxs is a {what}, expected a Tensor"):
            ours.batched_nms(boxes, scores, idxs, {"iou_threshold": 0.5})
    with pytest.raises(ValueError, match=r"batched_nms: idxs has shape \(2,\), expected \(60,\)"):
        ours.batched_nms(boxes, scores, torch.zeros(2).long(), {"iou_threshold": 0.5})
    for config, kind, text in (
        ("nms", TypeError, "nms_cfg is 'nms', expected a dict or None"),
        ({"type": "nms"}, TypeError, "nms_cfg has no 'iou_threshold'"),
        (
            {"iou_threshold": 0.5, "sigma": 1},
            TypeError,
            "nms_cfg has 'sigma', expected only iou_th",
        ),
        ({"type": "soft_nms", "iou": 0.5}, TypeError, "nms_cfg has 'iou', expected only iou_thres"),
        ({"type": "soft_nms", "method": "hard"}, ValueError, "method is 'hard', expected one of n"),
        ({"type": "soft_nms", "sigma": -1}, ValueError, "sigma is -1, expected 0 or more"),
        ({"type": "soft_nms", "min_score": np.nan}, ValueError, "min_score is nan, expected a nu"),
        ({"type": "soft_nms", "offset": 0.5}, ValueError, "offset is 0.5, expected 0 or 1"),
        ({"iou_threshold": 0.5, "offset": 2}, ValueError, "offset is 2, expected 0 or 1"),
    ):
        with pytest.raises(kind, match=f"batched_nms: {text}"):
            ours.batched_nms(boxes, scores, torch.zeros(60).long(), config)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="vmap is not supported"):
        torch.vmap(lambda b: ours.nms(b, scores, 0.5))(torch.stack([boxes, boxes]))


# ------------------------------------------------------------------------------- soft and batched


def soft_reference(
    boxes: Tensor, scores: Tensor, threshold: float, sigma: float, least: float, method: str
) -> tuple[list[int], list[float]]:
    """What mmcv does, box by box, in float64; of equal scores the first one."""
    now, left = scores.double().tolist(), list(range(len(boxes)))
    kept, at_selection = [], []
    while left:
        best = max(left, key=lambda i: (now[i], -i))
        left.remove(best)
        kept.append(best)
        at_selection.append(now[best])
        for i in list(left):
            iou = float(cases._iou(boxes[i][None], boxes[best], 0))
            if method == "gaussian":
                now[i] *= float(np.exp(-iou * iou / sigma))
            elif iou >= threshold:
                now[i] *= 1 - iou if method == "linear" else 0
            if now[i] < least:
                left.remove(i)
    return kept, at_selection


@pytest.mark.parametrize("method", ["linear", "gaussian", "naive"])
def test_soft_nms_is_that_of_mmcv(method: str) -> None:
    for seed in range(5):
        boxes, scores = given(seed, 40)
        dets, inds = ours.soft_nms(boxes, scores, 0.3, 0.6, 0.05, method)
        kept, at_selection = soft_reference(boxes, scores, 0.3, 0.6, 0.05, method)
        assert inds.tolist() == kept
        assert torch.equal(dets[:, :4], boxes[inds])
        np.testing.assert_allclose(dets[:, 4], at_selection, rtol=1e-5)


def test_what_differs_from_mmcv() -> None:
    boxes = torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    assert ours.nms(boxes, torch.tensor([0.5, 0.25, np.nan]), 0.5)[1].tolist() == [0]
    assert ours.nms(boxes, torch.tensor([-np.inf, -1, np.nan]), 0.5)[1].tolist() == [1]
    assert ours.soft_nms(boxes, torch.full((3,), 1e-4))[1].tolist() == []


def test_limits_belong_to_the_inside() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [20, 0, 30, 10]])
    scores = torch.tensor([0.75, 0.5, 0.25])  # the first two have an IoU of 0.5
    assert ours.nms(boxes, scores, 0.5)[1].tolist() == [0, 1, 2]
    assert ours.soft_nms(boxes, scores, 0.5, min_score=0.25)[1].tolist() == [0, 1, 2]
    assert ours.soft_nms(boxes, scores, 0.5, min_score=0.251)[1].tolist() == [0]
    assert ours.soft_nms(boxes, scores, 0.5, method="naive")[1].tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["nms", "soft_nms"])
def test_batched_nms_is_that_of_each_class_merged(kind: str) -> None:
    boxes, scores = given(3, 90)
    labels = torch.randint(-3, 4, (90,), generator=torch.Generator().manual_seed(1))
    config = {"type": kind, "iou_threshold": 0.4, "split_thr": 10}
    dets, keep = ours.batched_nms(boxes, scores, labels, config)
    rows = []
    for label in labels.unique():
        mine = (labels == label).nonzero()[:, 0]
        alone, inds = getattr(ours, kind)(boxes[mine], scores[mine], 0.4)
        found = zip(alone[:, 4].tolist(), mine[inds].tolist(), strict=True)
        rows += [(-score, i) for score, i in found]
    assert keep.tolist() == [i for _, i in sorted(rows)]
    assert dets[:, 4].tolist() == [-score for score, _ in sorted(rows)]
    assert torch.equal(dets[:, :4], boxes[keep])
    assert config == {"type": kind, "iou_threshold": 0.4, "split_thr": 10}


@pytest.mark.parametrize(
    "idxs", [torch.tensor([0, 2**32, 0]), torch.tensor([0.25, 0.75, 0.25]), torch.tensor([1, 0, 1])]
)
def test_classes_of_any_numbers_are_told_apart(idxs: Tensor) -> None:
    boxes, scores = torch.tensor([[0.0, 0, 1, 1]]).repeat(3, 1), torch.tensor([0.5, 0.25, 0.75])
    dets, keep = ours.batched_nms(boxes, scores, idxs, {"iou_threshold": 0.5})
    assert (keep.tolist(), dets[:, 4].tolist()) == ([2, 1], [0.75, 0.25])


def test_batched_nms_with_other_configurations() -> None:
    boxes, scores = given()
    labels = torch.arange(60)
    all_may_meet = ours.nms(boxes, scores, 0.5)
    config = {"iou_threshold": 0.5}
    assert same(ours.batched_nms(boxes, scores, labels, config, True), all_may_meet)
    config["class_agnostic"] = True
    assert same(ours.batched_nms(boxes, scores, labels, config), all_may_meet)
    few = ours.batched_nms(boxes, scores, labels, {"iou_threshold": 0.5, "max_num": 7})
    assert len(few[1]) == 7
    for kind in ("nms", "soft_nms"):  # no number is too large
        settings = {"type": kind, "iou_threshold": 0.5}
        every = ours.batched_nms(boxes, scores, labels, settings)
        assert same(ours.batched_nms(boxes, scores, labels, settings | {"max_num": 2**40}), every)
    few = ours.batched_nms(
        boxes, scores, labels, {"type": "soft_nms", "iou_threshold": 0.5, "max_num": 7}
    )
    assert len(few[1]) == 7
    dets, keep = ours.batched_nms(boxes, scores, labels, None)
    assert torch.equal(dets[:, 4], scores[keep])
    assert torch.equal(dets[:, 4], scores.sort(descending=True)[0])


def test_a_full_mmcv_gets_what_ours_return() -> None:
    """The others write into tensors of mmcv's, and return nothing."""
    boxes, scores = given()
    by_device = mmcv_backend._by_device(OPERATORS["nms"], lambda: None)
    kept = by_device(boxes, scores, iou_threshold=0.5, offset=0)
    assert torch.equal(kept, ours.nms(boxes, scores, 0.5)[1])


def test_unaligned_tensors_are_copied() -> None:
    """torch.frombuffer can make such tensors."""

    def unaligned(tensor: Tensor) -> Tensor:
        memory = bytearray(tensor.nbytes + 1)
        made = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=1)
        return made.copy_(tensor.flatten()).reshape(tensor.shape)

    boxes, scores = given()
    labels = torch.arange(len(scores), dtype=torch.int32) % 3
    settings = {"type": "nms", "iou_threshold": 0.4}
    expected = ours.batched_nms(boxes, scores, labels, settings)
    assert same(ours.batched_nms(*map(unaligned, (boxes, scores, labels)), settings), expected)


def test_subnormal_thresholds_where_torch_flushes() -> None:
    """The first call makes the descriptor that both have: Python itself would flush them."""
    boxes = np.array([[0, 0, 1, 1], [5, 5, 6, 6]], np.float32)
    scores = np.array([5e-41, 2e-40], np.float32)
    settings = {"iou_threshold": 0.5, "score_threshold": 1e-40}
    assert pymluops.nms(boxes, scores, **settings).tolist() == [1]
    torch.set_flush_denormal(True)
    try:
        kept = pymluops.nms(boxes, scores, **settings)
    finally:
        torch.set_flush_denormal(False)
    assert kept.tolist() == [1]
