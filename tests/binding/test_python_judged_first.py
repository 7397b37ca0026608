# SPDX-License-Identifier: Apache-2.0
"""What will be refused is refused before anything large is copied or made."""

import pytest
from interpreter import run_python

# Address space for what the process has already, and for 1 GiB more.
LIMIT = """
    import resource, numpy as np, pymluops
    {imports}
    pymluops.default_handle()
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, resource.RLIM_INFINITY))
    large = np.broadcast_to(np.float32(1), (1, 20000, 20000, 4))  # 6 GiB if it were copied
    small = np.ones((1, 1, 1, 1), np.float32)
    try:
        {call}
    except pymluops.MluOpError as error:
        print(type(error).__name__, error)
"""

PSAMASK = "pymluops.psamask_forward({}, psa_type=0, h_mask={}, w_mask={})"
CARAFE = "pymluops.carafe_forward({}, {}, kernel_size=1, group_size=1, scale_factor=1)"
HUGE = "np.broadcast_to(np.float32(1), (1, 60000, 60000, 1))"
SWAPPED = "np.broadcast_to(np.array(1, '>f4'), (1, 1, 20000, 20000, 4))"
CALLS = {
    "size": (
        CARAFE.format(HUGE, HUGE),
        "NotSupportedError [mluOpCarafeForward] input has 3600000000 elements",
    ),
    "size that no descriptor holds": (
        PSAMASK.format(HUGE, 1, 1),
        "BadParamError [mluOpPsamaskForward] out: shape (1, 60000, 60000, 3600000000) is too large",
    ),
    "size of a result": (
        PSAMASK.format("large", 2, 2),
        "BadParamError [mluOpPsamaskForward] y has 160000000000000000 elements",
    ),
    "rank of a later one": (
        CARAFE.format("large", "small[0, 0]"),
        "BadParamError [mluOpCarafeForward] mask: 2 dims given, shape (1, 1), expected 4 dims",
    ),
    "rank and byte order": (
        CARAFE.format(SWAPPED, "small"),
        "BadParamError [mluOpCarafeForward] input: 5 dims given",
    ),
    "dtype of a later one": (
        CARAFE.format("large", "small.astype(int)"),
        "BadTypeError [mluOpCarafeForward] mask: dtype int64 given, expected float32",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_refused_before_it_is_copied(case):
    call, expected = CALLS[case]
    assert run_python(LIMIT.format(imports="", call=call))[0].startswith(expected)


def test_a_copy_that_does_not_fit_is_an_error():
    call = "pymluops.masked_im2col_forward(large.transpose(0, 3, 1, 2), [0], [0], kernel_size=1)"
    out = run_python(LIMIT.format(imports="", call=call))[0]
    expected = "AllocFailedError [mluOpMaskedIm2colForward] feature: no memory for shape (1, 4, 2"
    assert out.startswith(expected)


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


@pytest.mark.parametrize("case", TORCH)
def test_torch_refuses_before_it_copies(case):
    arguments, expected = TORCH[case]
    call = f"pymluops.torch.psa_mask({arguments})"
    code = LIMIT.format(imports="import torch, pymluops.torch", call=call)
    assert run_python(code)[0].startswith(expected)
