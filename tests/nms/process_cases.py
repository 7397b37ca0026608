# SPDX-License-Identifier: Apache-2.0
"""Programs that call nms in a process of their own, for tests/core."""

BOXES = """
def boxes_in(side, count):
    random = np.random.default_rng(5)
    low = random.uniform(0, side, (count, 2))
    return np.concatenate((low, low + random.uniform(9, 99, (count, 2))), 1).astype(np.float32)
"""

# Set-up, tensors, and how many times these the call may need: 256 bytes for a box and its score.
SCRATCH = {
    f"nms, {method}": (
        BOXES + "def call(t):\n"
        f"    p.nms(t[0], t[1], iou_threshold=0.7, method='{method}', max_output_size={limit})\n",
        "(boxes_in(9000, 300000), np.arange(300000, dtype=np.float32))",
        12.8,
    )
    for method, limit in (("hard", 2**31 - 1), ("linear", 20))
}

# Set-up that says what changes during the calls.
RACES = {
    f"nms, {method}": BOXES
    + f"""
boxes, scores = array(boxes_in(500, 700)), array(random.random(700))
labels = array(np.arange(700) % 3, np.int32)
changing = [(boxes, np.nan), (scores, -np.inf), (labels, -2**31)]
def call():
    settings = dict(iou_threshold=0.5, method={method!r}, score_threshold=0)
    p.batched_nms(boxes, scores, labels, **settings)
"""
    for method in ("hard", "linear", "gaussian")
}

# Calls that take 10 seconds and more on a thread, where nothing ends them.
LONG = {
    f"nms, {method}": BOXES + "b, s = boxes_in(40000, 600000), random.random(600000)\n"
    f"def call():\n    p.nms(b, s.astype(np.float32), {arguments}, method={method!r})\n"
    for method, arguments in {
        "hard": "iou_threshold=0.1",
        "linear": "iou_threshold=0.1",
        "gaussian": "iou_threshold=0.1",
    }.items()
}
