# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, UNSUPPORTED, Call, Faults, Tensor

FORWARD = "input offset mask filter output bias"
DATA = "input offset mask filter grad_output grad_input grad_offset grad_mask"
WEIGHT = "input offset mask grad_filter grad_output grad_bias"
OPTIONAL = ("mask", "bias", "grad_mask", "grad_bias")
ON_CHIP = {FORWARD: "input filter", DATA: "filter grad_output", WEIGHT: "input grad_output"}


def _operator(names: str):
    def order(call: Call) -> Faults:
        yield from check.nulls(call, "handle")
        if call.workspace == 0 and call.workspace_size > 0:
            yield BAD, "workspace"
        yield from _descriptors(call, names)
        yield from _tensors(call, names)
        tensors = call[names]
        for tensor in tensors:
            if tensor.name in OPTIONAL and tensor.given != (tensor.address != 0):
                yield BAD, tensor.name
        given = [tensor for tensor in tensors if tensor.given]
        yield from check.data_given(given)
        yield from check.workspace(call)
        yield from check.data(given)
        outputs = [t for t in given if t.name == "output" or _is_gradient(t, names)]
        yield from check.apart(call, outputs, [t for t in given if t not in outputs])

    return order


def _is_gradient(tensor: Tensor, names: str) -> bool:
    return tensor.name.startswith("grad_") and tensor.name != "grad_output"


def _size(names: str):
    def order(call: Call) -> Faults:
        yield from check.nulls(call, "handle")
        yield from _descriptors(call, names)
        yield from check.place_of_size(call)
        yield from _tensors(call, names)

    return order


def _descriptors(call: Call, names: str) -> Faults:
    yield from check.nulls(call, "dcn_desc")
    yield from check.was_set(call, "dcn_desc")
    yield from check.descriptors([t for t in call[names] if t.name not in OPTIONAL])
    if names == DATA:
        mask, grad_mask = call["mask grad_mask"]
        if mask.given != grad_mask.given:
            yield BAD, "grad_mask"


def _tensors(call: Call, names: str) -> Faults:
    tensors = [tensor for tensor in call[names] if tensor.given]
    biases = [tensor for tensor in tensors if tensor.name.endswith("bias")]
    maps = [tensor for tensor in tensors if tensor not in biases]
    yield from check.rank(4, maps)
    yield from check.rank(1, biases)
    yield from check.layout("NHWC", maps)
    yield from check.layout("ARRAY", biases)
    yield from check.floating(tensors)
    for tensor in tensors:
        if tensor.elements == 0:
            yield BAD, tensor.name
    yield from _shapes(call, {tensor.name: tensor for tensor in tensors})
    for tensor in call[ON_CHIP[names]]:
        if tensor.onchip not in ("INVALID", tensor.dtype):
            yield UNSUPPORTED, tensor.name
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.countable(UNSUPPORTED, tensors)


def _shapes(call: Call, by_name: dict[str, Tensor]) -> Faults:
    number = call.numbers
    n, h, w, c = by_name["input"].dims
    weights = by_name.get("filter") or by_name["grad_filter"]
    pooled = by_name.get("output") or by_name["grad_output"]
    co, kh, kw, _ = weights.dims
    groups, deformable = number["conv_group"], number["deformable_group"]
    for tensor in by_name.values():
        if tensor.name == "grad_input":
            yield from check.shape(tensor, n, h, w, c)
    if n % number["im2col_step"] != 0:
        yield BAD, "input"
    if c % deformable != 0 or c % groups != 0:
        yield BAD, "input"
    if co % groups != 0 or weights.dims[3] != c // groups:
        yield BAD, weights.name
    rows = h + sum(number["pad"][:2]) - (number["dilation"][0] * (kh - 1) + 1)
    columns = w + sum(number["pad"][2:]) - (number["dilation"][1] * (kw - 1) + 1)
    if rows < 0 or columns < 0:
        yield BAD, weights.name
    ho, wo = rows // number["stride"][0] + 1, columns // number["stride"][1] + 1
    taps = deformable * kh * kw
    wanted = {
        "offset": (n, ho, wo, taps * 2),
        "mask": (n, ho, wo, taps),
        "bias": (co,),
        "output": (n, ho, wo, co),
    }
    for name in ("offset", "mask", "bias", "output"):
        for tensor in by_name.values():
            like = "output" if tensor is pooled else tensor.name.removeprefix("grad_")
            if like == name:
                yield from check.shape(tensor, *wanted[like])


def set_descriptor(call: Call) -> Faults:
    yield from check.nulls(call, "dcn_desc")
    yield from check.one_of(call, "4", "dimNb")
    yield from check.nulls(call, "pad stride dilation")
    yield from check.at_least(call, 0, "pad")
    yield from check.at_least(call, 1, "stride dilation deformable_group conv_group im2col_step")
    yield from check.one_of(call, "2", "compute_type")  # MLUOP_DTYPE_FLOAT


ORDER = {
    "mluOpDCNForward": _operator(FORWARD),
    "mluOpGetDCNForwardWorkspaceSize": _size(FORWARD),
    "mluOpDCNBackwardData": _operator(DATA),
    "mluOpGetDCNBakcwardDataWorkspaceSize": _size(DATA),
    "mluOpDCNBackwardWeight": _operator(WEIGHT),
    "mluOpGetDCNBackwardWeightWorkspaceSize": _size(WEIGHT),
    "mluOpSetDCNDescriptor": set_descriptor,
}
