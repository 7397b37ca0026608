# SPDX-License-Identifier: Apache-2.0
"""Programs that call deformable RoI pooling in a process of their own, for tests/core."""

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

# Set-up, tensors, and how many times these the call may need.
SCRATCH = {
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
}

# Set-up that says what changes during the calls.
RACES = {
    "deform_roi_pool_forward": ROIS + "out = array(np.zeros((3000, 2, 2, 4)))\n"
    "def call():\n"
    "    p.deform_roi_pool_forward(x, rois, pooled_height=2, pooled_width=2, sampling_ratio=2,\n"
    "                              out=out)\n",
    "deform_roi_pool_backward": ROIS + "g, out = floats(3000, 2, 2, 4), array(np.zeros(x.shape))\n"
    "def call():\n"
    "    p.deform_roi_pool_backward(grad_output=g, input=x, rois=rois, pooled_height=2,\n"
    "                               pooled_width=2, sampling_ratio=2, out=(out, None))\n",
}

# Calls that take 10 seconds and more on a thread, where nothing ends them.
LONG = {
    name: (
        "x, rois = ones(1, 256, 256, 256), np.tile(np.float32([0, 0, 0, 255, 255]), (20000, 1))\n"
        "g, offset = ones(20000, 1, 1, 256), np.zeros((20000, 2, 1, 1), np.float32)\n"
        "size = dict(pooled_height=1, pooled_width=1)\n"
        f"def call():\n    p.{name}(**size, {arguments})\n"
    )
    for name, arguments in {
        "deform_roi_pool_forward": "input=x, rois=rois, offset=offset",
        "deform_roi_pool_backward": "grad_output=g, input=x, rois=rois, offset=offset",
    }.items()
}
