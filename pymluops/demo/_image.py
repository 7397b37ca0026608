# SPDX-License-Identifier: Apache-2.0
"""The small image of the demonstration: a leaning lighthouse by the sea at sunset."""

import numpy as np
import numpy.typing as npt

HEIGHT, WIDTH = 96, 128
TOWER_ANGLE = 0.3  # radians, to the right
TOWER_BOX = (14.0, 16.0, 80.0, 44.0)  # top, left, bottom, right of a region around it

SCALE = 4  # of the small version of the image

_FINE = 4  # points in each direction for one pixel


def paint() -> npt.NDArray[np.float32]:
    """Return the image, [HEIGHT, WIDTH, 3], from 0 to 1."""
    y, x = (np.mgrid[: HEIGHT * _FINE, : WIDTH * _FINE] + 0.5) / _FINE
    picture = _sky(y)
    _fill(picture, np.hypot(y - 30, x - 98) < 12, (1.0, 0.80, 0.30))
    _fill(picture, y > 66, (0.16, 0.38, 0.52))
    wave = np.sin(x / 5 + np.sin(y * 1.1) * 2) + np.sin(y * 2.2)
    _fill(picture, (y > 67) & (wave > 1.1), (0.45, 0.62, 0.70))
    _fill(picture, (y > 67) & (wave > 0.8) & (np.abs(x - 98) < 9), (0.98, 0.75, 0.40))
    _fill(picture, np.hypot((y - 98) / 0.75, x - 18) < 44, (0.20, 0.27, 0.20))
    _tower(picture, y, x)
    blocks = picture.reshape(HEIGHT, _FINE, WIDTH, _FINE, 3)
    image: npt.NDArray[np.float32] = blocks.mean((1, 3)).astype(np.float32)
    return image


def shrink(image: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the small version, [HEIGHT // SCALE, WIDTH // SCALE, 3]."""
    blocks = image.reshape(HEIGHT // SCALE, SCALE, WIDTH // SCALE, SCALE, 3)
    small: npt.NDArray[np.float32] = blocks.mean((1, 3)).astype(np.float32)
    return small


def _sky(y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    share = np.clip(y / 66, 0, 1)[..., None]
    top, bottom = np.array([0.24, 0.36, 0.62]), np.array([0.98, 0.70, 0.52])
    sky: npt.NDArray[np.float64] = (1 - share) * top + share * bottom
    return sky


def _tower(
    picture: npt.NDArray[np.float64], y: npt.NDArray[np.float64], x: npt.NDArray[np.float64]
) -> None:
    top, left, bottom, right = TOWER_BOX
    dy, dx = y - (top + bottom) / 2, x - (left + right) / 2
    sine, cosine = np.sin(TOWER_ANGLE), np.cos(TOWER_ANGLE)
    along, across = dy * cosine - dx * sine, dx * cosine + dy * sine
    half_width = 5 + (along + 20) * 0.06
    body = (along > -18) & (along < 30) & (np.abs(across) < half_width)
    _fill(picture, body, (0.94, 0.93, 0.90))
    _fill(picture, body & (np.floor((along + 18) / 8) % 2 == 1), (0.82, 0.16, 0.16))
    _fill(picture, (along > -20) & (along <= -18) & (np.abs(across) < 7), (0.15, 0.16, 0.2))
    _fill(picture, (along > -27) & (along <= -20) & (np.abs(across) < 3.6), (1.0, 0.95, 0.55))
    roof = (along > -32) & (along <= -27) & (np.abs(across) < (along + 32.5) * 0.9)
    _fill(picture, roof, (0.15, 0.16, 0.2))


def _fill(
    picture: npt.NDArray[np.float64],
    where: npt.NDArray[np.bool_],
    color: tuple[float, float, float],
) -> None:
    picture[where] = color
