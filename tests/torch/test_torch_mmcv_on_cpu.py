# SPDX-License-Identifier: Apache-2.0
"""mmcv on the CPU without a line of code: by an import in a script, a config, a spawned process."""

import os
import subprocess
import sys
from pathlib import Path

import installed_mmcv  # noqa: F401
import pytest
import torch
from torch.utils.data import DataLoader


def in_a_new_process(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    code = "import importable_cv2\n" + code
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_an_import_before_mmcv_is_enough() -> None:
    code = """
import pymluops.torch.mmcv_on_cpu
from mmcv.ops import DeformConv2d, deform_conv2d
import pymluops.torch
print(deform_conv2d.__wrapped__ is pymluops.torch.deform_conv2d)
"""
    assert in_a_new_process(code) == "True"


@pytest.mark.slow
def test_a_config_can_import_it(tmp_path: Path) -> None:
    config = tmp_path / "config.py"
    config.write_text('custom_imports = dict(imports=["pymluops.torch.mmcv_on_cpu"])\n')
    code = f"""
from mmengine.config import Config
import mmcv
try:
    import mmcv.ops
except ModuleNotFoundError as error:
    print(error.name)
Config.fromfile({str(config)!r})
import mmcv.ops
import torch
module = mmcv.ops.DeformConv2dPack(4, 6, 3, padding=1)
print(tuple(module(torch.zeros(1, 4, 3, 3)).shape))
"""
    assert in_a_new_process(code) == "mmcv._ext\n(1, 6, 3, 3)"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # mmengine imports what torch deprecates
def test_spawned_workers_import_it() -> None:
    from mmcv_workers import Convolved

    dataset = Convolved()
    expected = torch.stack([dataset[i] for i in range(len(dataset))])
    loader = DataLoader(dataset, 2, num_workers=2, multiprocessing_context="spawn", timeout=100)
    assert torch.equal(torch.cat(list(loader)), expected)
