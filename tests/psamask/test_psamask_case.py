# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases of PSAMask: what torch calls."""

import pytest
from case_files import captured, run


def test_what_torch_calls_runs_again(tmp_path, capsys):
    """These are functions that only this library has."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    import pymluops.torch as ours

    mask = torch.randn(1, 9, 4, 5, requires_grad=True)

    def make():
        ours.PSAMask("collect", (3, 3))(mask).sum().backward()

    files = {read.node.op_name: read.path for read in captured(tmp_path, make)}
    assert set(files) == {"cpu_psamask_nchw_forward", "cpu_psamask_nchw_backward"}
    status, shown = run(capsys, *files.values())
    assert status == 0, shown
