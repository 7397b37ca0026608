# SPDX-License-Identifier: Apache-2.0
"""What mmcv's packs say on our operators."""

import pytest
from installed_mmcv import theirs
from torch_case import zeros


def test_the_packs_name_the_wrong_channels() -> None:
    with pytest.raises(ValueError, match="DeformRoIPoolPack: input has 3 channels, expected"):
        theirs.DeformRoIPoolPack(2, 4)(zeros(1, 3, 2, 2), zeros(1, 5))
