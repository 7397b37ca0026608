# SPDX-License-Identifier: Apache-2.0
"""PSAMask: what will be refused is refused before anything large is copied or made."""

import pytest
from interpreter import said_without_memory

PSAMASK = "pymluops.psamask_forward({}, psa_type=0, h_mask={}, w_mask={})"
HUGE = "np.broadcast_to(np.float32(1), (1, 60000, 60000, 1))"
CALLS = {
    "size that no descriptor holds": (
        PSAMASK.format(HUGE, 1, 1),
        "BadParamError [mluOpPsamaskForward] out: shape (1, 60000, 60000, 3600000000) is too large",
    ),
    "size of a result": (
        PSAMASK.format("large", 2, 2),
        "BadParamError [mluOpPsamaskForward] y has 160000000000000000 elements",
    ),
}


def test_refused_before_it_is_copied():
    said = said_without_memory(*(call for call, _ in CALLS.values()))
    for line, (name, (_, expected)) in zip(said, CALLS.items(), strict=True):
        assert line.startswith(expected), name


TORCH = {
    "size": (
        "torch.zeros(()).expand(1, 1, 60000, 60000), 0, 1",
        "NotSupportedError a tensor of shape (1, 3600000000, 60000, 60000) has 2**31",
    ),
    "size of a result": (
        "torch.zeros(()).expand(1, 4, 20000, 20000), 0, 2",
        "NotSupportedError a tensor of shape (1, 400000000, 20000, 20000) has 2**31",
    ),
}


@pytest.mark.slow
def test_torch_refuses_before_it_copies():
    calls = [f"pymluops.torch.psa_mask({arguments})" for arguments, _ in TORCH.values()]
    said = said_without_memory(*calls, imports="import torch, pymluops.torch")
    for line, (name, (_, expected)) in zip(said, TORCH.items(), strict=True):
        assert line.startswith(expected), name
