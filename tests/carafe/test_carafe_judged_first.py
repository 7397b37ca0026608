# SPDX-License-Identifier: Apache-2.0
"""CARAFE: what will be refused is refused before anything large is copied or made."""

from interpreter import said_without_memory

CARAFE = "pymluops.carafe_forward({}, {}, kernel_size=1, group_size=1, scale_factor=1)"
HUGE = "np.broadcast_to(np.float32(1), (1, 60000, 60000, 1))"
SWAPPED = "np.broadcast_to(np.array(1, '>f4'), (1, 1, 20000, 20000, 4))"
CALLS = {
    "size": (
        CARAFE.format(HUGE, HUGE),
        "NotSupportedError [mluOpCarafeForward] input has 3600000000 elements",
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


def test_refused_before_it_is_copied():
    said = said_without_memory(*(call for call, _ in CALLS.values()))
    for line, (name, (_, expected)) in zip(said, CALLS.items(), strict=True):
        assert line.startswith(expected), name
