# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of nms: what is compared, and new ones that cannot be."""

import numpy as np
import pytest
from case_files import captured, output_of, run, tensor

from pymluops import __main__ as cli


def test_what_lies_behind_the_results_is_not_compared(tmp_path, capsys):
    """Nobody writes it: in a captured case it is whatever was in memory."""
    boxes = tensor("input", (3, 4), "value_f: [0,0,8,8, 0,0,8,7, 20,0,30,8]", "ARRAY")
    scores = tensor("input", (3,), "value_f: [0.5, 0.75, 0.25]", "ARRAY")
    parameters = "nms_param { iou_threshold: 0.5 max_output_boxes: 3 }\n"
    for stored, count, good in (
        ([1, 2, 77], 2, True),
        ([1, 0, 77], 2, False),
        ([1, 2, 0], 3, False),
    ):
        output = tensor("output", (3,), f"value_i: {stored}", "ARRAY", "INT32")
        size = tensor("output", (1,), f"value_i: {count}", "ARRAY", "INT32")
        said = f'op_name: "nms" {boxes}{scores}{output}{size}{parameters}'
        status, shown = output_of(capsys, tmp_path, said)
        assert (status == 0) == good, shown


@pytest.mark.parametrize(("dims", "layout"), [((3, 7), 0), ((7, 3), 1)])
def test_scores_that_boxes_of_seven_numbers_do_not_have(dims, layout, tmp_path, capsys):
    """The cases of MLU-OPS have a tensor in their place."""
    rows = np.array([[0, 0, 0, 2, 2, 2, 0], [0, 0, 0, 2, 2, 2, 0], [9, 9, 9, 2, 2, 2, 1]])
    values = (rows.T if layout else rows).reshape(-1).tolist()
    boxes = tensor("input", dims, f"value_f: {values}", "ARRAY")
    nothing = tensor("input", dims, "random_data { lower_bound: 0 upper_bound: 0 }", "ARRAY")
    output = tensor("output", (3,), "value_i: [0, 2, 77]", "ARRAY", "INT32")
    size = tensor("output", (1,), "value_i: 2", "ARRAY", "INT32")
    parameters = f"iou_threshold: 0.3 max_output_boxes: 3 input_layout: {layout}"
    said = f'op_name: "nms" {boxes}{nothing}{output}{size}nms_param {{ {parameters} }}\n'
    status, shown = output_of(capsys, tmp_path, said)
    assert status == 0, shown


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("q=3", "q=3 given, expected some of n, box_mode"),
        ("n=many", "n=many given, expected a number (int)"),
        ("pad_to_max_output_size=3", "expected true or false"),
    ],
)
def test_a_new_case_that_cannot_be(setting, message, capsys):
    assert cli.main(["case", "new", "nms", "--shape", setting]) == 1
    assert message in capsys.readouterr().err


def test_what_torch_calls_runs_again(tmp_path, capsys):
    """It is a function that only this library has."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import pymluops.torch as ours

    boxes, scores = torch.tensor([[0.0, 0, 8, 8], [0, 0, 8, 7], [20, 0, 30, 8]]), torch.rand(3)
    (read,) = captured(tmp_path, lambda: ours.nms(boxes, scores, 0.5))
    assert read.node.op_name == "cpu_nms_by_label"
    status, shown = run(capsys, read.path)
    assert status == 0, shown


def test_scores_that_grow_stay_in_the_order_of_selection(tmp_path, capsys):
    """A negative score grows when it decays; C writes results in the order of selection."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import pymluops.torch as ours

    boxes = torch.tensor([[0.0, 0, 8, 8], [0, 0, 8, 7], [20, 0, 30, 8]])
    scores = torch.tensor([-0.25, -0.75, -0.5])

    def call():
        return ours.batched_nms(
            boxes, scores, torch.tensor([0, 0, 1]), {"type": "soft_nms", "min_score": -1}
        )

    assert call()[1].tolist() == [0, 1, 2]
    (read,) = captured(tmp_path, call)
    status, shown = run(capsys, read.path)
    assert status == 0, shown
