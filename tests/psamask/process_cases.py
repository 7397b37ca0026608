# SPDX-License-Identifier: Apache-2.0
"""Programs that call PSAMask in a process of their own, for tests/core."""

# Set-up, tensors, and how many times these the call may need.
SCRATCH = {
    "PSAMask forward": (
        (
            "def call(t):\n"
            "    p.psamask_forward(t[0], psa_type='collect', h_mask=11, w_mask=11, out=t[1])\n"
        ),
        "(ones(1, 64, 64, 121), ones(1, 64, 64, 4096))",
        0,
    ),
}
