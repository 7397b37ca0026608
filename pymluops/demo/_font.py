# SPDX-License-Identifier: Apache-2.0
"""A font made of strokes, so that pictures can have labels without any other package.

A glyph is a list of strokes, a stroke a list of points, and a point two digits (base 36): x to the
right and y down. Capitals reach from y = 0 to the baseline y = 8, small letters begin at y = 3, and
tails end at y = 11. A stroke that begins with "~" is a curve along its points, one that begins with
"o" a closed curve; two equal points are a dot.
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

_STROKES = {
    "A": "083068 1555", "B": "0008 ~003050543404 ~043464683808", "C": "~626000086866",
    "D": "0008 ~003060683808", "E": "60000868 0444", "F": "600008 0444",
    "G": "~626000086864 6434", "H": "0008 6068 0464", "I": "0008", "J": "~4045480806",
    "K": "0008 5005 2368", "L": "000858", "M": "0800356068", "N": "08006860", "O": "o00606808",
    "P": "0008 ~003060643404", "Q": "o00606808 4569", "R": "0008 ~003060643404 3468",
    "S": "~6160000464680807", "T": "0060 3038", "U": "~000508686560", "V": "003860",
    "W": "0028426880", "X": "0068 6008", "Y": "003460 3438", "Z": "00600868",
    "a": "o03535808 5358", "b": "0008 o03535808", "c": "~545303085857", "d": "5058 o03535808",
    "e": "0555 ~555303085857", "f": "~40202328 0343", "g": "o03535808 ~53595b0b0a",
    "h": "0008 ~0503535558", "i": "0308 0101", "j": "~23292b0b 2121", "k": "0008 4306 1548",
    "l": "0008", "m": "0308 ~0503434548 ~4543838588", "n": "0308 ~0503535558", "o": "o03535808",
    "p": "030b o03535808", "q": "535b o03535808", "r": "0308 ~050333", "s": "~4443030546480807",
    "t": "~20262838 0333", "u": "5358 ~0306085856", "v": "032843", "w": "0328446883",
    "x": "0348 4308", "y": "0328 431b", "z": "03430848",
    "0": "o00505808", "1": "022028", "2": "~0200505308 0858", "3": "~0100505424 ~2454580807",
    "4": "400656 4048", "5": "500004 ~040353580807", "6": "~51500005 o03535808", "7": "005028",
    "8": "o00505404 o04545808", "9": "o00505505 ~53580807",
    ".": "0808", ",": "180a", ":": "0404 0808", ";": "1414 180a", "-": "0545", "+": "0545 2327",
    "=": "0444 0646", "/": "0940", "(": "~20020729", ")": "~00222709", "[": "20000929",
    "]": "00202909", "_": "0959", "\u00d7": "0448 4408", "'": "0002",
    "<": "430547", ">": "034507", "\u2192": "0585 638567", "|": "000a", "%": "6008 0101 6767",
}  # fmt: skip

_CAP_HEIGHT, _DEPTH, _GAP, _SPACE = 8, 12, 2.4, 4.0

Coverage = npt.NDArray[np.float64]


def _points(stroke: str) -> npt.NDArray[np.float64]:
    digits = np.array([int(digit, 36) for digit in stroke.lstrip("~o")], float).reshape(-1, 2)
    if stroke[0] == "~":
        for _ in range(3):
            digits = _cut_corners(digits)
    elif stroke[0] == "o":
        digits = np.concatenate((digits, digits[:2]))
        for _ in range(3):
            digits = _cut_corners(digits)[1:-1]
        digits = np.concatenate((digits, digits[:1]))
    return digits


def _cut_corners(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Replace each corner by two points on its sides; done often, that gives a smooth curve."""
    before, after = points[:-1], points[1:]
    cut = np.stack((0.75 * before + 0.25 * after, 0.25 * before + 0.75 * after), 1).reshape(-1, 2)
    return np.concatenate((points[:1], cut, points[-1:]))


@lru_cache(maxsize=1024)
def glyph(character: str, size: float, bold: bool) -> tuple[Coverage, float]:
    """Return how much of each pixel a character covers, and how far it is to the next one.

    The size is that of capitals in pixels; the array begins `margin(size)` above and left of the
    character's origin.
    """
    unit = size / _CAP_HEIGHT
    if character not in _STROKES:
        return np.zeros((1, 1)), _SPACE * unit
    strokes = [_points(stroke) for stroke in _STROKES[character].split()]
    width = max(points[:, 0].max() for points in strokes)
    edge = margin(size)
    shape = int(_DEPTH * unit) + 2 * edge, int(width * unit) + 2 * edge + 1
    y, x = np.mgrid[: shape[0], : shape[1]] - edge
    thickness = unit * (1.35 if bold else 0.95)
    distance = np.full(shape, np.inf)
    for points in strokes:
        scaled = points * unit
        for (x0, y0), (x1, y1) in pairwise(scaled):
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2
            along = ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / max(length, 1e-9)
            along = np.clip(along, 0, 1)
            away = np.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0))
            distance = np.minimum(distance, away)
    return np.clip(thickness / 2 + 0.5 - distance, 0, 1), (width + _GAP) * unit


def margin(size: float) -> int:
    """Return the pixels that a glyph's array has around the character."""
    return int(size / _CAP_HEIGHT) + 2
