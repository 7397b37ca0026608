# SPDX-License-Identifier: Apache-2.0
"""Programs that call BorderAlign in a process of their own, for tests/core."""

# Set-up, tensors, and how many times these the call may need.
SCRATCH = {
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
}

# Set-up that says what changes during the calls.
RACES = {
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

# Calls that take 10 seconds and more on a thread, where nothing ends them.
LONG = {
    "border_align_forward": (
        "x, boxes = ones(4, 64, 64, 1024), np.tile(np.float32([0, 0, 63, 63]), (4, 4096, 1))\n"
        "def call():\n"
        "    p.border_align_forward(x, boxes, pool_size=4000)\n"
    ),
}
