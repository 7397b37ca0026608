# SPDX-License-Identifier: Apache-2.0
"""Drawing on an array of pixels, and writing it as a PNG file."""

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pymluops.demo._font import glyph, margin

Pixels: TypeAlias = npt.NDArray[np.floating]  # [height, width, 3], 0 to 1
Color: TypeAlias = tuple[float, float, float]

INK: Color = (0.11, 0.13, 0.17)
FAINT: Color = (0.26, 0.29, 0.34)
GOOD: Color = (0.05, 0.48, 0.24)
BAD: Color = (0.80, 0.10, 0.10)
LINE: Color = (0.87, 0.89, 0.92)

_HEAT = np.array(
    [(0.05, 0.06, 0.20), (0.20, 0.18, 0.55), (0.10, 0.50, 0.65), (0.45, 0.80, 0.45), (1, 0.93, 0.4)]
)


def heat(values: npt.NDArray[np.floating]) -> Pixels:
    """Return colours from dark blue (0) to yellow (the largest value)."""
    top = float(values.max(initial=0))
    scaled = np.clip(values.astype(float) / (top or 1), 0, 1) * (len(_HEAT) - 1)
    steps = np.arange(len(_HEAT))
    return np.stack([np.interp(scaled, steps, _HEAT[:, i]) for i in range(3)], -1)


class Canvas:
    """A picture that is drawn on."""

    def __init__(self, height: int, width: int) -> None:
        self.pixels = np.ones((height, width, 3))

    def image(self, top: int, left: int, pixels: Pixels, scale: int) -> None:
        """Draw an image, each of its pixels as a square."""
        large = pixels.repeat(scale, 0).repeat(scale, 1)
        self.pixels[top : top + large.shape[0], left : left + large.shape[1]] = large

    def rectangle(
        self, top: float, left: float, bottom: float, right: float, color: Color, thickness: int = 2
    ) -> None:
        """Draw an outline."""
        y0, x0, y1, x1 = (round(value) for value in (top, left, bottom, right))
        t = thickness
        for area in (
            np.s_[y0 : y0 + t, x0:x1],
            np.s_[y1 - t : y1, x0:x1],
            np.s_[y0:y1, x0 : x0 + t],
            np.s_[y0:y1, x1 - t : x1],
        ):
            self.pixels[area] = color

    def dot(self, y: float, x: float, radius: float, color: Color) -> None:
        """Draw a disc with a white rim."""
        reach = int(radius) + 3
        top, left = max(int(y) - reach, 0), max(int(x) - reach, 0)
        part = self.pixels[top : int(y) + reach + 1, left : int(x) + reach + 1]
        rows, columns = np.mgrid[: part.shape[0], : part.shape[1]]
        distance = np.hypot(rows + top + 0.5 - y, columns + left + 0.5 - x)
        for size, paint in ((radius + 1.2, (1.0, 1.0, 1.0)), (radius, color)):
            cover = np.clip(size + 0.5 - distance, 0, 1)[..., None]
            part[...] = part * (1 - cover) + np.array(paint) * cover

    def text(
        self,
        top: int,
        left: float,
        text: str,
        size: float = 9,
        color: Color = INK,
        bold: bool = False,
    ) -> float:
        """Draw a line of text; return where it ends."""
        edge = margin(size)
        for character in text:
            cover, advance = glyph(character, size, bold)
            y, x = top - edge, round(left) - edge
            part = self.pixels[y : y + cover.shape[0], x : x + cover.shape[1]]
            cover = cover[: part.shape[0], : part.shape[1], None]
            part[...] = part * (1 - cover) + np.array(color) * cover
            left += advance
        return left

    def lines(
        self, top: int, left: int, lines: Sequence[str], size: float, step: int, color: Color
    ) -> int:
        """Draw lines of text below each other; return where the next one would be."""
        for line in lines:
            self.text(top, left, line, size, color)
            top += step
        return top

    def save(self, path: Path) -> None:
        """Write a PNG file."""
        path.write_bytes(_png(np.rint(np.clip(self.pixels, 0, 1) * 255).astype(np.uint8)))


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text."""
    return sum(glyph(character, size, False)[1] for character in text)


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
