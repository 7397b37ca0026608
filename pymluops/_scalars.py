# SPDX-License-Identifier: Apache-2.0
"""Numbers in: what fits the C type of a parameter, and nothing else."""

import math
from operator import index
from typing import SupportsFloat, SupportsIndex

import numpy as np

from pymluops.errors import bad_type, bad_value

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_FLOAT_MAX = (2 - 2**-23) * 2.0**127


def c_int(function: str, name: str, value: SupportsIndex | None) -> int:
    """Return a whole number that fits a C int; a bool is not a number here."""
    try:
        if value is None or type(value) is bool:
            raise TypeError
        number = index(value)
    except TypeError:
        raise bad_type(function, name, f"{shown(value)} given, expected an int") from None
    if not _INT_MIN <= number <= _INT_MAX:
        raise bad_value(function, name, f"{shown(number)} given, expected an int of 32 bits")
    return number


def c_flag(function: str, name: str, value: object) -> bool:
    """Return a truth value; nothing else counts as one."""
    if not isinstance(value, bool | np.bool_):
        raise bad_type(function, name, f"{shown(value)} given, expected a bool")
    return bool(value)


def c_extent(function: str, name: str, value: SupportsIndex | None) -> int:
    """Return a whole number of 1 or more, for sizes that C does not see."""
    number = c_int(function, name, value)
    if number < 1:
        raise bad_value(function, name, f"{number} given, expected 1 or more")
    return number


def c_float(function: str, name: str, value: SupportsFloat) -> float:
    """Return a number that fits a C float, such as NaN and infinity."""
    number = value if type(value) is float else _as_float(function, name, value)
    if abs(number) > _FLOAT_MAX and not math.isinf(number):
        raise bad_value(function, name, f"{number} given, expected a float32")
    return number


def _as_float(function: str, name: str, value: SupportsFloat) -> float:
    try:
        if isinstance(value, str | bytes | bytearray | bool | np.bool_):
            raise TypeError
        return float(value)
    except OverflowError:
        raise bad_value(function, name, f"{shown(value)} given, expected a float32") from None
    except (TypeError, ValueError, RuntimeError):
        raise bad_type(function, name, f"{shown(value)} given, expected a float") from None


def shown(value: object) -> str:
    """Name a wrong argument: a short value by itself, anything else by its type."""
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 64 else "an int of more than 64 bits"
    if value is None or isinstance(value, str | float | complex):
        text = repr(value)
        return text if len(text) <= 40 else text[:40] + "..."
    return type(value).__name__
