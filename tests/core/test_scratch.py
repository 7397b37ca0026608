# SPDX-License-Identifier: Apache-2.0
"""Memory that operators work in is bounded by their tensors: what docs/operators states.

Each case is a process of its own: how far its address space grows during one call, tensors not
counted, on one thread.
"""

import subprocess
import sys

import pytest

MIB = 1 << 20

PROGRAM = """
import numpy as np
import pymluops as p

def size(name):
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) << 10

def rois_of(count, h, w, side):
    random = np.random.default_rng(5)
    x, y = random.uniform(0, max(w - side, 1), count), random.uniform(0, max(h - side, 1), count)
    return np.stack([0 * x, x, y, x + side, y + side], 1).astype(np.float32)

def boxes_of(h, w):
    return np.tile(np.array([0, 0, w - 1, h - 1], np.float32), (1, h * w, 1))

def ones(*shape):
    return np.ones(shape, np.float32)

with p.threads(1):
    {small}
    given = {given}
    before = size("VmSize")
    call(given)
    print(sum(a.nbytes for a in given), size("VmPeak") - before)
"""


def growth(setup: str, given: str) -> tuple[int, int]:
    """Return the bytes of the tensors of a call, and those that the process grows by meanwhile."""
    program = PROGRAM.replace("{small}", setup.strip().replace("\n", "\n    ")).replace(
        "{given}", given
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    tensors, grown = map(int, done.stdout.split())
    return tensors, grown


POOL_FORWARD = """
def call(t):
    p.deform_roi_pool_forward(t[0], t[1], pooled_height=P, pooled_width=P, spatial_scale=1.0,
                              sampling_ratio=RATIO, out=t[2])
"""
POOL_BACKWARD = """
def call(t):
    p.deform_roi_pool_backward(grad_output=t[0], input=t[1], rois=t[2], offset=t[3],
                               pooled_height=P, pooled_width=P, spatial_scale=1.0,
                               sampling_ratio=RATIO, gamma=0.1,
                               out=(t[4], t[5]))
"""
MANY = "R, P, RATIO, H, W = 6000, 7, 2, 400, 400\n"
LONG = "R, P, RATIO, H, W = 1, 2, 0, 1, 1 << 22\n"

CASES = {
    # What each bin needs is a small multiple of one channel; more channels do not need more.
    "forward, many bins of one channel": (
        MANY + POOL_FORWARD,
        "(ones(1, H, W, 1), rois_of(R, H, W, 40), ones(R, P, P, 1))",
        6,
    ),
    "backward, many bins of one channel": (
        MANY + POOL_BACKWARD,
        (
            "(ones(R, P, P, 1), ones(1, H, W, 1), rois_of(R, H, W, 40), ones(R, 2, P, P),"
            " ones(1, H, W, 1), ones(R, 2, P, P))"
        ),
        5,
    ),
    "backward, many images of one pixel": (
        "R, P, RATIO, H, W = 3000, 7, 1, 1, 1\n" + POOL_BACKWARD,
        (
            "(ones(R, P, P, 1), ones(R, H, W, 1), rois_of(R, H, W, 1), ones(R, 2, P, P),"
            " ones(R, H, W, 1), ones(R, 2, P, P))"
        ),
        5,
    ),
    "forward, a small RoI on a long map": (
        LONG + POOL_FORWARD,
        "(ones(1, H, W, 1), rois_of(R, H, W, 40), ones(R, P, P, 1))",
        0,
    ),
    "backward, a small RoI on a long map": (
        LONG + POOL_BACKWARD,
        (
            "(ones(R, P, P, 1), ones(1, H, W, 1), rois_of(R, H, W, 40), ones(R, 2, P, P),"
            " ones(1, H, W, 1), ones(R, 2, P, P))"
        ),
        1,
    ),
    "BorderAlign forward, one long line": (
        (
            "H, W, C = 1, 1 << 15, 32\n"
            "def call(t):\n"
            "    p.border_align_forward(t[0], t[1], pool_size=10, out=(t[2], t[3]))\n"
        ),
        (
            "(ones(1, H, W, 4 * C), boxes_of(H, W), ones(1, H * W, 4, C),"
            " np.ones((1, H * W, 4, C), np.int32))"
        ),
        1,
    ),
    "BorderAlign backward, one long line": (
        (
            "H, W, C = 1, 1 << 15, 32\n"
            "def call(t):\n"
            "    p.border_align_backward(grad_output=t[0], boxes=t[1], argmax_idx=t[2],\n"
            "                            pool_size=10, height=H, width=W, out=t[3])\n"
        ),
        (
            "(ones(1, H * W, 4, C), boxes_of(H, W), np.ones((1, H * W, 4, C), np.int32),"
            " ones(1, H, W, 4 * C))"
        ),
        1,
    ),
    "CARAFE forward, one long line": (
        (
            "W, C = 1 << 15, 64\n"
            "def call(t):\n"
            "    p.carafe_forward(t[0], t[1], kernel_size=5, group_size=1, scale_factor=2,\n"
            "                     out=t[2])\n"
        ),
        "(ones(1, 1, W, C), ones(1, 2, 2 * W, 25), ones(1, 2, 2 * W, C))",
        0.25,
    ),
    "CARAFE backward, one long line": (
        (
            "W, C = 1 << 15, 64\n"
            "def call(t):\n"
            "    p.carafe_backward(input=t[0], mask=t[1], grad_output=t[2], kernel_size=5,\n"
            "                      group_size=1, scale_factor=2, out=(t[3], t[4]))\n"
        ),
        (
            "(ones(1, 1, W, C), ones(1, 2, 2 * W, 25), ones(1, 2, 2 * W, C), ones(1, 1, W, C),"
            " ones(1, 2, 2 * W, 25))"
        ),
        0.25,
    ),
    "PSAMask forward": (
        (
            "def call(t):\n"
            "    p.psamask_forward(t[0], psa_type='collect', h_mask=11, w_mask=11, out=t[1])\n"
        ),
        "(ones(1, 64, 64, 121), ones(1, 64, 64, 4096))",
        0,
    ),
    "masked im2col, few positions and many taps": (
        (
            "def call(t):\n"
            "    p.masked_im2col_forward(t[0], t[1], t[2], kernel_h=31, kernel_w=31, pad_h=15,\n"
            "                            pad_w=15, out=t[3])\n"
        ),
        (
            "(ones(1, 64, 64, 64), np.arange(16, dtype=np.int32), np.arange(16, dtype=np.int32),"
            " ones(64 * 961, 16))"
        ),
        1,
    ),
    "masked col2im": (
        (
            "M = np.arange(1 << 20, dtype=np.int32)\n"
            "def call(t):\n    p.masked_col2im_forward(t[0], t[1], t[2], height=1024, width=1024,\n"
            "                             out=t[3])\n"
        ),
        "(ones(4, 1 << 20), M // 1024, M % 1024, ones(1, 4, 1024, 1024))",
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_is_bounded_by_the_tensors(name):
    setup, given, times = CASES[name]
    tensors, grown = growth(setup, given)
    # What is the same for every size: code that is loaded, 1 MiB for each thread and for lists.
    assert grown <= times * tensors + 8 * MIB, f"{grown / MIB:.1f} MiB for {tensors / MIB:.1f}"
