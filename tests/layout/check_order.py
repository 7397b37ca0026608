# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the manual: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, SIZES, UNSUPPORTED, Call, Faults, Tensor


def _same_images(call: Call) -> Faults:
    tensors = call["input output"]
    image, output = tensors
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(4, tensors)
    other = {"NCHW": "NHWC", "NHWC": "NCHW"}
    if image.layout not in other:
        yield BAD, "input"
    yield from check.layout(other[image.layout], [output])
    if SIZES[image.dtype] not in (2, 4):
        yield BAD, "input"
    yield from check.dtype(image.dtype, [output])
    n, *dims = image.dims
    turned = (dims[1], dims[2], dims[0]) if image.layout == "NCHW" else (dims[2], *dims[:2])
    yield from check.shape(output, n, *turned)


def convert(call: Call) -> Faults:
    tensors = call["input output"]
    image, output = tensors
    yield from _same_images(call)
    for tensor in tensors:
        if not _is_part(tensor):
            yield BAD, tensor.name
    yield from check.countable(UNSUPPORTED, tensors)
    if image.elements == 0:
        yield NOTHING_TO_DO
    yield from check.data(tensors)
    yield from check.apart(call, [output], [image])


def convert_in_place(call: Call) -> Faults:
    tensors = call["input output"]
    image, output = tensors
    yield from _same_images(call)
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.countable(UNSUPPORTED, tensors)
    if image.elements == 0:
        yield NOTHING_TO_DO
    yield from check.data([output])


def _is_part(tensor: Tensor) -> bool:
    """The last dim has the stride 1, another one that of what is behind it, or a larger one."""
    if tensor.strides is None or tensor.elements == 0:
        return True
    behind = 1
    for i, (dim, stride) in enumerate(zip(tensor.dims[::-1], tensor.strides[::-1], strict=True)):
        if dim == 1:
            continue
        if stride < behind or (i == 0 and stride != 1):
            return False
        behind = dim * stride
    return behind <= 2**56  # elements: farther than any memory reaches


ORDER = {
    "mluOpCpuConvertLayout": convert,
    "mluOpCpuConvertLayoutInPlace": convert_in_place,
}
