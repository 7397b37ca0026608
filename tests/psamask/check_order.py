# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, Call, Faults, Tensor


def forward(call: Call) -> Faults:
    x, y = call["x y"]
    yield from _arguments(call, x, y, "NHWC")
    yield from _memory(call, x, y)


def backward(call: Call) -> Faults:
    dy, dx = call["dy dx"]
    yield from _arguments(call, dx, dy, "NHWC")
    yield from _memory(call, dy, dx)


def nchw_forward(call: Call) -> Faults:
    x, y = call["x y"]
    yield from _arguments(call, x, y, "NCHW")
    yield from _memory(call, x, y)


def nchw_backward(call: Call) -> Faults:
    dy, dx = call["dy dx"]
    yield from _arguments(call, dx, dy, "NCHW")
    yield from _memory(call, dy, dx)


def _arguments(call: Call, masks: Tensor, spread: Tensor, layout: str) -> Faults:
    tensors = [masks, spread]  # the contract names no order of the two
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(4, tensors)
    yield from check.layout(layout, tensors)
    yield from check.dtype("FLOAT", tensors)
    if call.numbers["psa_type"] not in (0, 1):
        yield BAD, "psa_type"
    yield from check.at_least(call, 0, "h_mask w_mask")
    if layout == "NHWC":
        n, h, w, _ = masks.dims
    else:
        n, _, h, w = masks.dims
    for tensor in tensors:
        size = call.numbers["h_mask"] * call.numbers["w_mask"] if tensor is masks else h * w
        dims = (n, h, w, size) if layout == "NHWC" else (n, size, h, w)
        yield from check.shape(tensor, *dims)
    yield from check.packed(BAD, tensors)
    yield from check.countable(BAD, tensors)


def _memory(call: Call, source: Tensor, target: Tensor) -> Faults:
    if source.elements == 0:
        yield NOTHING_TO_DO
    yield from check.data(sorted([source, target], key=lambda tensor: "y" in tensor.name))
    yield from check.apart(call, [target], [source])


ORDER = {
    "mluOpPsamaskForward": forward,
    "mluOpPsamaskBackward": backward,
    "mluOpCpuPsamaskNchwForward": nchw_forward,
    "mluOpCpuPsamaskNchwBackward": nchw_backward,
}
