# SPDX-License-Identifier: Apache-2.0
"""The test cases of PSAMask."""

import numpy as np

from pymluops._families.psamask import reference
from pymluops._gen_case.operators import Operator, Parameters, Values
from pymluops._gen_case.pictures import channels
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_FIELDS = ("int32 h_mask 1", "int32 w_mask 2", "int32 psa_type 3")
_FORWARD = Parameters("psamask_forward_param", 134658, _FIELDS)
_BACKWARD = Parameters("psamask_backward_param", 134659, _FIELDS)
_SIZES = {"N": 1, "H": 6, "W": 6, "psa_type": 0, "h_mask": 11, "w_mask": 11}
_MASKS, _SPREAD = "NHWC float32 N H W h_mask*w_mask", "NHWC float32 N H W H*W"
_MASK_PLANES, _PLANES = "NCHW float32 N h_mask*w_mask H W", "NCHW float32 N H*W H W"


def _expected_planes(values: Values) -> dict[str, Array]:
    """Return what the operator in NHWC gives, in NCHW."""
    forward = "x" in values.inputs
    function = reference.psamask_forward if forward else reference.psamask_backward
    (images,) = values.inputs.values()
    result = function(np.moveaxis(images, 1, -1), **values.numbers)
    return {"y" if forward else "dx": np.moveaxis(result, -1, 1)}


def _pictures(values: Values) -> list[Picture]:
    """Return the mask of the pixel in the middle, and the map that belongs to it."""
    forward = "x" in values.inputs
    masks, spread = (
        (values.inputs["x"], values.outputs["y"])
        if forward
        else (values.outputs["dx"], values.inputs["dy"])
    )
    height, width = masks.shape[1:3]
    mask = (int(values.numbers["h_mask"]), int(values.numbers["w_mask"]))
    at = f"of pixel ({height // 2}, {width // 2})"
    pictures = [
        channels(masks, mask, f"the mask {at}"),
        channels(spread, (height, width), f"the map {at}", "" if not forward else "\u2192"),
    ]
    return pictures if forward else pictures[::-1]


OPERATORS = (
    Operator(
        "psamask_forward",
        "mluOpPsamaskForward",
        "psa_type x h_mask w_mask y",
        inputs={"x": _MASKS},
        outputs={"y": _SPREAD},
        sizes=_SIZES,
        parameters=_FORWARD,
        op_type=134658,
        pictures=_pictures,
    ),
    Operator(
        "psamask_backward",
        "mluOpPsamaskBackward",
        "psa_type dy h_mask w_mask dx",
        inputs={"dy": _SPREAD},
        outputs={"dx": _MASKS},
        sizes=_SIZES,
        parameters=_BACKWARD,
        op_type=134659,
        pictures=_pictures,
    ),
    Operator(
        "cpu_psamask_nchw_forward",
        "mluOpCpuPsamaskNchwForward",
        "psa_type x h_mask w_mask y",
        inputs={"x": _MASK_PLANES},
        outputs={"y": _PLANES},
        sizes=_SIZES,
        parameters=_FORWARD,
        kind="movement",
        expected=_expected_planes,
    ),
    Operator(
        "cpu_psamask_nchw_backward",
        "mluOpCpuPsamaskNchwBackward",
        "psa_type dy h_mask w_mask dx",
        inputs={"dy": _PLANES},
        outputs={"dx": _MASK_PLANES},
        sizes=_SIZES,
        parameters=_BACKWARD,
        kind="movement",
        expected=_expected_planes,
    ),
)
