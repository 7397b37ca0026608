# SPDX-License-Identifier: Apache-2.0
"""Reading test cases, whole and broken."""

from __future__ import annotations

import numpy as np
import pytest
from case_files import OPERATORS, SIMPLE, one_pixel, run, small, tensor

from pymluops import __main__ as cli
from pymluops._gen_case import call, case, text
from pymluops._gen_case.errors import CaseError
from pymluops._gen_case.schema import node_class
from pymluops._gen_case.tensors import tensors_of


def load(path, said):
    path = path / "it.prototxt"
    path.write_text(said)
    return case.load(path)


def first_input(folder, body, dims=(4,), dtype="FLOAT"):
    said = one_pixel("value_f: 1").replace(
        tensor("input", (1, 1, 1, 1), "value_f: 1"),
        tensor("input", dims, body, dtype=dtype),
    )
    inputs, _ = tensors_of(load(folder, said))
    return inputs[0].values()


# ------------------------------------------------------------------------------------- whole


def test_all_ways_to_write_the_same(tmp_path):
    """Comments, separators, lists, angle brackets, quotes, enumerators in quotes or as numbers."""
    plain = 'op_name: "abs" input { id: "x" shape { dims: 2 dims: 3 } layout: LAYOUT_NHWC }'
    other = (
        "# a comment with } and \"\nop_name : 'a' 'bs';\ninput: [ <id:'x',shape:{dims:[2,3]} "
        "# value_f: 7\n  layout: 2 >, ]"
    )
    quoted = plain.replace("LAYOUT_NHWC", '"LAYOUT_NHWC"')
    nodes = [load(tmp_path, said).node for said in (plain, other, quoted)]
    assert nodes[0] == nodes[1] == nodes[2]
    assert list(nodes[0].input[0].shape.dims) == [2, 3]


def test_numbers(tmp_path):
    values = first_input(tmp_path, "value_f: inf value_f: -inf value_f: nan value_f: 1.5f")
    assert np.array_equal(values, np.float32([np.inf, -np.inf, np.nan, 1.5]), equal_nan=True)
    bits = first_input(tmp_path, 'value_h: ["0", "3f800000", "7fc01234", "ffa00001"]')
    assert bits.view(np.uint32).tolist() == [0, 0x3F800000, 0x7FC01234, 0xFFA00001]
    half = first_input(tmp_path, 'value_h: "7e01" value_h: "0001"', (2,), "HALF")
    assert half.view(np.uint16).tolist() == [0x7E01, 1]
    assert first_input(tmp_path, "value_i: [-3, 0x10]", (2,), "INT32").tolist() == [-3, 16]
    assert first_input(tmp_path, "value_ul: 18446744073709551615", (1,), "UINT64")[0] == 2**64 - 1


def test_unknown_fields_are_kept_with_their_lines(tmp_path):
    more = "other_param {\n  a: [1, 2] b { c: 'x' }\n}\n[some.extension]: 3\nop_type: WHO_KNOWS\n"
    read = load(tmp_path, one_pixel("value_f: 1", "novel: 4", more))
    fields = {one.field: (one.line, " ".join(one.text.split())) for one in read.unknown}
    assert fields["output[0].novel"][1] == "novel: 4"
    line, said = fields["other_param"]
    assert said == "other_param { a: [1, 2] b { c: 'x' } }"
    assert read.path.read_text().splitlines()[line - 1] == "other_param {"
    assert fields["[extension]"][1] == "[some.extension]: 3"
    assert fields["op_type"][1] == "op_type: WHO_KNOWS"


def test_unknown_fields_of_the_binary_form_are_listed(tmp_path, capsys):
    path, _ = small(tmp_path, SIMPLE.NAME)
    binary = tmp_path / "it.pb"
    node = case.load(path).node
    tail = bytes([(7000 << 3 | 0) & 0x7F | 0x80, (7000 << 3) >> 7 & 0x7F | 0x80, 3, 5])
    binary.write_bytes(node.SerializeToString() + tail)
    read = case.load(binary)
    assert len(read.unknown) == 1
    assert read.unknown[0].field.startswith("field ")
    assert read.node.SerializeToString().endswith(tail)
    status, shown = run(capsys, binary)
    assert status == 0
    assert "is unknown, and not looked at" in shown


@pytest.mark.parametrize("name", OPERATORS)
def test_both_forms_say_the_same(name, tmp_path):
    path, said = small(tmp_path, name)
    node = case.load(path).node
    assert text.write(node) == said
    (tmp_path / "it.pb").write_bytes(node.SerializeToString())
    assert case.load(tmp_path / "it.pb").node == node


def test_bounds_the_wrong_way_round(tmp_path):
    drawn = first_input(tmp_path, "random_data { seed: 3 lower_bound: 5 upper_bound: 2 }", (99,))
    assert ((drawn > 2) & (drawn <= 5)).all()
    assert drawn.std() > 0.5
    whole = "random_data { seed: 3 lower_bound: 1 upper_bound: 0 }"
    assert set(first_input(tmp_path, whole, (99,), "INT32").tolist()) == {0, 1}


