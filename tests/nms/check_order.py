# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, UNSUPPORTED, Call, Faults, Tensor


def nms(call: Call) -> Faults:
    boxes, confidence, output, count = call["boxes confidence output output_size"]
    yield from check.nulls(call, "handle boxes_desc nms_desc output_desc boxes output output_size")
    yield from check.was_set(call, "nms_desc")
    yield from _boxes(call, boxes, confidence)
    seven = _numbers(call, boxes) == 7
    if not seven and confidence.address == 0:
        yield BAD, "confidence"
    if seven and confidence.address != 0:
        yield BAD, "confidence"
    yield from _scores(call, boxes, confidence)
    tensors = [boxes, output] if seven else [boxes, confidence, output]
    yield from check.packed(UNSUPPORTED, tensors)
    yield from _types(call, boxes, confidence)
    mode = 0 if seven else call.numbers["output_mode"]
    if mode in (0, 3):
        yield from check.dtype("INT32 UINT32", [output])
    else:
        yield from check.dtype(boxes.dtype, [output])
    images = boxes.dims[0] if len(boxes.dims) == 3 else 1
    classes = confidence.dims[1] if len(boxes.dims) == 3 else 1
    if mode != 3 and (images != 1 or classes != 1):
        yield UNSUPPORTED, "output_mode"
    most = _most(call, boxes, images * classes)
    yield from _output(mode, output, most)
    yield from check.countable(UNSUPPORTED, tensors)
    needed = call.needed()
    if call.workspace_size < needed:
        yield BAD, "workspace_size"
    if call.workspace == 0 and needed > 0:
        yield BAD, "workspace"
    yield from check.data(tensors)
    if count.address % 4 != 0:
        yield BAD, "output_size"
    yield from check.apart(call, [output, count], tensors[:-1])
    if check.workspace_meets(call, tensors[:-1]):
        yield BAD, "workspace"


def by_label(call: Call) -> Faults:
    boxes, confidence, output, count = call["boxes confidence output output_size"]
    labels, scores = ([tensor] if tensor.given else [] for tensor in call["labels scores"])
    yield from check.nulls(call, "handle boxes_desc nms_desc output_desc boxes output output_size")
    yield from check.was_set(call, "nms_desc")
    yield from _boxes(call, boxes, confidence)
    seven = _numbers(call, boxes) == 7
    if seven == (confidence.address != 0):
        yield BAD, "confidence"
    yield from _scores(call, boxes, confidence)
    tensors = [boxes, output] if seven else [boxes, confidence, output]
    yield from check.packed(UNSUPPORTED, tensors + labels + scores)
    yield from _types(call, boxes, confidence)
    if not seven and call.numbers["output_mode"] != 0:
        yield BAD, "output_mode"
    if seven or len(boxes.dims) != 2:
        yield BAD, "boxes"
    yield from check.rank(1, [output, *labels, *scores])
    yield from check.dtype("INT32", labels)
    yield from check.dtype("FLOAT", scores)
    for tensor in labels:
        yield from check.shape(tensor, _candidates(call, boxes))
    for tensor in scores:
        yield from check.shape(tensor, *output.dims)
    yield from check.dtype("INT32 UINT32", [output])
    yield from _output(0, output, _most(call, boxes, 1))
    yield from check.countable(UNSUPPORTED, tensors + labels + scores)
    yield from check.data(tensors)
    if count.address % 4 != 0:
        yield BAD, "output_size"
    yield from check.data(labels + scores)
    yield from check.apart(call, [output, count, *scores], [boxes, confidence, *labels])


def workspace_size(call: Call) -> Faults:
    boxes, confidence = call["boxes confidence"]
    yield from check.nulls(call, "handle nms_desc boxes_desc")
    if "&workspace_size" in call.null:
        yield BAD, "size"
    yield from check.was_set(call, "nms_desc")
    yield from _boxes(call, boxes, confidence)
    yield from _scores(call, boxes, confidence)
    tensors = [boxes, confidence] if confidence.given else [boxes]
    yield from check.packed(UNSUPPORTED, tensors)
    yield from _types(call, boxes, confidence)
    yield from check.countable(UNSUPPORTED, tensors)


def _axis(call: Call, boxes: Tensor) -> int:
    """Where the numbers of a box are."""
    return -1 if call.numbers["input_layout"] == 0 else -2


def _numbers(call: Call, boxes: Tensor) -> int:
    return boxes.dims[_axis(call, boxes)]


def _candidates(call: Call, boxes: Tensor) -> int:
    return boxes.dims[-2 if call.numbers["input_layout"] == 0 else -1]


def _boxes(call: Call, boxes: Tensor, confidence: Tensor) -> Faults:
    if len(boxes.dims) not in (2, 3):
        yield BAD, "boxes"
    if _numbers(call, boxes) not in (4, 7):
        yield BAD, "boxes"
    if _numbers(call, boxes) == 7 and len(boxes.dims) == 3:
        yield BAD, "boxes"
    if confidence.given != (_numbers(call, boxes) == 4):
        yield BAD, "confidence_desc"


def _scores(call: Call, boxes: Tensor, confidence: Tensor) -> Faults:
    if not confidence.given:
        return
    n = _candidates(call, boxes)
    if len(boxes.dims) == 2:
        yield from check.shape(confidence, n)
    else:
        yield from check.rank(3, [confidence])
        yield from check.shape(confidence, boxes.dims[0], confidence.dims[1], n)


def _types(call: Call, boxes: Tensor, confidence: Tensor) -> Faults:
    yield from check.dtype("HALF FLOAT", [boxes])
    if confidence.given:
        mixed = len(boxes.dims) == 2 and boxes.dtype == "FLOAT"
        yield from check.dtype("HALF FLOAT" if mixed else boxes.dtype, [confidence])


def _most(call: Call, boxes: Tensor, lists: int) -> int:
    """How many results there may be."""
    n = _candidates(call, boxes)
    if _numbers(call, boxes) == 7:
        return n
    most = call.numbers["max_output_size"]
    return (most if call.numbers["pad_to_max_output_size"] else min(most, n)) * lists


def _output(mode: int, output: Tensor, most: int) -> Faults:
    yield from check.rank(1 if mode == 0 else 2, [output])
    length = output.dims[1] if mode == 2 else output.dims[0]
    if mode == 1:
        yield from check.shape(output, length, 5)
    if mode == 2:
        yield from check.shape(output, 5, length)
    if mode == 3:
        yield from check.shape(output, length, 3)
    if length < most:
        yield BAD, "output"


def set_descriptor(call: Call) -> Faults:
    yield from check.nulls(call, "nms_desc")
    yield from check.one_of(call, "0 1", "box_mode")
    yield from check.one_of(call, "0 1 2 3", "output_mode")
    yield from check.one_of(call, "0 1", "algo")
    yield from check.one_of(call, "0 1 2", "method_mode")
    yield from check.no_nan(call, "iou_threshold")
    yield from check.no_nan(call, "soft_nms_sigma")
    yield from check.at_least(call, 0, "soft_nms_sigma max_output_size")
    yield from check.no_nan(call, "confidence_threshold")
    yield from check.one_of(call, "0.0 1.0", "offset")
    yield from check.one_of(call, "0 1", "input_layout")


ORDER = {
    "mluOpNms": nms,
    "mluOpCpuNmsByLabel": by_label,
    "mluOpGetNmsWorkspaceSize": workspace_size,
    "mluOpSetNmsDescriptor": set_descriptor,
}
