# SPDX-License-Identifier: Apache-2.0
"""mmcv.ops on our operators, for the tests that compare. Without mmcv these are skipped."""

import importlib.util
import warnings

import pytest

if importlib.util.find_spec("mmcv") is None:
    pytest.skip("needs the extra 'test-mmcv' (.ci/run models)", allow_module_level=True)

import importable_cv2  # noqa: F401

from pymluops.torch import mmcv_backend

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # mmengine imports what torch deprecates
    mmcv_backend.install()
    import mmcv.ops as theirs  # noqa: F401
