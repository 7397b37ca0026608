# SPDX-License-Identifier: Apache-2.0
"""nms: the same boxes as the reference keeps, in the same order, on every instruction set."""

import guard
import numpy as np
import pytest

import pymluops
from pymluops.reference import batched_nms as expected_by_label
from pymluops.reference import nms as expected_of

# The examples of the contract: IoU(0, 1) is 0.5, IoU(0, 2) and IoU(3, 4) are 0.8.
BOXES = np.array(
    [
        [0, 0, 10, 10],
        [0, 0, 10, 5],
        [10, 10, 0, 2],
        [12, 0, 20, 8],
        [12, 0, 20, 10],
        [30, 30, 30, 30],
    ],
    np.float32,
)
SCORES = np.array([0.5, 0.75, 0.5, 0.5, 0.875, 0.25], np.float32)
THRESHOLDS = (-0.5, 0.0, 0.1, 0.24, 0.25, 0.26, 1 / 3, 0.45, 0.5, 0.7, 0.9, 1.0, 1.5)


def exactly(handle, boxes, scores, **settings):
    """Ours and the reference: the same indices, and for a threshold the same scores."""
    kept, now = pymluops.nms(boxes, scores, **settings, return_scores=True, handle=handle)
    alone = pymluops.nms(boxes, scores, **settings, handle=handle)
    wanted, wanted_now = expected_of(boxes, scores, **settings, return_scores=True)
    assert kept.dtype == alone.dtype == np.int64
    assert np.array_equal(kept, alone)
    assert np.array_equal(kept, wanted), settings
    if settings.get("method") == "gaussian":
        np.testing.assert_allclose(now, wanted_now, rtol=1e-5)
    else:
        assert now.tobytes() == wanted_now.tobytes()
    return kept


