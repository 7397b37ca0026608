# SPDX-License-Identifier: Apache-2.0
"""The test cases of CARAFE."""

import numpy as np

from pymluops._families.carafe import reference
from pymluops._gen_case.operators import Operator, Parameters, Values
from pymluops._tensor import Array

_PARAMETERS = Parameters(
    "carafe_param",
    408,
    ("int32 dimnb 1 4", "int32 kernel_size 2", "int32 group_size 3", "int32 scale_factor 4"),
    ("carafe_forward_param", "carafe_backward_param"),
)
_SIZES = {
    "N": 1,
    "H": 8,
    "W": 8,
    "C": 16,
    "dimNb": 4,
    "kernel_size": 5,
    "group_size": 1,
    "scale_factor": 2,
}
_NUMBERS = ("kernel_size", "group_size", "scale_factor")
_OBJECTS = {"carafe_desc": "Carafe dimNb kernel_size group_size scale_factor"}
_MAP = "NHWC N H W group_size|C"
_UPSCALED = "NHWC N scale_factor*H scale_factor*W C"
_MASKS = "NHWC N scale_factor*H scale_factor*W group_size*kernel_size*kernel_size"
_PLANES = "NCHW N C scale_factor*H scale_factor*W"


def _expected_planes(values: Values) -> dict[str, Array]:
    """Return what the operator in NHWC gives, in NCHW."""
    numbers = {name: int(values.numbers[name]) for name in _NUMBERS}
    result = reference.carafe_forward(values.inputs["input"], values.inputs["mask"], **numbers)
    return {"output": np.moveaxis(result, -1, 1)}


OPERATORS = (
    Operator(
        "carafe_forward",
        "mluOpCarafeForward",
        "carafe_desc input mask output",
        inputs={"input": _MAP, "mask": _MASKS},
        outputs={"output": _UPSCALED},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        op_type=408,
        objects=_OBJECTS,
        bounds={"mask": (0, 1)},
    ),
    Operator(
        "cpu_carafe_nchw_forward",
        "mluOpCpuCarafeNchwForward",
        "carafe_desc input mask output",
        inputs={"input": _MAP, "mask": _MASKS},
        outputs={"output": _PLANES},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        objects=_OBJECTS,
        bounds={"mask": (0, 1)},
        kind="arithmetic",
        expected=_expected_planes,
    ),
    Operator(
        "carafe_backward",
        "mluOpCarafeBackward",
        "carafe_desc input mask grad_output grad_input grad_mask",
        inputs={"input": _MAP, "mask": _MASKS, "grad_output": _UPSCALED},
        outputs={"grad_input": _MAP, "grad_mask": _MASKS},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        op_type=409,
        objects=_OBJECTS,
        bounds={"mask": (0, 1)},
    ),
)
