# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of CARAFE: judgement with numbers by hand, sizes, threads, older names."""

from case_files import output_of, run, small, tensor

import pymluops
from pymluops import __main__ as cli
from pymluops._gen_case import call, case


def test_a_wrong_stored_output_fails_with_the_right_numbers(tmp_path, capsys):
    """Computed [1, 2, 4, 8] beside stored [1, 2, 5, 8]: diff1 1/16, diff2 sqrt(1/94), diff3 1/5."""
    x = tensor("input", (1, 1, 4, 1), "value_f: [1, 2, 4, 8]")
    y = tensor("output", (1, 2, 4, 1), "")
    assert y
    said = (
        'op_name: "carafe_forward"\n'
        + tensor("input", (1, 1, 4, 1), "value_f: [1, 2, 4, 8]")
        + tensor("input", (1, 1, 4, 1), "value_f: [1, 1, 1, 1]")
        + tensor("output", (1, 1, 4, 1), "value_f: [1, 2, 5, 8]")
        + "carafe_param { kernel_size: 1 group_size: 1 scale_factor: 1 }\n"
    )
    assert x in said
    status, shown = output_of(capsys, tmp_path, said)
    assert status == 1
    assert shown.startswith("FAIL   carafe_forward")
    assert (
        "output (stored): diff1 0.0625, diff2 0.103, diff3 0.2, diff3_2 1, diff4 1 unequal, "
        "0.00 above, 1.00 below (limits: diff1 1e-05, diff2 1e-05)" in shown
    )
    assert "FAILED: diff1 0.0625, expected at most 1e-05" in shown
    assert "FAILED: diff2 0.103, expected at most 1e-05" in shown
    assert "output (reference): diff1 0, diff2 0" in shown
    limit = "test_param { error_func: [DIFF1, DIFF3, DIFF4] error_threshold: [0.07, 0.1, 1] }"
    status, shown = output_of(capsys, tmp_path, said + limit)
    assert status == 1
    assert "FAILED: diff3 0.2, expected at most 0.1" in shown
    assert shown.count("FAILED") == 1
    generous = "evaluation_criterion: DIFF1 evaluation_threshold: 0.07\n" + limit
    assert output_of(capsys, tmp_path, said + generous)[0] == 0
    own = said.replace("5, 8]", "5, 8] thresholds { evaluation_threshold: [0.01] }")
    status, shown = output_of(capsys, tmp_path, own + generous)
    assert status == 1
    assert "diff1 0.0625, expected at most 0.01" in shown
    right = said.replace("5, 8]", "4, 8]")
    status, shown = output_of(capsys, tmp_path, right, "--no-reference")
    assert status == 0
    assert "output (stored): same bits" in shown
    assert "reference" not in shown


def test_sizes_of_a_new_case(tmp_path, capsys):
    path, _ = small(tmp_path, "carafe_forward", "N=2", "C=12", "group_size=4", "scale_factor=3")
    node = case.load(path).node
    assert [list(one.shape.dims) for one in (*node.input, *node.output)] == [
        [2, 8, 8, 12],
        [2, 24, 24, 100],
        [2, 24, 24, 12],
    ]
    assert cli.main(["case", "new", "carafe_forward", "--list"]) == 0
    assert "--shape N=1 H=8 W=8 C=16 dimNb=4 kernel_size=5" in capsys.readouterr().out


def test_the_threads_of_the_handle_change_nothing(tmp_path):

    path, _ = small(tmp_path, "carafe_backward", "H=16", "W=16")
    results = []
    for threads in (1, 3):
        with pymluops.Handle(num_threads=threads) as handle:
            values = call.run(case.load(path), handle).values
            results.append([array.tobytes() for array in values.outputs.values()])
    assert results[0] == results[1]


def test_older_names_of_parameters(tmp_path, capsys):
    for name in ("carafe_forward", "carafe_backward"):
        path, said = small(tmp_path, name)
        assert "carafe_param {" in said
        path.write_text(said.replace("carafe_param {", f"{name}_param: {{"))
        assert run(capsys, path)[0] == 0
