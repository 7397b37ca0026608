# SPDX-License-Identifier: Apache-2.0
"""mluOpNms in all its forms: images and classes, planes, what is written, turned boxes."""

import ctypes
import math
import platform
import subprocess
import sys

import guard
import numpy as np
import pytest
from nms_calls import UNTOUCHED, call_by_label, call_nms

import pymluops
from pymluops.reference import nms as expected_of

FE_UPWARD = 0x400000 if platform.machine() in ("aarch64", "arm64") else 0x800
METHODS = ("hard", "linear")


def random_images(rng, images, n):
    centre, size = rng.uniform(0, 60, (images, n, 2)), rng.uniform(1, 30, (images, n, 2))
    return np.concatenate((centre - size / 2, centre + size / 2), -1).astype(np.float32)


def planes(boxes):
    return np.ascontiguousarray(boxes.swapaxes(-1, -2))


def test_images_and_classes(handle, rng):
    for number in range(60):
        images, classes = (int(rng.integers(0, 4)), int(rng.integers(0, 6)))
        n = int(rng.choice([0, 1, 7, 64, 130]))
        boxes = random_images(rng, images, n)
        scores = (rng.integers(0, 99, (images, classes, n)) / 99).astype(np.float32)
        method, limit = int(number % 2), int(rng.choice([0, 1, 10, 200]))
        layout, pad = int(rng.integers(0, 2)), bool(rng.integers(0, 2))
        handle.num_threads = int(rng.integers(1, 6))
        output, count = call_nms(
            handle,
            planes(boxes) if layout else boxes,
            scores,
            mode=3,
            method=method,
            limit=limit,
            least=0.2,
            layout=layout,
            pad=pad,
        )
        wanted = [
            (image, kind, i)
            for image in range(images)
            for kind in range(classes)
            for i in expected_of(
                boxes[image],
                scores[image, kind],
                iou_threshold=0.5,
                score_threshold=0.2,
                max_output_size=limit,
                method=METHODS[method],
            )
        ]
        assert count == len(wanted)
        assert output[:count].tolist() == [list(row) for row in wanted]
        written = limit * images * classes if pad else count
        assert not output[count:written].any()
        assert (output[max(count, written) :] == UNTOUCHED).all()


def test_many_classes_are_selected_in_waves(handle, rng):
    """More results than there is memory for at a time."""
    boxes = random_images(rng, 1, 300)
    scores = rng.random((1, 400, 300)).astype(np.float32)
    wanted = [
        (0, kind, i)
        for kind in range(400)
        for i in expected_of(boxes[0], scores[0, kind], iou_threshold=0.9, score_threshold=0.8)
    ]
    for threads in (1, 2, 7):
        handle.num_threads = threads
        output, count = call_nms(handle, boxes, scores, mode=3, threshold=0.9, least=0.8)
        assert output[:count].tolist() == [list(row) for row in wanted]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("mode", [1, 2])
def test_scores_and_numbers(handle, rng, mode, dtype):
    for n in (0, 1, 9, 100):
        boxes = random_images(rng, 1, n)[0].astype(dtype)
        scores = rng.random(n).astype(dtype)
        for limit, pad in ((4, True), (150, True), (4, False), (150, False)):
            for layout in (0, 1):
                output, count = call_nms(
                    handle,
                    planes(boxes) if layout else boxes,
                    scores,
                    mode=mode,
                    method=1,
                    limit=limit,
                    layout=layout,
                    pad=pad,
                )
                kept, now = expected_of(
                    boxes,
                    scores,
                    iou_threshold=0.5,
                    max_output_size=limit,
                    method="linear",
                    return_scores=True,
                )
                rows = output if mode == 1 else output.T
                assert np.array_equal(rows[:count, 0], now.astype(dtype))
                assert np.array_equal(rows[:count, 1:], boxes[kept])
                written = limit if pad else count
                assert not rows[count:written].any()
                assert (rows[max(count, written) :] == UNTOUCHED).all()


