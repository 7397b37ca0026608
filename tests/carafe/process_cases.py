# SPDX-License-Identifier: Apache-2.0
"""Programs that call CARAFE in a process of their own, for tests/core."""

# Set-up, tensors, and how many times these the call may need.
SCRATCH = {
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
}
