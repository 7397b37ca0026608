# SPDX-License-Identifier: Apache-2.0
"""What tests/binding has to know about deformable convolution; python_calls.py explains each."""

BATCHED = {
    "deform_conv_forward": ("input", "offset", "mask"),
    "deform_conv_backward_data": ("input", "offset", "mask", "grad_output"),
    "deform_conv_backward_weight": ("input", "offset", "mask", "grad_output"),
}
UNBATCHED_RESULTS = {
    ("deform_conv_backward_weight", 0),
    ("deform_conv_backward_weight", 1),
}
GRADIENT_BY_NAME = {
    "deform_conv_backward_data",
    "deform_conv_backward_weight",
}
_PLAIN = [{"mask": None}, {"pad": (1, 1)}, {"pad": (1, 1, 1, 1)}, {"stride": (1, 1)}]
WAYS = {
    "deform_conv_forward": [*_PLAIN, {"bias": None}, {"mask": None, "bias": None}],
    "deform_conv_backward_data": _PLAIN,
    "deform_conv_backward_weight": [*_PLAIN, {"kernel_size": (2, 2)}],
}