def random_boxes(rng, n, kind):
    """Boxes of a kind that some way through the kernels is for."""
    side = rng.choice([5, 30, 200, 1000])
    size = np.exp(rng.uniform(np.log(0.5), np.log(side), (n, 2)))
    if kind == "all sizes":
        size = np.exp(rng.uniform(-3, 8, (n, 2)))
    centre = rng.uniform(-side, side, (n, 2))
    boxes = np.concatenate((centre - size / 2, centre + size / 2), 1)
    if kind == "whole":
        boxes = np.round(boxes)
    elif kind == "few corners, any order":
        boxes = rng.integers(-5, 6, (n, 4))
    elif kind == "scaled":
        boxes = boxes * rng.choice([1e-38, 1e-25, 1e-20, 1e15, 1e18])
    elif kind == "far away":
        boxes = boxes + rng.choice([1e4, 1e6, 1e8, 1e12])
    boxes = boxes.astype(np.float32)
    if kind == "hostile" and n:
        odd = [np.nan, np.inf, -np.inf, 1e30, -1e38, 0, 1e-30, 3e38]
        boxes.reshape(-1)[rng.integers(0, 4 * n, n // 3 + 1)] = rng.choice(odd, n // 3 + 1)
    return boxes


KINDS = (
    "plain",
    "all sizes",
    "whole",
    "few corners, any order",
    "scaled",
    "far away",
    "hostile",
)


def random_scores(rng, n):
    """Scores, of some calls many of which are equal, of some with all that is no number."""
    scores = rng.standard_normal(n).astype(np.float32)
    if rng.random() < 0.5:
        scores = np.round(scores * 2) / np.float32(2)
    if rng.random() < 0.3 and n:
        odd = [np.nan, np.inf, -np.inf, -0.0, 0.0]
        scores[rng.integers(0, n, n // 4 + 1)] = rng.choice(odd, n // 4 + 1)
    return scores


def test_examples_of_the_contract(handle):
    assert exactly(handle, BOXES, SCORES, iou_threshold=0.5).tolist() == [4, 1, 0, 5]
    assert exactly(handle, BOXES, SCORES, iou_threshold=0.8).tolist() == [4, 1, 0, 2, 3, 5]
    assert exactly(handle, BOXES, SCORES, iou_threshold=0.5, offset=1).tolist() == [4, 1, 2, 5]
    settings = {"iou_threshold": 0.5, "score_threshold": 0, "return_scores": True}
    kept, now = pymluops.nms(BOXES, SCORES, **settings, method="linear", handle=handle)
    assert kept.tolist() == [4, 1, 2, 5, 3, 0]
    wanted = np.array([0.875, 0.75, 0.5, 0.25, 0.09999999, 0.05], np.float32)
    np.testing.assert_array_max_ulp(now, wanted, 1)
    settings["score_threshold"] = 0.2
    kept, now = pymluops.nms(BOXES, SCORES, **settings, method="gaussian", handle=handle)
    assert kept.tolist() == [4, 1, 2, 3, 5, 0]
    wanted = np.array([0.875, 0.75, 0.4569656, 0.26364622, 0.25, 0.20532788], np.float32)
    np.testing.assert_array_max_ulp(now, wanted, 2)


@pytest.fixture
def cells_handle(isa, monkeypatch):
    """A handle that compares by cells from the first box on; otherwise that takes many."""
    monkeypatch.setenv("MLUOP_CPU_KERNEL", "nms=cells")
    with pymluops.Handle() as made:
        assert made.isa_name == isa
        yield made


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["hard", "linear", "hard, by cells"])
def test_random_boxes(handle, cells_handle, rng, kind, method):
    if method == "hard, by cells":
        method, handle = "hard", cells_handle
    for _ in range(40 if method == "hard" else 12):
        n = int(rng.choice([0, 1, 2, 17, 64, 65, 130]))
        boxes, scores = random_boxes(rng, n, kind), random_scores(rng, n)
        handle.num_threads = int(rng.integers(1, 4))
        exactly(
            handle,
            boxes,
            scores,
            iou_threshold=float(rng.choice(THRESHOLDS)),
            score_threshold=rng.choice([None, -1.0, 0.0, 0.25]),
            max_output_size=rng.choice([None, 0, 1, 5, n, n + 7]),
            offset=int(rng.integers(0, 2)),
            method=method,
            box_mode=str(rng.choice(["corners", "centre"], p=[0.8, 0.2])),
        )


@pytest.mark.parametrize("kind", ["plain", "all sizes", "few corners, any order"])
def test_gaussian(handle, rng, kind):
    """Scores differ from those of NumPy in the last digits: none are so near that it matters."""
    for sigma in (0.1, 0.5, 2):
        boxes = random_boxes(rng, 100, kind)
        scores = (rng.permutation(100) / 128).astype(np.float32)
        exactly(handle, boxes, scores, iou_threshold=0, method="gaussian", sigma=sigma)


def test_a_gaussian_without_width_is_hard(handle, rng):
    boxes, scores = random_boxes(rng, 80, "plain"), random_scores(rng, 80)
    exactly(handle, boxes, scores, iou_threshold=0.4, method="gaussian", sigma=0)


def test_gaussian_has_the_same_bits_everywhere(monkeypatch, rng):
    boxes, scores = random_boxes(rng, 300, "plain"), random_scores(rng, 300)
    found = set()
    for isa in pymluops.supported_isas():
        monkeypatch.setenv("MLUOP_CPU_ISA", isa)
        with pymluops.Handle() as made:
            kept, now = pymluops.nms(
                boxes,
                scores,
                iou_threshold=0,
                method="gaussian",
                sigma=0.3,
                return_scores=True,
                handle=made,
            )
            found.add((kept.tobytes(), now.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_half(handle, rng, threshold):
    boxes = random_boxes(rng, 90, "whole").astype(np.float16)
    scores = random_scores(rng, 90).astype(np.float16)
    exactly(handle, boxes, scores, iou_threshold=threshold)
    exactly(handle, boxes.astype(np.float32), scores, iou_threshold=threshold)


@pytest.mark.parametrize(
    ("crowd", "threshold"), [(True, 0.25), (True, 0.7), (False, 0.25), (False, 0.5)]
)
def test_many_boxes(handle, rng, crowd, threshold):
    """As a detector finds them: around few things, or everywhere; some have no cell."""
    n = 3000
    centre = rng.uniform(0, 1000, (40, 2))[rng.integers(0, 40, n)] if crowd else 0
    centre = centre + rng.uniform(0, 30 if crowd else 1500, (n, 2))
    size = np.exp(rng.uniform(2.5, 5, (n, 2)))
    boxes = np.concatenate((centre - size / 2, centre + size / 2), 1).astype(np.float32)
    boxes[::31, 2] = np.inf
    # So far away for their size that there are no cells for them; each comes several times.
    boxes[::9] = 1e6 + 64 * rng.integers(0, 5, (n, 1))[::9] + np.array([0, 0, 4, 4])
    scores = rng.integers(0, 2000, n).astype(np.float32)
    exactly(handle, boxes, scores, iou_threshold=threshold)
    labels = rng.integers(0, 3, n)
    kept = pymluops.batched_nms(boxes, scores, labels, iou_threshold=threshold, handle=handle)
    assert np.array_equal(kept, expected_by_label(boxes, scores, labels, iou_threshold=threshold))


def test_equal_scores_come_by_their_index(handle):
    boxes = np.zeros((200, 4), np.float32)
    boxes[:, 0] = np.arange(200)
    boxes[:, 2] = boxes[:, 0] + 0.5
    boxes[:, 3] = 1
    scores = np.where(np.arange(200) % 2, -0.0, 0.0).astype(np.float32)
    for method in ("hard", "linear", "gaussian"):
        kept = pymluops.nms(boxes, scores, iou_threshold=0.5, method=method, handle=handle)
        assert kept.tolist() == list(range(200))
    equal = np.tile(np.array([0, 0, 1, 1], np.float32), (200, 1))
    assert pymluops.nms(equal, scores, iou_threshold=0.5, handle=handle).tolist() == [0]


def test_scores_that_are_no_numbers_or_infinite(handle):
    boxes = np.repeat(np.arange(5, dtype=np.float32)[:, None] * 10, 4, 1)
    boxes[:, 2:] += 5
    scores = np.array([np.nan, 1, -np.inf, np.inf, -1], np.float32)
    assert pymluops.nms(boxes, scores, iou_threshold=0.5, handle=handle).tolist() == [3, 1, 4]
    settings = {"iou_threshold": 0.5, "score_threshold": 0, "handle": handle}
    assert pymluops.nms(boxes, scores, **settings).tolist() == [3, 1]
    settings["score_threshold"] = float("inf")
    assert pymluops.nms(boxes, scores, **settings).tolist() == []


def test_boxes_without_area_meet_only_boxes_with_one(handle):
    point = np.array([[5, 5, 5, 5], [5, 5, 5, 5], [0, 0, 10, 10]], np.float32)
    scores = np.array([3, 2, 1], np.float32)
    # 0/0 removes nothing, and 0/100 is more than a negative threshold.
    assert exactly(handle, point, scores, iou_threshold=0.1).tolist() == [0, 1, 2]
    assert exactly(handle, point, scores, iou_threshold=-0.1).tolist() == [0, 1]
    assert exactly(handle, point, scores, iou_threshold=0.1, offset=1).tolist() == [0, 2]


@pytest.mark.parametrize("method", ["hard", "linear", "gaussian"])
def test_labels(handle, rng, method):
    for n in (0, 1, 64, 150):
        boxes, scores = random_boxes(rng, n, "plain"), (rng.permutation(n) / 256).astype("f4")
        labels = rng.integers(-3, 3, n)
        for limit in (None, 10):
            settings = {"iou_threshold": 0.3, "method": method, "max_output_size": limit}
            kept, now = pymluops.batched_nms(
                boxes, scores, labels, **settings, return_scores=True, handle=handle
            )
            wanted, wanted_now = expected_by_label(
                boxes, scores, labels, **settings, return_scores=True
            )
            assert np.array_equal(kept, wanted)
            np.testing.assert_allclose(now, wanted_now, rtol=1e-5)
        kept = pymluops.batched_nms(boxes, scores, labels, iou_threshold=0.3, handle=handle)
        alone = []
        for label in np.unique(labels):
            mine = np.flatnonzero(labels == label)
            alone += [*mine[pymluops.nms(boxes[mine], scores[mine], iou_threshold=0.3)]]
        assert kept.tolist() == sorted(alone, key=lambda i: -scores[i])


@pytest.mark.parametrize("method", ["linear", "gaussian"])
def test_labels_with_scores_that_grow(handle, rng, method):
    """A negative score grows when it decays: what a label selects later may be higher."""
    grown = 0
    for n in (2, 20, 100):
        boxes, labels = random_boxes(rng, n, "plain"), rng.integers(0, 3, n)
        scores = rng.integers(-8, 2, n).astype("f4") / 8
        settings = {"iou_threshold": 0.1, "method": method, "handle": handle}
        alone = []
        for label in np.unique(labels):
            mine = np.flatnonzero(labels == label)
            kept, now = pymluops.nms(boxes[mine], scores[mine], **settings, return_scores=True)
            alone += [(-score, mine[i]) for i, score in zip(kept, now, strict=True)]
            grown += (np.diff(now) > 0).sum()
        alone.sort()
        for limit in (None, 0, 1, n // 2, n + 5):
            settings |= {"max_output_size": limit}
            kept, now = pymluops.batched_nms(boxes, scores, labels, **settings, return_scores=True)
            assert [*zip(-now, kept, strict=True)] == alone[:limit]
            assert np.array_equal(pymluops.batched_nms(boxes, scores, labels, **settings), kept)
        del settings["handle"]
        wanted = expected_by_label(boxes, scores, labels, **settings)
        assert method == "gaussian" or np.array_equal(wanted, kept)
    assert grown > 0


def test_a_score_that_grows_to_zero_comes_by_its_index(handle):
    """An IoU of 1 makes -1 a -0, which equals the 0 that was selected before it."""
    boxes = np.array([[0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, 1]], np.float32)
    scores = np.array([-1, -5, 0], np.float32)
    settings = {"iou_threshold": 0.5, "method": "linear", "handle": handle}
    for limit in (None, 1, 2, 3):
        settings |= {"max_output_size": limit}
        kept = pymluops.batched_nms(boxes, scores, np.zeros(3, np.int32), **settings)
        assert kept.tolist() == [0, 2, 1][:limit]


def test_labels_far_apart_never_meet(handle):
    boxes = np.tile(np.array([0, 0, 1e7, 1e7], np.float32), (4, 1))
    scores = np.array([1, 2, 3, 4], np.float32)
    labels = np.array([-(2**31), 2**31 - 1, 0, 0])
    kept = pymluops.batched_nms(boxes, scores, labels, iou_threshold=0.5, handle=handle)
    assert kept.tolist() == [3, 1, 0]


@pytest.mark.parametrize("method", ["hard", "linear", "gaussian"])
@pytest.mark.parametrize("fence", guard.BOTH, ids=lambda f: f.__name__)
def test_nothing_outside_is_read(handle, rng, fence, method):
    for n in (1, 5, 63, 64, 65):
        boxes, scores = fence(random_boxes(rng, n, "plain")), fence(random_scores(rng, n))
        labels = fence(rng.integers(0, 3, n, dtype=np.int32))
        settings = {"iou_threshold": 0.3, "method": method, "handle": handle}
        pymluops.nms(boxes, scores, **settings)
        pymluops.batched_nms(boxes, scores, labels, **settings)


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"iou_threshold": np.nan}, pymluops.BadParamError, "iou_threshold"),
        ({"score_threshold": np.nan}, pymluops.BadParamError, "score_threshold"),
        ({"offset": 0.5}, pymluops.BadParamError, "offset is 0.5, expected 0 or 1"),
        ({"sigma": -1}, pymluops.BadParamError, "sigma"),
        ({"max_output_size": -1}, pymluops.BadParamError, "max_output_size: -1 given"),
        ({"max_output_size": 2.5}, pymluops.BadTypeError, "max_output_size"),
        ({"method": "soft"}, pymluops.BadParamError, "method: 'soft' given, expected 'hard' or"),
        ({"method": 1}, pymluops.BadParamError, "method: 1 given"),
        ({"box_mode": "rotated"}, pymluops.BadParamError, "box_mode: 'rotated' given"),
        ({"scores": SCORES[:5]}, pymluops.BadParamError, "scores: dim 0 is 5, expected 6"),
        ({"boxes": BOXES[:, :3]}, pymluops.BadParamError, "boxes: dim 1 is 3, expected 4 numbers"),
        ({"boxes": np.zeros((6, 7), np.float32)}, pymluops.BadParamError, "boxes: dim 1 is 7, exp"),
    ],
)
def test_refusals(arguments, kind, text):
    given = {"boxes": BOXES, "scores": SCORES, "iou_threshold": 0.5} | arguments
    with pytest.raises(kind, match=text):
        pymluops.nms(**given)
    with pytest.raises(kind, match=text):
        pymluops.batched_nms(**given, labels=np.zeros(6, np.int32))


def test_labels_that_are_refused():
    for labels, kind, text in (
        (np.zeros(5, np.int32), pymluops.BadParamError, "labels: dim 0 is 5, expected 6"),
        (np.zeros((6, 1), np.int32), pymluops.BadParamError, "labels: 2 dims given"),
        (np.zeros(6, np.float32), pymluops.BadTypeError, "labels: dtype float32 given"),
        (np.arange(6) << 31, pymluops.BadParamError, "labels: 2147483648 given, which does not"),
        (None, pymluops.BadTypeError, "labels: None given, expected an array"),
    ):
        with pytest.raises(kind, match=text):
            pymluops.batched_nms(BOXES, SCORES, labels, iou_threshold=0.5)
