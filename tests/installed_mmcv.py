# SPDX-License-Identifier: Apache-2.0
"""mmcv.ops on our operators, for the tests that compare; they are skipped without mmcv."""

import sys
import warnings
from unittest.mock import MagicMock

import pytest

from pymluops.torch import mmcv_backend

try:
    import cv2  # noqa: F401
except ImportError:  # it needs libGL; mmcv imports it, and our operators do without
    sys.modules["cv2"] = MagicMock(__version__="0")
pytest.importorskip("mmcv", reason="mmcv-lite is not installed (it is in the extra 'test')")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
    mmcv_backend.install()
    import mmcv.ops as theirs  # noqa: F401
