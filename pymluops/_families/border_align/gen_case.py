# SPDX-License-Identifier: Apache-2.0
"""The test cases of BorderAlign."""

import numpy as np

from pymluops._gen_case.operators import Numbers, Operator, Parameters, Values
from pymluops._gen_case.pictures import boxes_over, random_boxes
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_PARAMETERS = Parameters("border_align_param", 9001, ("int32 pool_size 1 10",))
_SIZES = {"N": 1, "H": 7, "W": 10, "C": 8, "pool_size": 10}
_MAP, _BOXES = "NHWC N H W 4*C", "ARRAY N H*W 4"
_ROWS, _STEPS = "NHWC N H*W 4 C", "NHWC int32 N H*W 4 C"


def _boxes(rng: np.random.Generator, sizes: Numbers) -> Array:
    n, height, width = sizes["N"], sizes["H"], sizes["W"]
    return random_boxes(rng, n * height * width, height, width).reshape(n, height * width, 4)


def _map_size(values: Values) -> Numbers:
    _, height, width, _ = values.outputs["grad_input"].shape
    return {"height": height, "width": width}


def _pictures(values: Values) -> list[Picture]:
    """Return the boxes of the first image."""
    image = values.inputs.get("input", values.outputs.get("grad_input"))
    assert image is not None
    return [boxes_over(image[0], values.inputs["boxes"][0], "the boxes of image 0")]


OPERATORS = (
    Operator(
        "border_align_forward",
        "mluOpBorderAlignForward",
        "input boxes pool_size output argmax_idx",
        inputs={"input": _MAP, "boxes": _BOXES},
        outputs={"output": _ROWS, "argmax_idx": _STEPS},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        op_type=1009,
        values={"boxes": _boxes},
        pictures=_pictures,
    ),
    Operator(
        "border_align_backward",
        "mluOpBorderAlignBackward",
        "grad_output boxes argmax_idx pool_size grad_input",
        inputs={"grad_output": _ROWS, "boxes": _BOXES, "argmax_idx": _STEPS},
        outputs={"grad_input": _MAP},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        op_type=9001,
        more=_map_size,
        values={"boxes": _boxes},
        bounds={"argmax_idx": (0, "pool_size")},
        pictures=_pictures,
    ),
)
