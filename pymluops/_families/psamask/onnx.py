# SPDX-License-Identifier: Apache-2.0
"""What PSAMask becomes in ONNX."""

from typing import Any


def psa_mask(
    input: Any, psa_type: int, h_mask: int, w_mask: int
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Return the name of mmcv's node, its inputs, and its attributes."""
    return "MMCVPSAMask", (input,), {"psa_type": psa_type, "mask_size": [h_mask, w_mask]}
