# SPDX-License-Identifier: Apache-2.0
"""Indices that another thread changes during calls: nothing outside the tensors is touched.

Every tensor ends at a page that nobody may touch, and each operator has a process of its own, in
which a second thread exchanges good indices for bad ones as fast as it can.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading, time
sys.path.insert(0, {tests!r})
import numpy as np
import pymluops as p
import guard

SECONDS = 0.7

def array(values, dtype=np.float32):
    return guard.ending(np.ascontiguousarray(values, dtype))

random = np.random.default_rng(3)

def floats(*shape):
    return array(random.standard_normal(shape))

{setup}

def change():
    while not done:
        for part in changing:
            part[1][:] = part[2]
            part[1][:] = part[0]

done = False
changing = [(target.copy(), target, bad) for target, bad in changing]
other = threading.Thread(target=change)
other.start()
counts = [0, 0]
try:
    end = time.monotonic() + SECONDS
    with p.threads(1):
        while time.monotonic() < end:
            for _ in range(20):
                try:
                    call()
                    counts[0] += 1
                except p.BadParamError:
                    counts[1] += 1
finally:
    done = True
    other.join()
print(*counts)
"""

POSITIONS = """
h, w = (array(random.integers(0, 40, 20000), np.int32) for _ in range(2))
if ASCENDING:
    h[:], w[:] = np.arange(20000) // 200, np.arange(20000) % 200
out = array(np.zeros(SHAPE))
changing = [(h, 2**31 - 1), (w, -2**30)]
"""

ROIS = """
rois = np.zeros((3000, 5), np.float32)
rois[:, 1:3] = random.uniform(0, 20, (3000, 2))
rois[:, 3:] = rois[:, 1:3] + random.uniform(1, 20, (3000, 2))
rois = array(rois)
bad = rois.copy()
bad[:, 0] = 3e8
changing = [(rois, bad)]
x = floats(1, 64, 64, 4)
"""

CASES = {
    "masked_im2col": (
        "ASCENDING, SHAPE = False, (4 * 9, 20000)\n" + POSITIONS + "x = floats(1, 4, 100, 200)\n"
        "def call():\n"
        "    p.masked_im2col_forward(x, h, w, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1, out=out)\n"
    ),
    "masked_im2col, few positions": (
        "ASCENDING, SHAPE = False, (32 * 9, 40)\n" + POSITIONS + "x = floats(1, 32, 100, 200)\n"
        "h, w = h[-40:], w[-40:]\n"
        "changing = [(h, 2**31 - 1), (w, -2**30)]\n"
        "def call():\n"
        "    p.masked_im2col_forward(x, h, w, kernel_h=3, kernel_w=3, pad_h=1, pad_w=1, out=out)\n"
    ),
    "masked_col2im, in any order": (
        "ASCENDING, SHAPE = False, (1, 4, 100, 200)\n" + POSITIONS + "x = floats(4, 20000)\n"
        "def call():\n    p.masked_col2im_forward(x, h, w, height=100, width=200, out=out)\n"
    ),
    "masked_col2im, ascending": (
        "ASCENDING, SHAPE = True, (1, 4, 100, 200)\n" + POSITIONS + "x = floats(4, 20000)\n"
        "def call():\n    p.masked_col2im_forward(x, h, w, height=100, width=200, out=out)\n"
    ),
    "deform_roi_pool_forward": ROIS + "out = array(np.zeros((3000, 2, 2, 4)))\n"
    "def call():\n"
    "    p.deform_roi_pool_forward(x, rois, pooled_height=2, pooled_width=2, sampling_ratio=2,\n"
    "                              out=out)\n",
    "deform_roi_pool_backward": ROIS + "g, out = floats(3000, 2, 2, 4), array(np.zeros(x.shape))\n"
    "def call():\n"
    "    p.deform_roi_pool_backward(grad_output=g, input=x, rois=rois, pooled_height=2,\n"
    "                               pooled_width=2, sampling_ratio=2, out=(out, None))\n",
    "border_align_backward": (
        "argmax = array(random.integers(0, 11, (1, 900, 4, 24)), np.int32)\n"
        "boxes = array(np.sort(random.uniform(0, 29, (1, 900, 2, 2)), 2).reshape(1, 900, 4))\n"
        "g, out = floats(1, 900, 4, 24), array(np.zeros((1, 30, 30, 96)))\n"
        "changing = [(argmax, 2**30)]\n"
        "def call():\n"
        "    p.border_align_backward(grad_output=g, boxes=boxes, argmax_idx=argmax, pool_size=10,\n"
        "                            height=30, width=30, out=out)\n"
    ),
    "border_align_backward, boxes": (
        "argmax = array(random.integers(0, 11, (1, 3600, 4, 24)), np.int32)\n"
        "boxes = array(np.sort(random.uniform(0, 59, (1, 3600, 2, 2)), 2).reshape(1, 3600, 4))\n"
        "g, out = floats(1, 3600, 4, 24), array(np.zeros((1, 60, 60, 96)))\n"
        "changing = [(boxes, 1e9)]\n"
        "def call():\n"
        "    p.border_align_backward(grad_output=g, boxes=boxes, argmax_idx=argmax, pool_size=10,\n"
        "                            height=60, width=60, out=out)\n"
    ),
    "border_align_forward, boxes": (
        "boxes = array(np.sort(random.uniform(0, 59, (1, 3600, 2, 2)), 2).reshape(1, 3600, 4))\n"
        "x, out = floats(1, 60, 60, 16), array(np.zeros((1, 3600, 4, 4)))\n"
        "steps = array(np.zeros((1, 3600, 4, 4)), np.int32)\n"
        "changing = [(boxes, 1e9)]\n"
        "def call():\n    p.border_align_forward(x, boxes, pool_size=10, out=(out, steps))\n"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_changing_indices_touch_nothing_outside(name, isa):
    program = PROGRAM.format(tests=str(Path(__file__).parents[1]), setup=CASES[name])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-2000:]}"
    assert sum(map(int, done.stdout.split())) > 0
