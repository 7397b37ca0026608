# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about BorderAlign; python_calls.py explains each."""

from pymluops._cases import small_calls

BATCHED = {
    "border_align_forward": ("input", "boxes"),
    "border_align_backward": ("grad_output", "boxes", "argmax_idx"),
}
FLOAT32_COORDINATES = {
    "border_align_forward": "boxes",
    "border_align_backward": "boxes",
}
WAYS = {
    "border_align_forward": [
        {"boxes": small_calls()["border_align_forward"].arrays["boxes"].reshape(2, 2, 3, 4)}
    ],
}
