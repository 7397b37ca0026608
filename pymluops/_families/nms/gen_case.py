# SPDX-License-Identifier: Apache-2.0
"""The test cases of nms."""

import numpy as np

from pymluops._families.nms import reference
from pymluops._gen_case.operators import PRIVATE, Numbers, Operator, Parameters, Values
from pymluops._gen_case.pictures import boxes_over, random_boxes
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_PARAMETERS = Parameters(
    "nms_param",
    PRIVATE,
    (
        f"int32 box_mode {PRIVATE} 0",
        f"int32 mode {PRIVATE + 1} 0",
        f"int32 algo {PRIVATE + 2} 0",
        f"int32 method_mode {PRIVATE + 3} 0",
        f"float iou_threshold {PRIVATE + 4}",
        f"float soft_nms_sigma {PRIVATE + 5} 0",
        f"int32 max_output_boxes {PRIVATE + 6}",
        f"float confidence_threshold {PRIVATE + 7} 0",
        f"float offset {PRIVATE + 8} 0",
        f"int32 input_layout {PRIVATE + 9} 0",
        f"bool pad_to_max_output_size {PRIVATE + 10} false",
        f"int32 run_mode {PRIVATE + 11} 0",
    ),
)
_SET = (
    "Nms box_mode output_mode algo method_mode iou_threshold soft_nms_sigma max_output_size "
    "confidence_threshold offset input_layout pad_to_max_output_size"
)
_SIZES = {
    "n": 40,
    "box_mode": 0,
    "output_mode": 0,
    "algo": 0,
    "method_mode": 0,
    "iou_threshold": 0.5,
    "soft_nms_sigma": 0.5,
    "max_output_size": 40,
    "confidence_threshold": 0.05,
    "offset": 0.0,
    "input_layout": 0,
    "pad_to_max_output_size": False,
}
_BOXES, _SCORES, _EXTENT = "ARRAY n 4", "ARRAY n", 100


def _select(values: Values) -> tuple[Array, Array] | None:
    """Return indices and scores of boxes [n, 4] or [4, n]; other forms have no reference."""
    n = values.numbers
    boxes, labels = values.inputs["boxes"], values.inputs.get("labels")
    scores = values.inputs.get("confidence")
    if n["input_layout"]:
        boxes = boxes.swapaxes(-1, -2)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or n["output_mode"] != 0 or scores is None:
        return None
    settings = (
        n["iou_threshold"],
        n["confidence_threshold"],
        n["offset"] if n["algo"] == 1 else 0,
        ("hard", "linear", "gaussian")[n["method_mode"]],
        n["soft_nms_sigma"],
        ("corners", "center")[n["box_mode"]],
    )
    kept: tuple[Array, Array] = reference.select(
        boxes, scores, labels, settings, n["max_output_size"]
    )
    return kept


def _unused(inputs: dict[str, Array], numbers: Numbers) -> frozenset[str]:
    """Boxes of seven numbers have no scores: a case of MLU-OPS has a tensor nevertheless."""
    shape = inputs["boxes"].shape
    seven = len(shape) == 2 and shape[0 if numbers["input_layout"] else 1] == 7
    return frozenset({"confidence"} if seven else ())


def _expected(values: Values) -> dict[str, Array] | None:
    selected = _select(values)
    if selected is None:
        return None
    found = {"output": selected[0], "scores": selected[1], "output_size": [len(selected[0])]}
    made = {}
    for name, array in values.outputs.items():
        padded = np.zeros(array.shape, array.dtype)
        part = np.asarray(found[name])[: padded.size]
        padded.reshape(-1)[: len(part)] = part
        made[name] = padded
    return made


def _trim(outputs: dict[str, Array], written: dict[str, Array]) -> dict[str, Array]:
    """Leave out what lies behind the results, which nobody writes."""
    count = int(written["output_size"].reshape(-1)[0])
    return {name: a if name == "output_size" else _cut(a, count) for name, a in outputs.items()}


def _cut(array: Array, count: int) -> Array:
    return array[:count] if array.ndim == 1 or array.shape[-1] in (3, 5) else array[:, :count]


def _boxes(rng: np.random.Generator, sizes: Numbers) -> Array:
    return random_boxes(rng, sizes["n"], _EXTENT, _EXTENT)


def _pictures(values: Values) -> list[Picture]:
    """Return all boxes, and those that are kept."""
    boxes = values.inputs["boxes"]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or values.numbers["output_mode"] != 0:
        return []
    extent = int(np.ceil(np.nan_to_num(boxes.astype(np.float64)).max(initial=1)))
    if extent > 4096:
        return []
    empty = np.zeros((extent, extent, 1))
    count = int(values.outputs["output_size"].reshape(-1)[0])
    kept = boxes[values.outputs["output"].reshape(-1)[:count]]
    return [boxes_over(empty, boxes, "boxes"), boxes_over(empty, kept, "those kept", "\u2192")]


OPERATORS = (
    Operator(
        "nms",
        "mluOpNms",
        "nms_desc boxes confidence workspace workspace_size output *output_size",
        inputs={"boxes": _BOXES, "confidence": _SCORES},
        outputs={"output": "ARRAY int32 max_output_size", "output_size": "ARRAY int32 1"},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        renamed={"output_mode": "mode", "max_output_size": "max_output_boxes"},
        objects={"nms_desc": _SET},
        workspace="mluOpGetNmsWorkspaceSize nms_desc boxes_desc confidence_desc",
        optional=frozenset({"confidence"}),
        unused=_unused,
        expected=_expected,
        trim=_trim,
        values={"boxes": _boxes},
        bounds={"confidence": (0, 1)},
        pictures=_pictures,
    ),
    Operator(
        "cpu_nms_by_label",
        "mluOpCpuNmsByLabel",
        "nms_desc boxes confidence labels output scores *output_size",
        inputs={"boxes": _BOXES, "confidence": _SCORES, "labels": "ARRAY int32 n"},
        outputs={
            "output": "ARRAY int32 max_output_size",
            "output_size": "ARRAY int32 1",
            "scores": "ARRAY float32 max_output_size",
        },
        sizes=_SIZES,
        parameters=_PARAMETERS,
        renamed={"output_mode": "mode", "max_output_size": "max_output_boxes"},
        objects={"nms_desc": _SET},
        optional=frozenset({"labels", "scores"}),
        kind="movement",
        expected=_expected,
        trim=_trim,
        values={"boxes": _boxes},
        bounds={"confidence": (0, 1), "labels": (0, 3)},
        pictures=_pictures,
    ),
)
