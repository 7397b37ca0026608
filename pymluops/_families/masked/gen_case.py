# SPDX-License-Identifier: Apache-2.0
"""The test cases of masked im2col and masked col2im."""

import numpy as np

from pymluops._gen_case.operators import Numbers, Operator, Parameters, Values
from pymluops._gen_case.pictures import positions_on
from pymluops._tensor import Array
from pymluops.demo._run import Picture

_INDICES = {"mask_h_idx": "ARRAY int32 M", "mask_w_idx": "ARRAY int32 M"}
_MAP = "NCHW 1 C H W"
_SIZES = {"C": 16, "H": 8, "W": 8, "M": 20}


def _positions(rng: np.random.Generator, sizes: Numbers) -> tuple[Array, Array]:
    # Both lists are drawn by a generator of the same state.
    pixels = sizes["H"] * sizes["W"]
    chosen = np.sort(rng.choice(pixels, sizes["M"], replace=sizes["M"] > pixels))
    return chosen // sizes["W"], chosen % sizes["W"]


_VALUES = {
    "mask_h_idx": lambda rng, sizes: _positions(rng, sizes)[0],
    "mask_w_idx": lambda rng, sizes: _positions(rng, sizes)[1],
}


def _map_size(values: Values) -> Numbers:
    _, _, height, width = values.outputs["im"].shape
    return {"height": height, "width": width}


def _pictures(values: Values) -> list[Picture]:
    image = values.inputs.get("feature", values.outputs.get("im"))
    assert image is not None
    rows, columns = values.inputs["mask_h_idx"], values.inputs["mask_w_idx"]
    return [positions_on(image.shape[2:], rows, columns, "the mask")]


OPERATORS = (
    Operator(
        "masked_im2col_forward",
        "mluOpMaskedIm2colForward",
        "feature mask_h_idx mask_w_idx kernel_h kernel_w pad_h pad_w workspace workspace_size "
        "data_col",
        inputs={"feature": _MAP, **_INDICES},
        outputs={"data_col": "ARRAY C*kernel_h*kernel_w M"},
        sizes={**_SIZES, "kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1},
        parameters=Parameters(
            "masked_im2col_forward_param",
            2201,
            ("int32 kernel_h 1 3", "int32 kernel_w 2 3", "int32 pad_h 3 1", "int32 pad_w 4 1"),
        ),
        op_type=2202,
        workspace="mluOpGetMaskedIm2colForwardWorkspaceSize feature_desc mask_h_idx_desc "
        "mask_w_idx_desc kernel_h kernel_w data_col_desc",
        values=_VALUES,
        pictures=_pictures,
    ),
    Operator(
        "masked_col2im_forward",
        "mluOpMaskedCol2imForward",
        "col mask_h_idx mask_w_idx workspace_size workspace im",
        inputs={"col": "ARRAY C M", **_INDICES},
        outputs={"im": _MAP},
        sizes=_SIZES,
        op_type=2201,
        workspace="mluOpGetMaskedCol2imForwardWorkspaceSize col_desc mask_h_idx_desc "
        "mask_w_idx_desc im_desc",
        more=_map_size,
        values=_VALUES,
        pictures=_pictures,
    ),
)
