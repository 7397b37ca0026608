# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of deformable convolution: optional tensors, and new ones that cannot be."""

import re

import pytest
from case_files import run, small

from pymluops import __main__ as cli


def test_optional_tensors(tmp_path, capsys):
    """Which ones a case lacks is told by dims, and then by ids."""
    path, said = small(tmp_path, "dcn_forward", "N=1", "H=4", "W=4")
    inputs = re.findall(r"input \{\n  id:.*?\n\}\n", said, re.DOTALL)
    mask, bias = inputs[2], inputs[4]
    for lacking in (mask, bias):
        path.write_text(said.replace(lacking, ""))
        assert run(capsys, path)[0] == 0
    path.write_text(said.replace(mask, "").replace(bias, "").replace('id: "', 'id: "other_'))
    assert run(capsys, path)[0] == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("conv_group=3", "expected a multiple of 3 (conv_group)"),
        ("conv_group=0", "expected a multiple of 0 (conv_group)"),
        ("pad=a", "pad=a given, expected numbers, such as 1,1"),
        ("kh=99", "expected no negative number"),
    ],
)
def test_a_new_case_that_cannot_be(setting, message, capsys):
    assert cli.main(["case", "new", "dcn_forward", "--shape", setting]) == 1
    assert message in capsys.readouterr().err
