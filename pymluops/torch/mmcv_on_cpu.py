# SPDX-License-Identifier: Apache-2.0
"""Import this module, and mmcv runs on the CPU.

It calls :func:`pymluops.torch.mmcv_backend.install`. Name it in the ``custom_imports`` of a config,
or import it in a script, before mmdet or mmseg.
"""

from pymluops.torch.mmcv_backend import install

install()
