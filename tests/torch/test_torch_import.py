# SPDX-License-Identifier: Apache-2.0
"""Importing the PyTorch part: what it needs, and what does without it."""

import subprocess
import sys

import pytest

from pymluops.torch import mmcv_backend


def test_importing_pymluops_does_not_import_torch() -> None:
    code = "import sys, pymluops; raise SystemExit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_torch_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import pymluops.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pymluops.torch needs PyTorch: pip install torch\n" in done.stderr


def test_without_mmcv_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mmcv", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        mmcv_backend.install()
    assert str(caught.value) == "mmcv_backend.install() needs mmcv: pip install mmcv-lite==2.1.0"
