# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, UNSUPPORTED, Call, Faults, Tensor


def forward(call: Call) -> Faults:
    image, rows, boxes, argmax = call["input output boxes argmax_idx"]
    yield from _arguments(call, image, rows, boxes, argmax)
    yield from check.apart(call, [rows, argmax], [image, boxes])


def backward(call: Call) -> Faults:
    image, rows, boxes, argmax = call["grad_input grad_output boxes argmax_idx"]
    yield from _arguments(call, image, rows, boxes, argmax)
    yield from check.apart(call, [image], [rows, boxes, argmax])
    steps = call.read(argmax)
    if (steps < 0).any() or (steps > call.numbers["pool_size"]).any():
        yield BAD, "argmax_idx"


def _arguments(call: Call, image: Tensor, rows: Tensor, boxes: Tensor, argmax: Tensor) -> Faults:
    tensors = [image, rows, boxes, argmax]
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(3, [boxes])
    yield from check.rank(4, [image, rows, argmax])
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.floating([image, rows, boxes])
    yield from check.dtype("INT32", [argmax])
    yield from check.layout("NHWC", [image, rows, argmax])
    n, h, w, c = image.dims
    if 0 in image.dims or c % 4 != 0:
        yield BAD, image.name
    yield from check.shape(boxes, n, h * w, 4)
    for tensor in (rows, argmax):
        yield from check.shape(tensor, n, h * w, 4, c // 4)
    yield from check.at_least(call, 1, "pool_size")
    yield from check.countable(UNSUPPORTED, tensors)
    yield from check.data(tensors)


ORDER = {"mluOpBorderAlignForward": forward, "mluOpBorderAlignBackward": backward}
