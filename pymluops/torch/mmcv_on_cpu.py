# SPDX-License-Identifier: Apache-2.0
"""Importing this module is all that mmcv needs to run on the CPU.

It calls :func:`pymluops.torch.mmcv_backend.install`: for ``custom_imports`` of configs, and for
scripts, where it comes before mmdet or mmseg are imported.
"""

from pymluops.torch.mmcv_backend import install

install()
