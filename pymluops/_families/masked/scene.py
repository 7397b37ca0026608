# SPDX-License-Identifier: Apache-2.0
"""The demonstration of masked im2col and col2im."""

import numpy as np

import pymluops
from pymluops._families.masked import reference
from pymluops.demo._canvas import Pixels
from pymluops.demo._image import HEIGHT, WIDTH
from pymluops.demo._run import Picture, Scene, Values


def scene(image: Values, small: Values) -> Scene:
    """Return the family at work."""
    shown = Scene(
        "Masked im2col, col2im",
        [
            "A convolution at chosen positions only. im2col copies the window at each",
            "position into a column. A matrix product with the filter follows, here one",
            "that finds outlines. col2im writes the results back; everywhere else the map",
            "is 0.",
        ],
    )
    level = image.mean(-1)
    edges = np.abs(np.gradient(level, axis=0)) + np.abs(np.gradient(level, axis=1))
    chosen = edges > 0.12
    rows, columns = (index.astype(np.int32) for index in np.nonzero(chosen))
    feature = np.ascontiguousarray(image.transpose(2, 0, 1)[None])
    col = shown.run(
        pymluops.masked_im2col_forward,
        reference.masked_im2col_forward,
        feature,
        rows,
        columns,
        kind="movement",
        numbers={"kernel_h": 3, "kernel_w": 3, "pad_h": 1, "pad_w": 1},
    )
    outline = -np.ones((3, 3), np.float32)
    outline[1, 1] = 8
    filters = np.kron(np.eye(3, dtype=np.float32), outline.reshape(1, 9))
    filtered = np.ascontiguousarray(filters @ col)
    im = shown.run(
        pymluops.masked_col2im_forward,
        reference.masked_col2im_forward,
        filtered,
        rows,
        columns,
        kind="movement",
        numbers={"height": HEIGHT, "width": WIDTH},
    )
    dimmed = np.where(chosen[..., None], image, 0.85 + 0.15 * image)
    shown.pictures = [
        Picture(image, "feature"),
        Picture(dimmed, f"mask: {len(rows)} of {HEIGHT * WIDTH} positions", "+"),
        Picture(_windows(col), "data_col: some columns, 3 x 3", "\u2192"),
        Picture(0.5 + 0.35 * im[0].transpose(1, 2, 0), "im, after the filter (grey: 0)", "\u2192"),
    ]
    return shown


def _windows(col: Values) -> Pixels:
    """Show some columns as the windows that they hold, in the order of their positions."""
    across, down, cell, gap = 16, 12, 2, 2
    some = col[:, np.linspace(0, col.shape[1] - 1, across * down).astype(int)]
    windows = some.reshape(3, 3, 3, down, across).transpose(3, 1, 4, 2, 0)
    large = windows.repeat(cell, 1).repeat(cell, 3)
    padded = np.pad(large, ((0, 0), (0, gap), (0, 0), (0, gap), (0, 0)), constant_values=1)
    return padded.reshape(HEIGHT, WIDTH, 3)
