# SPDX-License-Identifier: Apache-2.0
"""The test cases of deformable convolution."""

from pymluops._gen_case.operators import PRIVATE, Numbers, Operator, Parameters, Values

_BLOCK = PRIVATE + 100
_PARAMETERS = Parameters(
    "dcn_param",
    _BLOCK,
    (
        f"int32 dimnb {_BLOCK} 4",
        f"repeated int32 pad {_BLOCK + 1}",
        f"repeated int32 stride {_BLOCK + 2}",
        f"repeated int32 dilation {_BLOCK + 3}",
        f"int32 deformable_group {_BLOCK + 4} 1",
        f"int32 conv_group {_BLOCK + 5} 1",
        f"int32 im2col_step {_BLOCK + 6} 1",
        f"DataType compute_type {_BLOCK + 7} DTYPE_FLOAT",
    ),
)
_OBJECTS = {
    "dcn_desc": "DCN dimNb pad stride dilation deformable_group conv_group im2col_step compute_type"
}
_MAP, _RESULT = "NHWC N H W conv_group|C", "NHWC N ho wo co"
_TAPS = "deformable_group*kh*kw"
_OFFSET, _MASK = f"NHWC N ho wo {_TAPS}*2", f"NHWC N ho wo {_TAPS}"
_FILTER, _BIAS = "NHWC conv_group|co kh kw C/conv_group", "ARRAY co"
_OPTIONAL = frozenset({"mask", "bias", "grad_mask", "grad_bias"})
_BOUNDS: dict[str, tuple[float, float | str]] = {"offset": (-2, 2), "mask": (0, 1)}
_SIZES = {
    "N": 1,
    "H": 8,
    "W": 8,
    "C": 8,
    "co": 8,
    "kh": 3,
    "kw": 3,
    "dimNb": 4,
    "pad": (1, 1, 1, 1),
    "stride": (1, 1),
    "dilation": (1, 1),
    "deformable_group": 1,
    "conv_group": 1,
    "im2col_step": 1,
    "compute_type": 2,
}


def _result_size(sizes: Numbers) -> Numbers:
    """Return ho and wo, and the channels of a group."""
    pad, stride, dilation = sizes["pad"], sizes["stride"], sizes["dilation"]
    rest = (
        sizes["H"] + pad[0] + pad[1] - dilation[0] * (sizes["kh"] - 1) - 1,
        sizes["W"] + pad[2] + pad[3] - dilation[1] * (sizes["kw"] - 1) - 1,
    )
    return {
        "ho": rest[0] // stride[0] + 1,
        "wo": rest[1] // stride[1] + 1,
        "C/conv_group": sizes["C"] // max(sizes["conv_group"], 1),
    }


def _kernel_size(values: Values) -> Numbers:
    return {"kernel_size": values.outputs["grad_filter"].shape[1:3]}


OPERATORS = (
    Operator(
        "dcn_forward",
        "mluOpDCNForward",
        "dcn_desc input offset mask filter bias workspace workspace_size output",
        inputs={
            "input": _MAP,
            "offset": _OFFSET,
            "mask": _MASK,
            "filter": _FILTER,
            "bias": _BIAS,
        },
        outputs={"output": _RESULT},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        objects=_OBJECTS,
        workspace="mluOpGetDCNForwardWorkspaceSize dcn_desc input_desc offset_desc mask_desc "
        "filter_desc bias_desc output_desc",
        optional=_OPTIONAL,
        derive=_result_size,
        bounds=_BOUNDS,
    ),
    Operator(
        "dcn_backward_data",
        "mluOpDCNBackwardData",
        "dcn_desc input offset mask filter grad_output workspace workspace_size grad_input "
        "grad_offset grad_mask",
        inputs={
            "input": _MAP,
            "offset": _OFFSET,
            "mask": _MASK,
            "filter": _FILTER,
            "grad_output": _RESULT,
        },
        outputs={"grad_input": _MAP, "grad_offset": _OFFSET, "grad_mask": _MASK},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        objects=_OBJECTS,
        workspace="mluOpGetDCNBakcwardDataWorkspaceSize dcn_desc input_desc offset_desc mask_desc "
        "filter_desc grad_output_desc grad_input_desc grad_offset_desc grad_mask_desc",
        optional=_OPTIONAL,
        derive=_result_size,
        bounds=_BOUNDS,
    ),
    Operator(
        "dcn_backward_weight",
        "mluOpDCNBackwardWeight",
        "dcn_desc input offset mask grad_output workspace workspace_size grad_filter grad_bias",
        inputs={"input": _MAP, "offset": _OFFSET, "mask": _MASK, "grad_output": _RESULT},
        outputs={"grad_filter": _FILTER, "grad_bias": _BIAS},
        sizes=_SIZES,
        parameters=_PARAMETERS,
        objects=_OBJECTS,
        workspace="mluOpGetDCNBackwardWeightWorkspaceSize dcn_desc input_desc offset_desc "
        "mask_desc grad_output_desc grad_filter_desc grad_bias_desc",
        optional=_OPTIONAL,
        more=_kernel_size,
        derive=_result_size,
        bounds=_BOUNDS,
    ),
)