def test_numbers_are_copied_bit_by_bit(handle):
    boxes = np.array([[9, 8, 1, -0.0], [np.nan, 1, 2, 3]], np.float32)
    boxes.view(np.uint32)[1, 0] = 0x7FA00001
    scores = np.array([1, 2], np.float32)
    output, count = call_nms(handle, boxes, scores, mode=1)
    assert count == 2
    assert output[:2, 1:].tobytes() == boxes[::-1].tobytes()


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_nothing_outside_is_read(handle, rng, mode):
    for fence in guard.BOTH:
        for layout in (0, 1):
            boxes = random_images(rng, 1, 65)[0]
            given = fence(planes(boxes) if layout else boxes)
            call_nms(
                handle, given, fence(rng.random(65).astype(np.float32)), mode=mode, layout=layout
            )


# ------------------------------------------------------------------------ boxes of seven numbers


def corners(box):
    x, y, _, dx, dy, _, heading = map(float, box)
    cosine, sine = math.cos(heading), math.sin(heading)
    around = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    halves = [(i * dx / 2, j * dy / 2) for i, j in around]
    return [(x + u * cosine - v * sine, y + u * sine + v * cosine) for u, v in halves]


def cut(polygon, a, b):
    """Return the part of a polygon to the left of the line from a to b."""

    def side(p):
        return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])

    kept = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        if side(p) >= 0:
            kept.append(p)
        if side(p) * side(q) < 0:
            t = side(p) / (side(p) - side(q))
            kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
    return kept


def area(polygon):
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum(p[0] * q[1] - q[0] * p[1] for p, q in pairs)) / 2


def rotated_iou(one, two):
    if not all(np.isfinite(b).all() and b[3] > 0 and b[4] > 0 for b in (one, two)):
        return 0.0
    shared, other = corners(one), corners(two)
    for a, b in zip(other, other[1:] + other[:1], strict=True):
        shared = cut(shared, a, b)
    both = area(shared)
    sizes = float(one[3]) * float(one[4]) + float(two[3]) * float(two[4])
    return both / max(sizes - both, 1e-8)


def test_boxes_of_seven_numbers(handle, rng):
    for number in range(24):
        n = int(rng.choice([0, 1, 5, 60]))
        numbers = rng.uniform(0, 20, (n, 3)), rng.uniform(0.5, 9, (n, 3))
        boxes = np.concatenate((*numbers, rng.uniform(-7, 7, (n, 1))), 1).astype(np.float32)
        if number % 4 == 0 and n:
            odd = rng.choice([np.nan, np.inf, -1, 0], 4)
            boxes[rng.integers(0, n, 4), rng.integers(0, 7, 4)] = odd
        threshold, kept, near = float(rng.choice([0.1, 0.3, 0.5])), [], False
        for i in range(n):
            ious = [rotated_iou(boxes[j], boxes[i]) for j in kept]
            near |= any(abs(iou - threshold) < 1e-4 for iou in ious)
            if not any(iou > threshold for iou in ious):
                kept.append(i)
        for layout in (0, 1):
            given = guard.ending(planes(boxes) if layout else boxes)  # nothing is read behind them
            output, count = call_nms(
                handle, given, None, threshold=threshold, layout=layout, limit=1
            )
            assert near or output[:count].tolist() == kept
            assert (output[count:] == UNTOUCHED).all()


def test_a_turned_square(handle):
    """A square, and the same turned by an eighth: both cover an octagon, the IoU is 0.7071."""
    boxes = np.zeros((2, 7), np.float32)
    boxes[:, 3:5] = 2
    boxes[1, 6] = math.pi / 4
    assert call_nms(handle, boxes, None, threshold=0.70)[1] == 1
    assert call_nms(handle, boxes, None, threshold=0.715)[1] == 2


@pytest.mark.parametrize("place", [(1e6, 0), (0, 1e6), (-1e6, 3), (3, -1e6)])
def test_small_turned_boxes_far_away_are_found(handle, place):
    boxes = np.zeros((2, 7), np.float32)
    boxes[:, :2], boxes[:, 3:5] = place, 0.5
    assert call_nms(handle, boxes, None, threshold=0.9)[1] == 1


