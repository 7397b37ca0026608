# SPDX-License-Identifier: Apache-2.0
"""One value of a field, as text and back."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np


def _integer(word: str) -> int:
    return int(word, 16 if "x" in word or "X" in word else 10)


def _boolean(word: str) -> bool:
    return {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}[
        word.lower()
    ]


def _float(word: str) -> float:
    return float(word if word[-1] not in "fF" or word[-3:].lower() == "inf" else word[:-1])


def _string(word: str) -> str:
    if "\\" not in word:
        return word[1:-1]
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda found: escapes.get(found[1], found[1]), word[1:-1])


_KINDS: dict[str, Callable[[str], Any]] = {
    "STRING": _string,
    "FLOAT": _float,
    "DOUBLE": _float,
    "BOOL": _boolean,
}


def is_repeated(descriptor: Any) -> bool:
    """Say whether a field holds a list."""
    return bool(descriptor.is_repeated)


def _kind(descriptor: Any) -> str:
    names = {1: "DOUBLE", 2: "FLOAT", 3: "INT64", 4: "UINT64", 5: "INT32", 8: "BOOL", 9: "STRING"}
    return "ENUM" if descriptor.enum_type is not None else names.get(descriptor.type, "UINT32")


def values_of(descriptor: Any, words: list[str]) -> list[Any]:
    """Return the values of many words; what is asked of each is found out once."""
    kind = _kind(descriptor)
    if kind == "ENUM":
        return [value_of(descriptor, word) for word in words]
    quoted = kind == "STRING"
    if any((word[0] in "'\"") != quoted for word in words):
        raise ValueError
    return list(map(_KINDS.get(kind, _integer), words))


def value_of(descriptor: Any, word: str) -> Any:
    """Return the value that a word stands for; raises what Python raises for a bad one."""
    if (word[0] in "'\"") != (_kind(descriptor) == "STRING"):
        if descriptor.enum_type is None:
            raise ValueError
        word = word[1:-1]  # older files have enumerators in quotes
    if descriptor.enum_type is not None:
        by_name = descriptor.enum_type.values_by_name
        number = by_name[word].number if word in by_name else _integer(word)
        return descriptor.enum_type.values_by_number[number].number
    return _KINDS.get(_kind(descriptor), _integer)(word)


def fits(message: Any, descriptor: Any, word: str) -> bool:
    """Say whether a message takes a word as the value of a field."""
    trial = type(message)()
    try:
        if is_repeated(descriptor):
            getattr(trial, descriptor.name).append(value_of(descriptor, word))
        else:
            setattr(trial, descriptor.name, value_of(descriptor, word))
    except (ValueError, KeyError, TypeError, OverflowError):
        return False
    return True


def expected(descriptor: Any, word: str) -> str:
    """Say what is wrong with a word."""
    if descriptor.enum_type is not None:
        names = list(descriptor.enum_type.values_by_name)
        return f"{word} given, expected one of {', '.join(names)}"
    return f"{word} given, expected {_kind(descriptor).lower()}"


def written(descriptor: Any, value: Any) -> str:
    """Return the text of a value."""
    kind = _kind(descriptor)
    if kind == "ENUM":
        return str(descriptor.enum_type.values_by_number[value].name)
    if kind == "STRING":
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if kind == "BOOL":
        return "true" if value else "false"
    if kind == "FLOAT" and math.isfinite(value):
        value = np.float32(value)
    return str(value)
