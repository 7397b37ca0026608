# SPDX-License-Identifier: Apache-2.0
"""The test cases of deformable RoI pooling."""

import numpy as np

from pymluops._gen_case.operators import Numbers, Operator, Parameters, Values
from pymluops._gen_case.pictures import boxes_over, random_boxes
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_FIELDS = (
    "int32 sampling_ratio 1",
    "float spatial_scale 2",
    "float gamma 3",
    "int32 pooled_height 4",
    "int32 pooled_width 5",
)
_SIZES = {
    "N": 2,
    "H": 16,
    "W": 20,
    "C": 16,
    "R": 8,
    "pooled_height": 7,
    "pooled_width": 7,
    "spatial_scale": 0.25,
    "sampling_ratio": 2,
    "gamma": 0.1,
}
_MAP, _POOLED = "NHWC N H W C", "NHWC R pooled_height pooled_width C"
_ROIS, _OFFSET = "ARRAY R 5", "ARRAY R 2 pooled_height pooled_width"
_INPUTS = {"input": _MAP, "rois": _ROIS, "offset": _OFFSET}


def _rois(rng: np.random.Generator, sizes: Numbers) -> Array:
    extent = sizes["H"] / sizes["spatial_scale"], sizes["W"] / sizes["spatial_scale"]
    images = rng.integers(0, sizes["N"], (sizes["R"], 1))
    return np.hstack((images, random_boxes(rng, sizes["R"], *extent)))


def _pictures(values: Values) -> list[Picture]:
    """Return the regions of the first image."""
    rois = values.inputs["rois"].astype(np.float64)
    scale = values.numbers["spatial_scale"]
    here = rois[rois[:, 0].astype(np.int64) == 0, 1:] * scale - 0.5
    return [boxes_over(values.inputs["input"][0], here, "the regions of image 0")]


OPERATORS = (
    Operator(
        "deform_roi_pool_forward",
        "mluOpDeformRoiPoolForward",
        "input rois offset pooled_height pooled_width spatial_scale sampling_ratio gamma output",
        inputs=_INPUTS,
        outputs={"output": _POOLED},
        sizes=_SIZES,
        parameters=Parameters("deform_roi_pool_forward_param", 10126, _FIELDS),
        op_type=10126,
        optional=frozenset({"offset"}),
        values={"rois": _rois},
        pictures=_pictures,
    ),
    Operator(
        "deform_roi_pool_backward",
        "mluOpDeformRoiPoolBackward",
        "grad_output input rois offset pooled_height pooled_width spatial_scale sampling_ratio "
        "gamma grad_input grad_offset",
        inputs={"grad_output": _POOLED, **_INPUTS},
        outputs={"grad_input": _MAP, "grad_offset": _OFFSET},
        sizes=_SIZES,
        parameters=Parameters("deform_roi_pool_backward_param", 10127, _FIELDS),
        op_type=10127,
        optional=frozenset({"offset", "grad_offset"}),
        values={"rois": _rois},
        pictures=_pictures,
    ),
)
