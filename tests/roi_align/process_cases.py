# SPDX-License-Identifier: Apache-2.0
"""Programs that call RoIAlign in a process of their own, for tests/core."""

FORWARD = """
def call(t):
    p.roi_align_forward(t[0], t[1], pooled_height=P, pooled_width=P, sampling_ratio=RATIO,
                        pool_mode=MODE, out=t[2] if MODE == "avg" else t[2:])
"""
BACKWARD = """
def call(t):
    p.roi_align_backward(*t[:-1], height=H, width=W, batch=t[-1].shape[0], sampling_ratio=RATIO,
                         pool_mode=MODE, out=t[-1])
"""
MANY = "R, P, RATIO, H, W = 6000, 7, 2, 400, 400\n"
LONG = "R, P, RATIO, H, W = 1, 2, 0, 1, 1 << 22\n"
AVG, MAX = "MODE = 'avg'\n", "MODE = 'max'\n"

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
        MANY + AVG + FORWARD,
        "(ones(1, H, W, 1), rois_of(R, H, W, 40), ones(R, P, P, 1))",
        6,
    ),
    "maximum, many bins of one channel": (
        MANY + MAX + FORWARD,
        "(ones(1, H, W, 1), rois_of(R, H, W, 40), *(ones(R, P, P, 1) for _ in range(3)))",
        4,
    ),
    "backward, many bins of one channel": (
        MANY + AVG + BACKWARD,
        "(ones(R, P, P, 1), rois_of(R, H, W, 40), ones(1, H, W, 1))",
        14,
    ),
    "backward of the maximum, many bins of one channel": (
        MANY + MAX + BACKWARD,
        "(ones(R, P, P, 1), rois_of(R, H, W, 40), *(ones(R, P, P, 1),) * 2, ones(1, H, W, 1))",
        9,
    ),
    "backward of the maximum, many images of one pixel": (
        "R, P, RATIO, H, W = 3000, 7, 1, 1, 1\n" + MAX + BACKWARD,
        "(ones(R, P, P, 1), rois_of(R, H, W, 1), *(ones(R, P, P, 1),) * 2, ones(R, H, W, 1))",
        9,
    ),
    "maximum, a RoI of a long map": (
        LONG + MAX + FORWARD,
        "(ones(1, H, W, 1), rois_of(R, H, W, W), *(ones(R, P, P, 1) for _ in range(3)))",
        0,
    ),
}

# Set-up that says what changes during the calls.
RACES = {
    f"roi_align_forward, {mode}": ROIS
    + f"""
out = tuple(array(np.zeros((3000, 2, 2, 4))) for _ in range({count}))
def call():
    p.roi_align_forward(x, rois, pooled=2, sampling_ratio=2, pool_mode={mode!r},
                        out=out if {count} > 1 else out[0])
"""
    for mode, count in (("avg", 1), ("max", 3))
} | {
    "roi_align_backward, avg": ROIS
    + """
g, out = floats(3000, 2, 2, 4), array(np.zeros(x.shape))
def call():
    p.roi_align_backward(g, rois, height=64, width=64, batch=1, sampling_ratio=2, out=out)
""",
    "roi_align_backward, max": ROIS
    + """
g, out = floats(3000, 2, 2, 4), array(np.zeros(x.shape))
places = [array(random.uniform(0, 60, g.shape)) for _ in range(2)]
changing += [(place, np.full(g.shape, 1e9, np.float32)) for place in places]
def call():
    p.roi_align_backward(g, rois, *places, height=64, width=64, batch=1, pool_mode="max", out=out)
""",
}

# Calls that take 10 seconds and more on a thread, where nothing ends them.
LONG = {
    f"{name}, {mode}": (
        "x, rois = ones(1, 256, 256, 256), np.tile(np.float32([0, 0, 0, 255, 255]), (20000, 1))\n"
        "g = ones(20000, 1, 1, 256)\n"
        f"def call():\n    p.{name}({arguments}, pool_mode={mode!r})\n"
    )
    for name, mode, arguments in (
        ("roi_align_forward", "avg", "x, rois, pooled=1"),
        ("roi_align_forward", "max", "x, rois, pooled=1"),
        ("roi_align_backward", "avg", "g, rois, height=256, width=256, batch=1"),
    )
}
