# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of CARAFE: judgement with numbers by hand, sizes, older names, a model's."""

import re

import numpy as np
import pytest
from case_files import captured, in_a_process, output_of, run, small, tensor

import pymluops
from pymluops import __main__ as cli
from pymluops._gen_case import call, case
from pymluops._gen_case.tensors import tensors_of


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


def hostile(array, rng):
    """Every bit pattern may come: NaN with payloads, infinities, subnormal numbers."""
    bits = rng.integers(0, 256, array.nbytes, dtype=np.uint8)
    return bits.view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_inputs_are_read_back_bit_for_bit(dtype, tmp_path, rng):
    x, mask = (hostile(np.zeros(shape, dtype), rng) for shape in ((1, 2, 3, 4), (1, 4, 6, 9)))
    numbers = {"kernel_size": 3, "group_size": 1, "scale_factor": 2}
    (read,) = captured(tmp_path, lambda: pymluops.carafe_forward(x, mask, **numbers))
    assert read.unknown == []
    inputs, outputs = tensors_of(read)
    assert [one.values().tobytes() for one in inputs] == [x.tobytes(), mask.tobytes()]
    assert [one.message.id for one in inputs + outputs] == ["input", "mask", "output"]
    assert [one.shape for one in outputs] == [(1, 4, 6, 4)]
    assert not outputs[0].is_stored
    name = r"carafe_forward_\d{8}_\d\d_\d\d_\d\d_\d{6}_tid\d+_device0\.prototxt"
    assert re.fullmatch(name, read.path.name)
    assert read.path.parent.name == "carafe_forward"
    assert read.path.parent.parent.name == "gen_case"


STEP = """
import torch, pymluops.torch as ours
torch.manual_seed(3)
compress, encode = torch.nn.Conv2d(6, 4, 1), torch.nn.Conv2d(4, 4 * 9, 3, padding=1)
upsample = ours.CARAFE(3, 1, 2)
x = torch.randn(2, 6, 5, 7, requires_grad=True)
masks = torch.nn.functional.pixel_shuffle(encode(compress(x)), 2).softmax(1)
loss = upsample(x, masks).square().mean()
loss.backward()
"""


@pytest.mark.slow
def test_what_torch_calls_runs_again_bit_for_bit(tmp_path, capsys):
    """A training step in a model, captured, and replayed from the files."""
    pytest.importorskip("torch", reason="torch is not installed")
    in_a_process(tmp_path, STEP, **{"": 2, "_DUMP_DATA_OUTPUT": 2})
    files = {path.parent.name: path for path in tmp_path.rglob("*.prototxt")}
    assert set(files) == {"carafe_forward", "carafe_backward"}
    status, shown = run(capsys, files["carafe_backward"], files["carafe_forward"])
    assert status == 0, shown
    same = re.findall(r"(\w+) \(stored\): same bits", shown)
    assert same == ["grad_input", "grad_mask", "output"]
    assert shown.count("(reference): diff1 ") == 3
    # Another stored value, and the replay notices.
    path = files["carafe_backward"]
    inputs, _, outputs = path.read_text().partition("output {")
    outputs = re.sub(r'value_h: "(\w+)"', 'value_h: "3f800000"', outputs, count=1)
    path.write_text(f"{inputs}output {{{outputs}")
    status, shown = run(capsys, path, "--no-reference")
    assert status == 1
    assert "grad_input (stored): diff1" in shown
    assert "grad_mask (stored): same bits" in shown
