# SPDX-License-Identifier: Apache-2.0
"""mmcv.ops on our operators, for the tests that compare; they are skipped without mmcv."""

import warnings

import importable_cv2  # noqa: F401
import pytest

from pymluops.torch import mmcv_backend

pytest.importorskip("mmcv", reason="mmcv-lite is not installed (it is in the extra 'test')")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
    mmcv_backend.install()
    import mmcv.ops as theirs  # noqa: F401
