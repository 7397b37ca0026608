# SPDX-License-Identifier: Apache-2.0
"""The format as a schema of Protocol Buffers: the package mluoptest.

The blocks of parameters are those that the families describe. Fields that real files lack are
judged where they are needed, so none is "required" here.
"""

import sys
from functools import cache
from typing import Any

from pymluops._gen_case.errors import CaseError
from pymluops._gen_case.operators import PRIVATE, operators

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("google"):
        raise
    message = f"test cases need the package protobuf: {sys.executable} -m pip install protobuf"
    raise CaseError(message) from None

_ENUMS = {
    "TensorLayout": "LAYOUT_NCHW 1 LAYOUT_NHWC 2 LAYOUT_HWCN 3 LAYOUT_NDHWC 4 LAYOUT_ARRAY 5 "
    "LAYOUT_TNC 6 LAYOUT_NTC 7 LAYOUT_NCDHW 8 LAYOUT_NC 9 LAYOUT_NLC 10 LAYOUT_NCL 11",
    "DataType": "DTYPE_UNSET 0 DTYPE_HALF 1 DTYPE_FLOAT 2 DTYPE_INT8 3 DTYPE_INT16 4 DTYPE_INT31 5 "
    "DTYPE_INT32 6 DTYPE_BFLOAT16 7 DTYPE_DOUBLE 8 DTYPE_UINT8 9 DTYPE_UINT16 10 DTYPE_UINT32 11 "
    "DTYPE_BOOL 12 DTYPE_COMPLEX64 13 DTYPE_COMPLEX128 14 DTYPE_INVALID 15 DTYPE_INT64 16 "
    "DTYPE_UINT64 17 DTYPE_COMPLEX_HALF 18 DTYPE_COMPLEX_FLOAT 19 DTYPE_COMPLEX_DOUBLE 20",
    "Device": "CPU 1 GPU 2 CMODEL 3 GENERATOR_CPU 4",
    "EvaluationCriterion": "MAPE 1 SMAPE 2 MAXAPE 3 SMAXAPE 4 NRMSE 5 DIFF1 6 DIFF2 7 DIFF3 8 "
    "DIFF3_2 9 DIFF4 10 DIFF_KL 11",
    "RandomDistribution": "UNIFORM 1 GAUSSIAN 2 SAMPLE 3 BINOMIAL 4 DISCRETE_UNIFORM 5 CERTAIN 6 "
    "UNIQUE_INDEX 7",
    "QuantizeRoundMode": "ROUND_TO_EVEN 0 ROUND_HALF_UP 1 ROUND_OFF_ZERO 2",
    "PointerMode": "POINTER_MODE_HOST 0 POINTER_MODE_DEVICE 1",
}

# A field: "repeated" or not, its type, name and number, and its default.
_MESSAGES: dict[str, tuple[str, ...]] = {
    "Shape": ("repeated int64 dims 1", "repeated int64 dim_stride 2"),
    "Thresholds": (
        "repeated double evaluation_threshold 1",
        "repeated double evaluation_threshold_imag 2",
    ),
    "RandomData": (
        "int32 seed 1",
        "float lower_bound 2 -1",
        "float upper_bound 3 1",
        "RandomDistribution distribution 4 UNIFORM",
        "bool convert_dtype 5",
        "float mu 6 0",
        "float sigma 7 1",
        "double lower_bound_double 8 -1",
        "double upper_bound_double 9 1",
        "double mu_double 10 0",
        "double sigma_double 11 1",
        "int32 true_number 12",
        "int32 begin_index 13",
        "int32 end_index 14",
        "int32 dim_shape 15",
        "float negative_ratio 16",
        "int32 sorted_status 17",
    ),
    "Tensor": (
        "string id 1",
        "Shape shape 2",
        "TensorLayout layout 3 LAYOUT_ARRAY",
        "DataType dtype 4 DTYPE_FLOAT",
        "int32 position 5",
        "float scale 6 1",
        "repeated packed float value_f 7",
        "repeated packed int32 value_i 8",
        "repeated string value_h 9",
        "RandomData random_data 10",
        "string path 11",
        "DataType mlu_dtype 12",
        "DataType onchip_dtype 13",
        "int32 offset 14",
        "Thresholds thresholds 15",
        "int32 threshold_use 16",
        "repeated packed int64 value_l 17",
        "repeated uint32 value_ui 18",
        "repeated uint64 value_ul 19",
        "PointerMode pointer_mode 29",
        "bool is_cpu_scalar 30",
        "int32 index 31",
    ),
    "TestParam": (
        "repeated EvaluationCriterion error_func 1",
        "repeated double error_threshold 2",
        "repeated double error_threshold_imag 3",
        "double latency 5",
        "double efficiency 6",
        "Device baseline_device 7",
    ),
    "HandleParam": ("QuantizeRoundMode round_mode 1 ROUND_OFF_ZERO",),
    "Node": (
        "string valid 1",
        "string pattern 2",
        "Device device 3",
        "string op_name 5",
        "repeated Tensor input 6",
        "repeated Tensor output 7",
        "OpType op_type 8",
        "TestParam test_param 10",
        "double latency 11",
        "double io_efficiency 12",
        "double efficiency 13",
        "repeated EvaluationCriterion evaluation_criterion 14",
        "repeated double evaluation_threshold 15",
        "double theory_io_size 16",
        "double theory_compute_ops 17",
        "double workspace_size 18",
        "repeated double evaluation_threshold_imag 4832",
        "HandleParam handle_param 23451",
    ),
}


def _add_field(message: Any, text: str, enums: set[str]) -> None:
    words = text.split()
    field = message.field.add()
    repeated = words[0] == "repeated"
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    words = words[repeated:]
    if words[0] == "packed":
        field.options.packed = True
        words = words[1:]
    kind, field.name, number, *default = words
    field.number = int(number)
    if default:
        field.default_value = default[0]
    if kind in enums:
        field.type, field.type_name = field.TYPE_ENUM, f".mluoptest.{kind}"
    elif kind[0].isupper():
        field.type, field.type_name = field.TYPE_MESSAGE, f".mluoptest.{kind}"
    else:
        field.type = getattr(field, f"TYPE_{kind.upper()}")


def newer_names() -> dict[str, str]:
    """Return the names of blocks by those that older files give them."""
    blocks = [one.parameters for one in operators().values() if one.parameters is not None]
    return {older: block.name for block in blocks for older in block.older_names}


@cache
def node_class() -> Any:
    """Return the message of a whole case."""
    known = operators().values()
    numbers = {one.name.upper(): one.op_type or PRIVATE + i for i, one in enumerate(known)}
    enums = _ENUMS | {"OpType": " ".join(f"{name} {number}" for name, number in numbers.items())}
    blocks = {one.parameters.name: one.parameters for one in known if one.parameters is not None}
    messages = dict(_MESSAGES)
    for name, block in blocks.items():
        kind = name.title().replace("_", "")
        messages[kind] = block.fields
        messages["Node"] += (f"{kind} {name} {block.number}",)
    file = descriptor_pb2.FileDescriptorProto(
        name="mluoptest.proto", package="mluoptest", syntax="proto2"
    )
    for name, text in enums.items():
        enum = file.enum_type.add(name=name)
        words = text.split()
        for value, number in zip(words[::2], words[1::2], strict=True):
            enum.value.add(name=value, number=int(number))
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add_field(message, field, set(enums))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("mluoptest.Node"))
