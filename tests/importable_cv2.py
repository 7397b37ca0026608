# SPDX-License-Identifier: Apache-2.0
"""Makes `import cv2` work: it needs libGL; mmcv imports it, and our operators do without."""

import sys
from unittest.mock import MagicMock

try:
    import cv2  # noqa: F401
except ImportError:
    sys.modules["cv2"] = MagicMock(__version__="0")
