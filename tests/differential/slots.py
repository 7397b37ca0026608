# SPDX-License-Identifier: Apache-2.0
"""Memory for the tensors of many calls, and whether outputs are as they were."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from operator_call import filled
from order_words import NUMBERS

SLOT = 1 << 14  # bytes of the memory of one tensor, and of what may lie behind its start
SLOTS = 2048
PATTERN = 0x5A


class Memory:
    """Slots for tensors: the outputs first, then one for each content that inputs have."""

    def __init__(self, outputs: list[str]) -> None:
        self.room = np.zeros((SLOTS + 1) * SLOT, np.uint8)
        start = -self.room.ctypes.data % SLOT
        self.bytes = self.room[start : start + SLOTS * SLOT]
        self.address = self.bytes.ctypes.data
        self.slots: dict[tuple[str, str, str], int] = {}
        for name in (*outputs, "workspace"):
            self.slots[name, "", ""] = len(self.slots)
        self.bytes[: SLOT * len(outputs)] = PATTERN
        self.kept = len(self.slots)
        self.outputs = memoryview(self.bytes[: SLOT * len(outputs)])
        self.before = bytearray(self.outputs)

    def slot(self, name: str, content: str, dtype: str) -> int:
        """Return the address of the memory of a tensor."""
        key = (name, content, dtype) if content else (name, "", "")
        if key not in self.slots:
            self.slots[key] = len(self.slots)
            begin = self.slots[key] * SLOT
            self.bytes[begin : begin + SLOT] = _content(json.loads(content or "[0]"), dtype)
        return self.address + self.slots[key] * SLOT

    def make_room(self) -> None:
        """Forget the contents of inputs when there are many, between two calls."""
        if len(self.slots) > SLOTS - 64:
            self.slots = dict(list(self.slots.items())[: self.kept])

    def holds(self, address: int, size: int) -> bool:
        """Tell whether so many bytes end in the slot where they begin."""
        return (address - self.address) % SLOT + size <= SLOT

    def untouched(self) -> bool:
        return self.before == self.outputs

    def restore(self) -> None:
        self.outputs[:] = self.before


def _content(data: Any, dtype: str) -> np.ndarray:
    """A slot full of these numbers; of zeros, where the type cannot hold them."""
    numbers = np.dtype(NUMBERS.get(dtype, np.uint8))
    try:
        with np.errstate(all="ignore"):
            return filled(data, SLOT // numbers.itemsize, numbers).view(np.uint8)
    except (OverflowError, ValueError):
        return np.zeros(SLOT, np.uint8)
