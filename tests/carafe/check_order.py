# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, UNSUPPORTED, Call, Faults, Tensor


def forward(call: Call) -> Faults:
    yield from _forward(call, "NHWC")


def forward_nchw(call: Call) -> Faults:
    yield from _forward(call, "NCHW")


def _forward(call: Call, layout: str) -> Faults:
    tensors = call["input mask output"]
    yield from check.nulls(call, "handle carafe_desc")
    yield from check.descriptors(tensors)
    if check.any_empty(tensors):
        yield NOTHING_TO_DO
    if "carafe_desc" in call.unset:
        yield BAD, "carafe_desc"
    yield from check.rank(4, tensors)
    yield from check.layout("NHWC", tensors[:2])
    yield from check.layout(layout, tensors[2:])
    yield from check.packed(BAD, tensors)
    yield from check.floating(tensors)
    yield from check.at_most(call, UNSUPPORTED, 45, "kernel_size")
    yield from check.at_most(call, UNSUPPORTED, 5, "scale_factor")
    yield from _shapes(call, [tensors[0]], [tensors[1]], tensors[2], layout)
    yield from check.data(tensors)
    yield from check.countable(UNSUPPORTED, tensors)
    yield from check.apart(call, tensors[2:], tensors[:2])


def backward(call: Call) -> Faults:
    tensors = call["input mask grad_output grad_input grad_mask"]
    image, mask, grad_output, grad_input, grad_mask = tensors
    yield from check.nulls(call, "handle carafe_desc")
    yield from check.descriptors(tensors)
    if "carafe_desc" in call.unset:
        yield BAD, "carafe_desc"
    yield from check.rank(4, tensors)
    yield from check.layout("NHWC", tensors)
    yield from _shapes(call, [image, grad_input], [mask, grad_mask], grad_output)
    yield from check.floating(tensors)
    yield from check.packed(UNSUPPORTED, tensors)
    if check.any_empty(tensors):
        yield NOTHING_TO_DO
    yield from check.data(tensors)
    yield from check.at_most(call, UNSUPPORTED, 137, "kernel_size")
    yield from check.countable(UNSUPPORTED, tensors)
    yield from check.apart(call, tensors[3:], tensors[:3])


def _shapes(
    call: Call, maps: list[Tensor], masks: list[Tensor], upscaled: Tensor, layout: str = "NHWC"
) -> Faults:
    n, h, w, c = maps[0].dims
    size, groups, scale = (
        call.numbers[name] for name in ("kernel_size", "group_size", "scale_factor")
    )
    if c % groups != 0:
        yield BAD, maps[0].name
    for tensor in maps:
        yield from check.shape(tensor, n, h, w, c)
    for tensor in masks:
        yield from check.shape(tensor, n, scale * h, scale * w, groups * size * size)
    dims = (scale * h, scale * w, c) if layout == "NHWC" else (c, scale * h, scale * w)
    yield from check.shape(upscaled, n, *dims)


def set_descriptor(call: Call) -> Faults:
    yield from check.nulls(call, "carafe_desc")
    yield from check.one_of(call, "4", "dimNb")
    yield from check.at_least(call, 1, "kernel_size")
    if call.numbers["kernel_size"] % 2 == 0:
        yield BAD, "kernel_size"
    yield from check.at_least(call, 1, "group_size scale_factor")


ORDER = {
    "mluOpCarafeForward": forward,
    "mluOpCpuCarafeNchwForward": forward_nchw,
    "mluOpCarafeBackward": backward,
    "mluOpSetCarafeDescriptor": set_descriptor,
}
