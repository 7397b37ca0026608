# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import NOTHING_TO_DO, UNSUPPORTED, Call, Faults


def toy(call: Call) -> Faults:
    tensors = call["x y"]
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(2, tensors)
    yield from check.dtype("FLOAT", tensors)
    yield from check.shape(tensors[1], *tensors[0].dims)
    yield from check.packed(UNSUPPORTED, tensors)
    if check.any_empty(tensors):
        yield NOTHING_TO_DO
    yield from check.data(tensors)
    yield from check.apart(call, tensors[1:], tensors[:1])


ORDER = {"mluOpToy": toy}
