# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, UNSUPPORTED, Call, Faults, Tensor


def forward(call: Call) -> Faults:
    output, image, rois, offset = call["output input rois offset"]
    tensors = [t for t in (output, image, rois, offset) if t is not offset or offset.given]
    yield from check.nulls(call, "handle")
    yield from check.descriptors([output, image, rois])
    if image.dims[0] == 0:
        yield BAD, "input"
    for tensor in (output, rois):
        if tensor.elements == 0:
            yield BAD, tensor.name
    if image.elements == 0:
        yield NOTHING_TO_DO
    yield from _forms(call, tensors, [output, image], image, rois)
    yield from _offsets(call, tensors[3:], image, rois)
    yield from _pooled(call, output, image, rois)
    yield from check.countable(UNSUPPORTED, tensors)
    if offset.given != (offset.address != 0):
        yield BAD, "offset"
    yield from check.data(tensors)
    yield from check.apart(call, [output], tensors[1:])
    yield from check.images(call, rois, image.dims[0])


def backward(call: Call) -> Faults:
    grad_output, image, rois, grad_input = call["grad_output input rois grad_input"]
    offset, grad_offset = call["offset grad_offset"]
    inputs = [grad_output, image, rois, *([offset] if offset.given else [])]
    outputs = [grad_input, *([grad_offset] if grad_offset.given else [])]
    tensors = inputs + outputs
    yield from check.nulls(call, "handle")
    yield from check.descriptors([grad_output, image, rois, grad_input])
    yield from _forms(call, tensors, [grad_output, image, grad_input], image, rois)
    yield from check.shape(grad_input, *image.dims)
    for tensor in (offset, grad_offset):
        if tensor.given != (tensor.address != 0):
            yield BAD, tensor.name
    if offset.given != grad_offset.given:
        yield BAD, "grad_offset"
    yield from _offsets(call, [t for t in (offset, grad_offset) if t.given], image, rois)
    yield from _pooled(call, grad_output, image, rois)
    yield from check.countable(UNSUPPORTED, tensors)
    if grad_output.elements == 0:
        yield BAD, "grad_output"
    if image.dims[0] == 0:
        yield BAD, "input"
    if rois.elements == 0:
        yield BAD, "rois"
    if image.elements == 0:
        yield NOTHING_TO_DO
    yield from check.data(tensors)
    yield from check.apart(call, outputs, inputs)
    yield from check.images(call, rois, image.dims[0])


def _forms(
    call: Call, tensors: list[Tensor], maps: list[Tensor], image: Tensor, rois: Tensor
) -> Faults:
    yield from check.layout("NHWC", maps)
    yield from check.rank(4, maps)
    yield from check.packed(UNSUPPORTED, tensors)
    others = [t for t in tensors if t is not image and not t.name.endswith("offset")]
    yield from check.floating([image, *others])
    yield from check.rank(2, [rois])
    if rois.dims[1] != 5:
        yield BAD, "rois"
    yield from check.at_least(call, 1, "pooled_height pooled_width")


def _bins(call: Call) -> tuple[int, int]:
    return call.numbers["pooled_height"], call.numbers["pooled_width"]


def _offsets(call: Call, offsets: list[Tensor], image: Tensor, rois: Tensor) -> Faults:
    yield from check.dtype(image.dtype, offsets)
    yield from check.rank(4, offsets)
    for tensor in offsets:
        yield from check.shape(tensor, rois.dims[0], 2, *_bins(call))


def _pooled(call: Call, pooled: Tensor, image: Tensor, rois: Tensor) -> Faults:
    yield from check.shape(pooled, rois.dims[0], *_bins(call), image.dims[3])


ORDER = {"mluOpDeformRoiPoolForward": forward, "mluOpDeformRoiPoolBackward": backward}