@pytest.mark.parametrize("dtype", ["FLOAT", "HALF", "INT32"])
@pytest.mark.parametrize(
    ("said", "low", "high"),
    [
        ("distribution: UNIFORM lower_bound: 0 upper_bound: 3", 0, 3),
        ("distribution: DISCRETE_UNIFORM lower_bound: 0 upper_bound: 3", 0, 3),
        ("distribution: GAUSSIAN mu: 100 sigma: 1", 90, 110),
        ("distribution: BINOMIAL", 0, 1),
        ("distribution: UNIQUE_INDEX begin_index: 5 end_index: 500", 5, 499),
    ],
)
def test_random_numbers_are_reproducible(dtype, said, low, high, tmp_path):
    body = f"random_data {{ seed: 7 {said} }}"
    drawn = first_input(tmp_path, body, (300,), dtype)
    assert low <= drawn.min() < drawn.max() <= high
    assert (drawn == first_input(tmp_path, body, (300,), dtype)).all()
    other = first_input(tmp_path, body.replace("7", "8", 1), (300,), dtype)
    assert (drawn != other).any()
    if "UNIQUE" in said and dtype != "HALF":
        assert len(set(drawn.tolist())) == 300
    if dtype == "INT32" and "UNIFORM" in said:
        assert set(drawn.tolist()) == {0, 1, 2, 3}


def test_a_file_with_raw_data(tmp_path):
    values = np.float32([1, np.nan, -0.0, 4])
    values.tofile(tmp_path / "raw data")
    assert first_input(tmp_path, 'path: "raw data"').tobytes() == values.tobytes()


def test_strides(tmp_path):
    """Values are those of the elements, or those of all the memory that they span."""
    said = tensor("input", (2, 2), "value_f: [1, 2, 3, 4]").replace(
        "dims: 2 }", "dims: 2 dim_stride: 3 dim_stride: 1 }"
    )
    whole = one_pixel("value_f: 1").replace(tensor("input", (1, 1, 1, 1), "value_f: 1"), said)
    inputs, _ = tensors_of(load(tmp_path, whole))
    assert inputs[0].values().tolist() == [[1, 2], [3, 4]]
    assert call._spread(inputs[0], inputs[0].values()).tolist() == [1, 2, 0, 3, 4]
    inputs, _ = tensors_of(load(tmp_path, whole.replace("[1, 2, 3, 4]", "[1, 2, 9, 3, 4]")))
    assert inputs[0].values().tolist() == [[1, 2], [3, 4]]


# ------------------------------------------------------------------------------------- broken

GOOD = one_pixel("value_f: 1")


@pytest.mark.parametrize(
    ("broken", "line", "message"),
    [
        ("", 0, "op_name: missing"),
        ("op_name: 3", 1, "op_name: 3 given, expected string"),
        (
            GOOD.replace("value_f: 1", "value_f: 1e"),
            4,
            "input[0].value_f: 1e given, expected float",
        ),
        (
            GOOD.replace("value_f: 1", "value_i: 2.5"),
            4,
            "input[0].value_i: 2.5 given, expected int",
        ),
        (
            GOOD.replace("value_f: 1", "value_i: 2147483648"),
            4,
            "input[0].value_i: 2147483648 given",
        ),
        (GOOD.replace("value_f: 1", 'value_h: "xyz"'), 4, 'value_h: "xyz" given, expected hexa'),
        (GOOD.replace("value_f: 1", 'value_h: "123456789"'), 4, "expected at most 8 digits"),
        (GOOD.replace("value_f: 1", "value_f: [1, 2]"), 4, "value_f: 2 values given, expected 1"),
        (GOOD.replace("value_f: 1", 'path: "none"'), 4, "path: "),
        (GOOD.replace("value_f: 1", ""), 2, "input[0]: no values, no path and no random_data"),
        (GOOD.replace("value_f: 1", "random_data { distribution: SAMPLE }"), 4, "SAMPLE is not"),
        (
            GOOD.replace("value_f: 1", "random_data { upper_bound: inf }"),
            4,
            "expected finite bounds",
        ),
        (GOOD.replace("NHWC", "NHWC2", 1), 3, ""),
        (GOOD.replace("DTYPE_FLOAT", "DTYPE_UNSET", 1), 3, "input[0].dtype: DTYPE_UNSET given"),
        (GOOD.replace("dims: 1", "dims: -1", 1), 2, "input[0].shape.dims: [-1, 1, 1, 1] given"),
        (GOOD.replace("dims: 1 }", "dims: 1 dim_stride: 4 }", 1), 2, "dim_stride: 1 given, exp"),
        (GOOD.replace("dims: 1", "dims: 9000000000000", 1), 2, "more memory than there is"),
        (GOOD.replace("h_mask: 1", ""), 8, f"{SIMPLE.BLOCK}.h_mask: missing"),
        (GOOD.replace("h_mask: 1", "h_mask: 1,,"), 8, "given, expected the name of a field"),
        (
            GOOD.replace(SIMPLE.BLOCK, "nothing_param"),
            0,
            f"{SIMPLE.BLOCK}: missing",
        ),
        (GOOD + tensor("input", (1,)), 9, "input[1]: 2 given, expected 1: x"),
        (GOOD.replace("output", "extra"), 0, "output: 0 given, expected 1: y"),
        (GOOD.rstrip()[:-1], 8, f'{SIMPLE.BLOCK}: the file ends before "}}"'),
        (GOOD + "more { [", 9, "more: the file ends"),
        (GOOD + "more " + "{a " * 99, 9, "levels"),
        (GOOD + 'id: "no end\n', 9, ""),
        (GOOD + "test_param { error_func: DIFF1 }", 0, ""),
        (GOOD + "\0", 9, "given, expected the name of a field"),
        (
            GOOD + "test_param { error_func: [DIFF1, DIFF2] error_threshold: 1 }",
            9,
            "test_param.error_threshold: 1 given, expected 2: DIFF1, DIFF2",
        ),
    ],
)
def test_what_is_wrong_is_said_with_line_and_field(broken, line, message, tmp_path, capsys):
    """The other cases run all the same."""
    (tmp_path / "a.prototxt").write_text(broken)
    (tmp_path / "b.prototxt").write_text(GOOD)
    status, shown = run(capsys, tmp_path)
    if message:
        place = f"a.prototxt:{line}: " if line else "a.prototxt: "
        assert status == 1
        assert place in shown
        assert message in shown, shown
    assert "PASS" in shown
    assert "2 cases: " in shown


