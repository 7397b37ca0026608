# SPDX-License-Identifier: Apache-2.0
"""The order of checks again, in plain steps from the contract: see tests/differential."""

import order_words as check
from order_words import BAD, NOTHING_TO_DO, UNSUPPORTED, Call, Faults

INDICES = "mask_h_idx mask_w_idx"


def im2col(call: Call) -> Faults:
    yield from _im2col_arguments(call)
    tensors = call[f"feature {INDICES} data_col"]
    yield from check.workspace(call)
    yield from check.data(tensors)
    yield from check.apart(call, tensors[3:], tensors[:3])


def im2col_size(call: Call) -> Faults:
    yield from check.nulls(call, "handle")
    yield from check.descriptors(call[f"feature {INDICES} data_col"])
    yield from check.place_of_size(call)
    for fault in _im2col_arguments(call):
        if fault == NOTHING_TO_DO:
            return  # and the size is 0
        yield fault


def _im2col_arguments(call: Call) -> Faults:
    tensors = call[f"feature {INDICES} data_col"]
    feature, rows, columns, col = tensors
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(4, [feature])
    yield from check.rank(1, [rows, columns])
    yield from check.rank(2, [col])
    yield from check.layout("NCHW", [feature])
    yield from check.floating([feature, col])
    yield from check.dtype("INT32", [rows, columns])
    yield from check.at_least(call, 1, "kernel_h kernel_w")
    if feature.dims[0] != 1:
        yield BAD, "feature"
    yield from check.shape(columns, *rows.dims)
    taps = feature.dims[1] * call.numbers["kernel_h"] * call.numbers["kernel_w"]
    yield from check.shape(col, taps, rows.dims[0])
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.countable(UNSUPPORTED, tensors)
    if feature.elements == 0:
        yield BAD, "feature"
    if col.dims[0] == 0:
        yield BAD, "data_col"
    if rows.dims[0] == 0:
        yield NOTHING_TO_DO


def col2im(call: Call) -> Faults:
    tensors = call[f"col {INDICES} im"]
    _, rows, columns, im = tensors
    yield from _col2im_arguments(call)
    if rows.dims[0] == 0:
        yield from check.data([im])
        yield from check.apart(call, [im], [])
        return
    yield from check.workspace(call)
    yield from check.data(tensors)
    yield from check.apart(call, tensors[3:], tensors[:3])
    for tensor, extent in ((rows, im.dims[2]), (columns, im.dims[3])):
        places = call.read(tensor)
        if (places < 0).any() or (places >= extent).any():
            yield BAD, tensor.name


def col2im_size(call: Call) -> Faults:
    yield from check.nulls(call, "handle")
    yield from check.descriptors(call[f"col {INDICES} im"])
    yield from check.place_of_size(call)
    yield from _col2im_arguments(call)


def _col2im_arguments(call: Call) -> Faults:
    tensors = call[f"col {INDICES} im"]
    col, rows, columns, im = tensors
    yield from check.nulls(call, "handle")
    yield from check.descriptors(tensors)
    yield from check.rank(2, [col])
    yield from check.rank(1, [rows, columns])
    yield from check.rank(4, [im])
    yield from check.layout("NCHW", [im])
    yield from check.floating([col, im])
    yield from check.dtype("INT32", [rows, columns])
    for tensor in (rows, columns):
        yield from check.shape(tensor, col.dims[1])
    yield from check.shape(im, 1, col.dims[0], *im.dims[2:])
    yield from check.packed(UNSUPPORTED, tensors)
    yield from check.countable(UNSUPPORTED, tensors)
    if im.elements == 0:
        yield BAD, "im"
    if col.dims[0] == 0:
        yield BAD, "col"


ORDER = {
    "mluOpMaskedIm2colForward": im2col,
    "mluOpGetMaskedIm2colForwardWorkspaceSize": im2col_size,
    "mluOpMaskedCol2imForward": col2im,
    "mluOpGetMaskedCol2imForwardWorkspaceSize": col2im_size,
}
