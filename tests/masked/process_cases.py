# SPDX-License-Identifier: Apache-2.0
"""Programs that call masked im2col and col2im in a process of their own, for tests/core."""

POSITIONS = """
h, w = (array(random.integers(0, 40, 20000), np.int32) for _ in range(2))
if ASCENDING:
    h[:], w[:] = np.arange(20000) // 200, np.arange(20000) % 200
out = array(np.zeros(SHAPE))
changing = [(h, 2**31 - 1), (w, -2**30)]
"""

# Set-up, tensors, and how many times these the call may need.
SCRATCH = {
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

# Set-up that says what changes during the calls.
RACES = {
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
}