# -------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mode": 3}, "output_mode is 3, expected 0"),
        ({"boxes": np.zeros((1, 6, 4), "f4"), "scores": np.zeros((1, 1, 6), "f4")}, "3 dims"),
        ({"labels": np.zeros(6, "f4")}, "labels: dtype"),
        ({"labels": np.zeros(5, "i4")}, "labels: dim 0 is 5, expected 6"),
        ({"now": np.zeros(6, "f2")}, "scores: dtype"),
        ({"now": np.zeros(5, "f4")}, "scores: dim 0 is 5, expected 6"),
        ({"kept": np.zeros(5, "i4"), "now": np.zeros(5, "f4")}, "output: dim 0 is 5, expected at"),
        ({"kept": np.zeros((6, 1), "i4")}, "output"),
        ({"kept": np.zeros(6, "f4")}, "output: dtype"),
    ],
)
def test_what_selection_by_label_refuses(handle, changes, text):
    given = {
        "boxes": np.zeros((6, 4), np.float32),
        "scores": np.zeros(6, np.float32),
        "labels": np.zeros(6, np.int32),
        "kept": np.full(6, 7, np.int32),
        "now": np.full(6, 7, np.float32),
    }
    assert call_by_label(handle, **given) == 6
    given["now"][:] = 7
    given |= changes
    before = [given[name].copy() for name in ("kept", "now")]
    with pytest.raises(pymluops.BadParamError, match=text):
        call_by_label(handle, **given)
    for name, array in zip(("kept", "now"), before, strict=True):
        assert np.array_equal(given[name], array)


# -------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("mode", [1, 2])
def test_scores_are_rounded_to_nearest_in_any_state_of_the_caller(handle, mode):
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 7], [0, 0, 10, 3]], np.float16)
    scores = np.array([1, 7e-5, 3e-5], np.float16)
    settings = {"iou_threshold": 0.1, "method": "linear", "return_scores": True}
    decayed = expected_of(boxes, scores, **settings)[1]
    libm = ctypes.CDLL(None)
    assert libm.fesetround(FE_UPWARD) == 0
    try:
        output, count = call_nms(handle, boxes, scores, mode=mode, method=1, threshold=0.1)
    finally:
        libm.fesetround(0)
    found = output[:count, 0] if mode == 1 else output[0, :count]
    assert np.array_equal(found, decayed.astype(np.float16))


MEMORY = """
import numpy as np, sys
sys.path.insert(0, {path!r})
from nms_calls import call_nms
import pymluops

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

rng = np.random.default_rng(1)
n, classes, threads = {n}, {classes}, {threads}
low = rng.uniform(0, 9000, (1, n, 2))
boxes = np.concatenate((low, low + rng.uniform(9, 99, (1, n, 2))), -1).astype(np.float32)
scores = rng.random((1, classes, n)).astype(np.float32)
with pymluops.Handle() as handle:
    handle.num_threads = threads
    call_nms(handle, boxes[:, :9].copy(), scores[:, :, :9].copy(), mode=3, method={method})
    before = peak()
    settings = dict(mode=3, method={method}, limit={limit}, threshold=0.9)
    out, count = call_nms(handle, boxes, scores, **settings)
    print(count, peak() - before - out.nbytes)
"""


@pytest.mark.parametrize(
    ("n", "classes", "threads", "method", "limit"),
    [(200_000, 1, 1, 0, 2**31 - 1), (200_000, 1, 1, 1, 50), (20_000, 40, 4, 0, 500)],
)
def test_memory_is_bounded_by_the_boxes(n, classes, threads, method, limit):
    """At most 256 bytes for each box of an image, and 1 MiB for each thread."""
    program = MEMORY.format(
        path=str(__file__).rpartition("/")[0],
        n=n,
        classes=classes,
        threads=threads,
        method=method,
        limit=limit,
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    count, grown = map(int, done.stdout.split())
    assert count > 0
    # The second term is what the interpreter takes meanwhile.
    assert grown <= 256 * n + (threads << 20) + (1 << 20), f"{grown / n:.0f} bytes for each box"
