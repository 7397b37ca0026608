# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, UNSUPPORTED, Call, Faults, Tensor


def forward(call: Call) -> Faults:
    image, boxes, output, argmax_x, argmax_y = call["input boxes output argmax_x argmax_y"]
    yield from check.nulls(call, "handle roialign_desc")
    yield from check.descriptors([image, boxes, output])
    yield from check.data_given([image, boxes, output])
    maximum = "roialign_desc" not in call.unset and call.numbers["pool_mode"] == 0
    places = [argmax_x, argmax_y] if maximum else []
    yield from _both(places)
    yield from check.was_set(call, "roialign_desc")
    tensors = [output, image, boxes, *places]
    yield from _forms(tensors, image, boxes)
    bins = call.numbers["pooled_height"], call.numbers["pooled_width"]
    yield from _shapes([output, *places], boxes, bins, image.dims[3])
    yield from check.countable(UNSUPPORTED, tensors)
    if maximum:
        yield from check.at_most(call, UNSUPPORTED, 128, "sampling_ratio")
    if output.elements == 0:
        yield NOTHING_TO_DO
    if image.elements == 0:
        yield BAD, "input"
    yield from check.data(tensors)
    yield from check.apart(call, [output, *places], [image, boxes])
    yield from check.images(call, boxes, image.dims[0])


def backward(call: Call) -> Faults:
    grads, boxes, image = call["grads boxes grads_image"]
    places: list[Tensor] = []
    yield from check.nulls(call, "handle")
    for tensor in (grads, boxes, image):
        yield from check.descriptors([tensor])
        yield from check.data_given([tensor])
    if "pool_mode" in call.numbers:
        if call.numbers["pool_mode"] not in (0, 1):
            yield BAD, "pool_mode"
        places = call["argmax_x argmax_y"] if call.numbers["pool_mode"] == 0 else []
    yield from _both(places)
    tensors = [grads, image, boxes, *places]
    yield from _forms(tensors, image, boxes)
    yield from _shapes([grads, *places], boxes, grads.dims[1:3], image.dims[3])
    yield from check.countable(UNSUPPORTED, tensors)
    if image.elements == 0:
        yield NOTHING_TO_DO if 0 in (image.dims[3], boxes.dims[0]) else (BAD, "grads_image")
    yield from check.data(tensors)
    yield from check.apart(call, [image], [grads, boxes, *places])
    yield from check.images(call, boxes, image.dims[0])


def _both(places: list[Tensor]) -> Faults:
    """Descriptor and data of each."""
    for tensor in places:
        yield from check.descriptors([tensor])
        yield from check.data_given([tensor])


def _forms(tensors: list[Tensor], image: Tensor, boxes: Tensor) -> Faults:
    maps = [tensor for tensor in tensors if tensor is not boxes]
    yield from check.rank(4, maps)
    yield from check.layout("NHWC", maps)
    yield from check.rank(2, [boxes])
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.floating([image, *(tensor for tensor in tensors if tensor is not image)])


def _shapes(pooled: list[Tensor], boxes: Tensor, bins: tuple[int, ...], channels: int) -> Faults:
    if boxes.dims[1] != 5:
        yield BAD, "boxes"
    if 0 in pooled[0].dims[1:3]:
        yield BAD, pooled[0].name
    for tensor in pooled:
        yield from check.shape(tensor, boxes.dims[0], *bins, channels)


def set_descriptor(call: Call) -> Faults:
    yield from check.nulls(call, "roialign_desc")
    yield from check.at_least(call, 1, "pooled_height pooled_width")
    yield from check.one_of(call, "0 1", "pool_mode")


ORDER = {
    "mluOpRoiAlignForward_v2": forward,
    "mluOpRoiAlignBackward_v2": backward,
    "mluOpRoiAlignBackward": backward,
    "mluOpSetRoiAlignForwardDescriptor_v2": set_descriptor,
}