def test_what_is_no_text_and_no_message(tmp_path, capsys):
    (tmp_path / "a.prototxt").write_bytes(b'op_name: "abs"\nid\xff')
    (tmp_path / "b.pb").write_bytes(b"\xff\xff\xff")
    status, shown = run(capsys, tmp_path, tmp_path / "none.pb")
    assert status == 1
    assert "a.prototxt:2: this is no text" in shown
    assert "b.pb: this is not a test case in binary form" in shown
    assert "none.pb: No such file or directory" in shown


def test_any_other_file_is_a_case_or_an_error(tmp_path, rng):
    """Bytes that are changed, doubled, moved or left out: nothing else is ever raised."""
    outcomes = set()
    for name in OPERATORS[:: len(OPERATORS) // 3]:
        path, said = small(tmp_path, name)
        data = said.encode()[-1500:]
        for _ in range(60):
            changed = bytearray(data)
            for _ in range(rng.integers(1, 4)):
                at, size = rng.integers(len(changed)), rng.integers(1, 20)
                part = changed[at : at + size]
                what = rng.integers(4)
                if what == 0:
                    changed[at] = rng.choice(list(b"{}[]<>:;,\"'#\\ \n-09azAZ_"))
                elif what == 1:
                    del changed[at : at + size]
                elif what == 2:
                    changed[at:at] = part
                else:
                    to = rng.integers(len(changed))
                    changed[to : to + size] = part
            path.write_bytes(bytes(changed))
            outcomes.add(_outcome(path))
    binary = tmp_path / "it.pb"
    good = bytearray(case.load(small(tmp_path, SIMPLE.NAME)[0]).node.SerializeToString())
    for _ in range(60):
        changed = bytearray(good)
        changed[rng.integers(len(good))] = rng.integers(256)
        binary.write_bytes(bytes(changed))
        outcomes.add(_outcome(binary))
    assert outcomes == {"case", "error"}


def _outcome(path):
    try:
        read = case.load(path)
        if read.operator is not None:
            inputs, outputs = tensors_of(read)
            for one in inputs + outputs:
                _ = one.room, one.layout, one.dtype, one.strides
            call.numbers_of(read, read.operator)
    except CaseError:
        return "error"
    return "case"


def test_protobuf_agrees(tmp_path):
    """Its own reader, slow and strict, reads the same from what is printed here."""
    from google.protobuf import text_format

    for name in OPERATORS:
        path, said = small(tmp_path, name)
        assert text_format.Parse(said, node_class()()) == case.load(path).node
        printed = text_format.MessageToString(case.load(path).node)
        path.write_text(printed)
        assert text.write(case.load(path).node) == said


def test_show(tmp_path, capsys):
    (tmp_path / "a.prototxt").write_text(one_pixel("value_f: 1.5", more="who_knows: 3\n"))
    assert cli.main(["case", "show", str(tmp_path / "a.prototxt")]) == 0
    shown = capsys.readouterr().out
    assert (
        "input  t (x)                   1x1x1x1                     NHWC FLOAT    1 of value_f: 1.5"
        in shown
    )
    assert f"{SIMPLE.BLOCK}: h_mask 1, w_mask 1, psa_type 0" in shown
    assert "unknown: line 9: who_knows: 3" in shown
    (tmp_path / "b.prototxt").write_text("op_name: 3")
    assert cli.main(["case", "show", str(tmp_path / "b.prototxt")]) == 1
    assert "b.prototxt:1: op_name: 3 given, expected string" in capsys.readouterr().err
