# SPDX-License-Identifier: Apache-2.0
"""The test cases of RoIAlign."""

from typing import Any

import numpy as np

from pymluops._families.roi_align import reference
from pymluops._gen_case.operators import PRIVATE, Numbers, Operator, Parameters, Values
from pymluops._gen_case.pictures import boxes_over, random_boxes
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_FORWARD, _BACKWARD = PRIVATE + 200, PRIVATE + 220
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
    "pool_mode": 0,
    "aligned": True,
}
_MAP, _POOLED, _BOXES = "NHWC N H W C", "NHWC R pooled_height pooled_width C", "ARRAY R 5"
_SET = (
    "RoiAlignForward_v2 pooled_height pooled_width sampling_ratio spatial_scale pool_mode aligned"
)
_ARGMAX = frozenset({"argmax_x", "argmax_y"})
#: Of both backwards: a case of either is one of mluOpRoiAlignBackward_v2, without argmax for means.
_OF_BACKWARD = Parameters(
    "roi_align_backward_param",
    _BACKWARD,
    (
        f"float spatial_scale {_BACKWARD}",
        f"int32 sampling_ratio {_BACKWARD + 1}",
        f"bool aligned {_BACKWARD + 2}",
        f"int32 pool_mode {_BACKWARD + 3} 1",
        f"int32 version {_BACKWARD + 4} 1",
    ),
)


def _numbers(values: Values) -> dict[str, Any]:
    n = values.numbers
    names = ("spatial_scale", "sampling_ratio", "aligned")
    return {name: n[name] for name in names} | {"pool_mode": _mode(n)}


def _mode(numbers: Numbers) -> str:
    return "avg" if numbers.get("pool_mode", 1) == 1 else "max"


def _forward(values: Values) -> dict[str, Array]:
    n = values.numbers
    bins = n["pooled_height"], n["pooled_width"]
    arrays = values.inputs["input"], values.inputs["boxes"]
    found = reference.roi_align_forward(*arrays, *bins, **_numbers(values))
    if _mode(n) == "avg":
        return {"output": found}
    return dict(zip(("output", "argmax_x", "argmax_y"), found, strict=True))


def _backward(values: Values) -> dict[str, Array]:
    given = values.inputs
    size = zip(("batch", "height", "width"), values.outputs["grads_image"].shape[:3], strict=True)
    arrays = [given[name] for name in ("grads", "boxes", "argmax_x", "argmax_y") if name in given]
    arguments: dict[str, Any] = {**dict(size), **_numbers(values)}
    return {"grads_image": reference.roi_align_backward(*arrays, **arguments)}


def _boxes(rng: np.random.Generator, sizes: Numbers) -> Array:
    extent = sizes["H"] / sizes["spatial_scale"], sizes["W"] / sizes["spatial_scale"]
    images = rng.integers(0, sizes["N"], (sizes["R"], 1))
    return np.hstack((images, random_boxes(rng, sizes["R"], *extent)))


def _pictures(values: Values) -> list[Picture]:
    """Return the boxes of the first image."""
    boxes = values.inputs["boxes"].astype(np.float64)
    here = boxes[boxes[:, 0].astype(np.int64) == 0, 1:] * values.numbers["spatial_scale"]
    shift = 0.5 if values.numbers["aligned"] else 0
    image = values.inputs.get("input", values.outputs.get("grads_image"))
    assert image is not None
    return [boxes_over(image[0], here - shift, "the boxes of image 0")]


OPERATORS = (
    Operator(
        "roi_align_forward",
        "mluOpRoiAlignForward_v2",
        "roialign_desc input boxes output argmax_x argmax_y",
        inputs={"input": _MAP, "boxes": _BOXES},
        outputs={"output": _POOLED, "argmax_x": _POOLED, "argmax_y": _POOLED},
        sizes=_SIZES,
        parameters=Parameters(
            "roialign_param",
            _FORWARD,
            (
                f"int32 pooled_height {_FORWARD}",
                f"int32 pooled_width {_FORWARD + 1}",
                f"int32 sampling_ratio {_FORWARD + 2}",
                f"float spatial_scale {_FORWARD + 3}",
                f"int32 pool_mode {_FORWARD + 4} 1",
                f"bool aligned {_FORWARD + 5}",
                f"int32 version {_FORWARD + 6} 1",
            ),
        ),
        objects={"roialign_desc": _SET},
        optional=_ARGMAX,
        expected=_forward,
        values={"boxes": _boxes},
        pictures=_pictures,
    ),
    Operator(
        "roi_align_backward",
        "mluOpRoiAlignBackward_v2",
        "grads boxes argmax_x argmax_y spatial_scale sampling_ratio aligned pool_mode grads_image",
        inputs={"grads": _POOLED, "boxes": _BOXES, "argmax_x": _POOLED, "argmax_y": _POOLED},
        outputs={"grads_image": _MAP},
        sizes=_SIZES,
        parameters=_OF_BACKWARD,
        also=("mluOpRoiAlignBackward",),
        optional=_ARGMAX,
        expected=_backward,
        values={"boxes": _boxes},
        bounds={"argmax_x": (0, "W"), "argmax_y": (0, "H")},
        pictures=_pictures,
    ),
)
