# SPDX-License-Identifier: Apache-2.0
"""Programs that call deformable convolution in a process of their own, for tests/core."""

SIZES = "H, W, C, T = {height}, {width}, {channels}, 9\n"
FORWARD = """
def call(t):
    p.deform_conv_forward(t[0], t[1], t[2], t[3], pad=1, out=t[4])
"""
BACKWARD_DATA = """
def call(t):
    p.deform_conv_backward_data(t[0], t[1], t[2], t[3], grad_output=t[4], pad=1, out=t[5:])
"""
BACKWARD_WEIGHT = """
def call(t):
    p.deform_conv_backward_weight(t[0], t[1], t[3], grad_output=t[4], kernel_size=3, pad=1,
                                  out=(t[5], t[6]))
"""
HALVES = """
def halves(*shape):
    return np.ones(shape, np.float16)
"""
INPUTS = (
    "ones(1, H, W, C), np.full((1, H, W, 2 * T), 0.25, np.float32), ones(C, 3, 3, C), "
    "ones(1, H, W, T), "
    "ones(1, H, W, C)"
)
DATA_OUTPUTS = ", ones(1, H, W, C), ones(1, H, W, 2 * T), ones(1, H, W, T)"
LARGE = SIZES.format(height=200, width=300, channels=32)
LONG = SIZES.format(height=1, width=1 << 19, channels=4)

WIDE = SIZES.format(height=8, width=9, channels=768)


def in_half(tensors: str) -> str:
    return tensors.replace("ones(", "halves(").replace("float32", "float16")


# Set-up, tensors, and how many times these the call may need. The columns of a large map would be
# nine times as large as the map.
SCRATCH = {
    "deformable convolution, a large map": (LARGE + FORWARD, f"({INPUTS})", 0),
    "deformable convolution, a long map": (LONG + FORWARD, f"({INPUTS})", 0),
    "deformable convolution backward data, a large map": (
        LARGE + BACKWARD_DATA,
        f"({INPUTS}{DATA_OUTPUTS})",
        0,
    ),
    "deformable convolution backward data, a long map": (
        LONG + BACKWARD_DATA,
        f"({INPUTS}{DATA_OUTPUTS})",
        0,
    ),
    # Half: sums of grad_input are float32 until they are rounded.
    "deformable convolution backward data, a large map in half": (
        HALVES + LARGE + BACKWARD_DATA,
        in_half(f"({INPUTS}{DATA_OUTPUTS})"),
        1,
    ),
    # Beside the map there may be the filter twice, as float32.
    "deformable convolution, a large filter": (WIDE + FORWARD, f"({INPUTS})", 2),
    "deformable convolution, a large filter in half": (
        HALVES + WIDE + FORWARD,
        in_half(f"({INPUTS})"),
        4,
    ),
    "deformable convolution backward data, a large filter": (
        WIDE + BACKWARD_DATA,
        f"({INPUTS}{DATA_OUTPUTS})",
        2,
    ),
    "deformable convolution backward weight, a large filter": (
        WIDE + BACKWARD_WEIGHT,
        f"({INPUTS}, ones(C, 3, 3, C), ones(C))",
        1,
    ),
    "deformable convolution backward weight, a large map": (
        LARGE + BACKWARD_WEIGHT,
        f"({INPUTS}, ones(C, 3, 3, C), ones(C))",
        0,
    ),
    "deformable convolution backward weight, a long map": (
        LONG + BACKWARD_WEIGHT,
        f"({INPUTS}, ones(C, 3, 3, C), ones(C))",
        0,
    ),
}

WILD = """
x, g = floats(1, 20, 21, 20), floats(1, 20, 21, 12)
weights, mask = floats(12, 3, 3, 20), floats(1, 20, 21, 9)
offset = floats(1, 20, 21, 18)
bad = random.choice(np.float32([np.nan, np.inf, 1e30, -1e30, -1, 20, 21, 19.5, 1e9]), offset.shape)
changing = [(offset, bad)]
"""

# Set-up that says what changes during the calls.
RACES = {
    "deform_conv_forward": WILD + "out = array(np.zeros((1, 20, 21, 12)))\n"
    "def call():\n"
    "    p.deform_conv_forward(x, offset, weights, mask, pad=1, out=out)\n",
    "deform_conv_backward_data": WILD
    + "outs = [array(np.zeros(a.shape)) for a in (x, offset, mask)]\n"
    "def call():\n"
    "    p.deform_conv_backward_data(x, offset, weights, mask, grad_output=g, pad=1, out=outs)\n",
    "deform_conv_backward_weight": WILD
    + "outs = [array(np.zeros(weights.shape)), array(np.zeros(12))]\n"
    "def call():\n"
    "    p.deform_conv_backward_weight(x, offset, mask, grad_output=g, kernel_size=3, pad=1,\n"
    "                                  out=outs)\n",
}

LARGE_CALL = (
    "x, offset = ones(16, 64, 64, 512), np.full((16, 64, 64, 98), 0.25, np.float32)\n"
    "weight = ones(512, 7, 7, 512)\n"
)

# Calls that take 10 seconds and more on a thread, where nothing ends them.
LONG = {
    "deform_conv_forward": LARGE_CALL
    + "def call():\n    p.deform_conv_forward(x, offset, weight, pad=3)\n",
    "deform_conv_backward_data": LARGE_CALL
    + "def call():\n    p.deform_conv_backward_data(x, offset, weight, grad_output=x, pad=3)\n",
    "deform_conv_backward_weight": LARGE_CALL + "def call():\n"
    "    p.deform_conv_backward_weight(x, offset, grad_output=x, kernel_size=7, pad=3)\n",
}
