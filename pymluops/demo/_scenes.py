# SPDX-License-Identifier: Apache-2.0
"""The scenes: each operator family at work on the same small image."""

from typing import Any

import numpy as np
import numpy.typing as npt

import pymluops
from pymluops.demo._canvas import Pixels, heat
from pymluops.demo._image import HEIGHT, TOWER_ANGLE, TOWER_BOX, WIDTH, paint
from pymluops.demo._run import Mark, Picture, Scene
from pymluops.reference import (
    border_align,
    carafe,
    deform_roi_pool,
    masked_col2im,
    masked_im2col,
    psamask,
)

Values = npt.NDArray[np.float32]

_SCALE = 4
_BLUE = (0.15, 0.45, 0.95)


def scenes() -> list[Scene]:
    """Run every operator and return what to show of it."""
    image = paint()
    small = image.reshape(HEIGHT // _SCALE, _SCALE, WIDTH // _SCALE, _SCALE, 3).mean((1, 3))
    small = small.astype(np.float32)
    return [
        _carafe(image, small),
        _psamask(small),
        _deform_roi_pool(image),
        _border_align(small),
        _masked(image),
    ]


def _nhwc(image: Values) -> Values:
    return np.ascontiguousarray(image[None])


def _strength(image: Values) -> Values:
    """Return how much a gradient touches each pixel."""
    strength: Values = np.abs(image).sum(-1)
    return strength


# ------------------------------------------------------------------------------------- CARAFE


def _carafe(image: Values, small: Values) -> Scene:
    scene = Scene(
        "CARAFE",
        [
            "Upsampling by 4 in which each output pixel",
            "has a 5 x 5 kernel of its own. Here the kernels",
            "come from a guide image, in a network they are",
            "predicted. The gradient of the sun alone goes",
            "back to the input pixels it was made of.",
        ],
    )
    kernels = _guided_kernels(image, small, 5)
    numbers: dict[str, Any] = {"kernel_size": 5, "group_size": 1, "scale_factor": _SCALE}
    x, mask = _nhwc(small), _nhwc(kernels)
    output = scene.run(pymluops.carafe_forward, carafe.carafe_forward, x, mask, numbers=numbers)
    sun = np.zeros_like(output)
    sun[0][(image[..., 0] > 0.9) & (image[..., 2] < 0.45) & (image[..., 1] > 0.7)] = 1
    grad_input, _ = scene.run(
        pymluops.carafe_backward, carafe.carafe_backward, x, mask, sun, numbers=numbers
    )
    scene.pictures = [
        Picture(small, "input, 24 x 32"),
        Picture(_tiles(kernels), "mask: every 8th kernel, 5 x 5", "+"),
        Picture(output[0], "output, 96 x 128", "\u2192"),
        Picture(heat(_strength(grad_input[0])), "grad_input of the sun"),
    ]
    return scene


def _guided_kernels(image: Values, small: Values, size: int) -> Values:
    """Return kernels that prefer input pixels near in place and in colour to the output pixel."""
    reach = size // 2
    # Outside the input there is no colour: kernels give no weight to it.
    padded = np.pad(small, ((reach, reach), (reach, reach), (0, 0)), constant_values=9)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    kernels = np.empty((HEIGHT, WIDTH, size * size), np.float32)
    for i in range(size):
        for j in range(size):
            color = padded[y // _SCALE + i, x // _SCALE + j] - image
            down = (y % _SCALE + 0.5) / _SCALE - 0.5 - (i - reach)
            right = (x % _SCALE + 0.5) / _SCALE - 0.5 - (j - reach)
            logit = -(down**2 + right**2) / 2.5 - (color**2).sum(-1) / 0.03
            kernels[..., i * size + j] = logit
    kernels[...] = np.exp(kernels - kernels.max(-1, keepdims=True))
    kernels /= kernels.sum(-1, keepdims=True)
    return kernels


def _tiles(kernels: Values) -> Pixels:
    """Lay every 8th kernel out as a small square with a dark border."""
    some = kernels[4::8, 4::8].reshape(HEIGHT // 8, WIDTH // 8, 5, 5)
    some = some / some.max((2, 3), keepdims=True)
    tiles = np.pad(some, ((0, 0), (0, 0), (2, 1), (2, 1)))
    return heat(tiles.transpose(0, 2, 1, 3).reshape(HEIGHT, WIDTH))


# ------------------------------------------------------------------------------------ PSAMask


def _psamask(small: Values) -> Scene:
    scene = Scene(
        "PSAMask",
        [
            "Each pixel has a mask for its surroundings, here",
            "one that looks for what is brighter. collect puts",
            "the mask of a pixel at its place on the map: whom",
            "it looks at. distribute gives each pixel what the",
            "others' masks say about it: who looks at it.",
        ],
    )
    size = 15
    height, width, _ = small.shape
    masks = _brighter(small, size)
    y, x = 9, 22  # on the rim of the sun
    maps = {}
    for kind in ("collect", "distribute"):
        numbers: dict[str, Any] = {
            "psa_type": ("collect", "distribute").index(kind),
            "h_mask": size,
            "w_mask": size,
        }
        spread = scene.run(
            pymluops.psamask_forward,
            psamask.psamask_forward,
            _nhwc(masks),
            kind="movement",
            note=kind,
            numbers=numbers,
        )
        scene.run(
            pymluops.psamask_backward,
            psamask.psamask_backward,
            spread,
            kind="movement",
            note=kind,
            numbers=numbers,
        )
        maps[kind] = spread[0, y, x].reshape(height, width)
    here = [Mark(y + 0.5, x + 0.5)]
    scene.pictures = [
        Picture(small, "a pixel of the image", marks=here),
        Picture(heat(masks[y, x].reshape(size, size)), "x: its mask, 15 x 15", "+"),
        Picture(heat(maps["collect"]), "y: collect", "\u2192", here),
        Picture(heat(maps["distribute"]), "y: distribute", marks=here),
    ]
    return scene


def _brighter(small: Values, size: int) -> Values:
    """Return masks that say how much brighter the surroundings of each pixel are."""
    reach = size // 2
    height, width, _ = small.shape
    level = small.mean(-1)
    padded = np.pad(level, reach)
    masks = np.empty((height, width, size * size), np.float32)
    for i in range(size):
        for j in range(size):
            gain = padded[i : i + height, j : j + width] - level
            far = ((i - reach) ** 2 + (j - reach) ** 2) / 40
            masks[..., i * size + j] = np.maximum(gain + 0.02, 0) * np.exp(-far)
    return masks


# --------------------------------------------------------------------- deformable RoI pooling


def _deform_roi_pool(image: Values) -> Scene:
    scene = Scene(
        "Deformable RoI pooling",
        [
            "The mean of each bin of a region. Offsets move",
            "the bins (red, before: blue): here they follow",
            "the leaning tower, and the result stands upright.",
            "The gradient shows which pixels were read.",
        ],
    )
    top, left, bottom, right = TOWER_BOX
    bins = (24, 12)
    # A region is in pixel edges, its samples are in pixel centres: half a pixel between them.
    rois = np.array([[0, left, top, right, bottom]], np.float32)
    offset, before, after = _turned_bins(bins)
    numbers: dict[str, Any] = {
        "pooled_height": bins[0],
        "pooled_width": bins[1],
        "spatial_scale": 1.0,
        "sampling_ratio": 2,
        "gamma": 0.1,
    }
    x = _nhwc(image)
    output = scene.run(
        pymluops.deform_roi_pool_forward,
        deform_roi_pool.deform_roi_pool_forward,
        x,
        rois,
        offset,
        numbers=numbers,
    )
    grad_input, _ = scene.run(
        pymluops.deform_roi_pool_backward,
        deform_roi_pool.deform_roi_pool_backward,
        np.ones_like(output),
        x,
        rois,
        offset,
        numbers=numbers,
    )
    plain = pymluops.deform_roi_pool_forward(x, rois, **numbers)
    marks = [Mark(top, left, bottom - top, right - left, _BLUE)]
    for points, color in ((before, _BLUE), (after, (1, 0.25, 0.25))):
        marks += [Mark(y, x, color=color, radius=1.6) for y, x in points[3::6, 1::3].reshape(-1, 2)]
    scene.pictures = [
        Picture(image, "input, a region and its bins", marks=marks),
        Picture(plain[0], "output without offset, 24 x 12", "\u2192"),
        Picture(output[0], "output with offset"),
        Picture(heat(_strength(grad_input[0])), "grad_input"),
    ]
    return scene


def _turned_bins(bins: tuple[int, int]) -> tuple[Values, Values, Values]:
    """Return offsets that turn the bins by the tower's angle, and the bins before and after."""
    top, left, bottom, right = TOWER_BOX
    height, width = bottom - top, right - left
    y, x = np.mgrid[: bins[0], : bins[1]] + 0.5
    y, x = (y / bins[0] - 0.5) * height, (x / bins[1] - 0.5) * width
    sine, cosine = np.sin(TOWER_ANGLE), np.cos(TOWER_ANGLE)
    turned_y, turned_x = y * cosine + x * sine, x * cosine - y * sine
    gamma = 0.1
    offset = np.stack([(turned_x - x) / (gamma * width), (turned_y - y) / (gamma * height)])
    middle = np.array([(top + bottom) / 2, (left + right) / 2])
    before = np.stack((y, x), -1) + middle
    after = np.stack((turned_y, turned_x), -1) + middle
    return offset[None].astype(np.float32), before, after


# -------------------------------------------------------------------------------- BorderAlign


def _border_align(small: Values) -> Scene:
    scene = Scene(
        "BorderAlign",
        [
            "The largest value along each border of a box,",
            "one box for each pixel. The map holds the edges",
            "of what has the sun's colour, so the best box is",
            "around the sun; dots show where its borders have",
            "their maxima. The gradient goes to such places.",
        ],
    )
    height, width, _ = small.shape
    level = np.exp(-((small - small[7, 24]) ** 2).sum(-1) / 0.1)
    down = np.abs(np.diff(level, axis=0, append=level[-1:]))
    right = np.abs(np.diff(level, axis=1, append=level[:, -1:]))
    feature = np.stack([down, right, down, right], -1).astype(np.float32)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    reach = np.float32(3)
    boxes = np.stack([x - reach - 0.5, y - reach - 0.5, x + reach, y + reach], -1).reshape(1, -1, 4)
    output, argmax = scene.run(
        pymluops.border_align_forward,
        border_align.border_align_forward,
        _nhwc(feature),
        boxes,
        numbers={"pool_size": 12},
    )
    grad = scene.run(
        pymluops.border_align_backward,
        border_align.border_align_backward,
        output,
        boxes,
        argmax,
        numbers={"pool_size": 12, "height": height, "width": width},
    )
    score = output[0, :, :, 0].min(-1)
    best = int(score.argmax())
    scene.pictures = [
        Picture(small, "the best box", marks=_box_marks(boxes[0, best], argmax[0, best, :, 0])),
        Picture(heat(feature.sum(-1)), "input: edges, 4 channels", "+"),
        Picture(heat(score.reshape(height, width)), "output: weakest border", "\u2192"),
        Picture(heat(_strength(grad[0])), "grad_input"),
    ]
    return scene


def _box_marks(box: Values, steps: npt.NDArray[np.int32]) -> list[Mark]:
    # A coordinate names the middle of a pixel.
    x1, y1, x2, y2 = box + 0.5
    share = steps / 12
    return [
        Mark(y1, x1, y2 - y1, x2 - x1),
        Mark(y1, x1 + share[0] * (x2 - x1)),
        Mark(y1 + share[1] * (y2 - y1), x1),
        Mark(y2, x2 - share[2] * (x2 - x1)),
        Mark(y2 - share[3] * (y2 - y1), x2),
    ]


# ---------------------------------------------------------------------- masked im2col, col2im


def _masked(image: Values) -> Scene:
    scene = Scene(
        "Masked im2col, col2im",
        [
            "A convolution at chosen positions alone: im2col",
            "makes a column of the window at each position,",
            "a matrix product with the filter (here one that",
            "finds outlines) follows, and col2im puts the",
            "results back; all other positions are 0.",
        ],
    )
    level = image.mean(-1)
    edges = np.abs(np.gradient(level, axis=0)) + np.abs(np.gradient(level, axis=1))
    chosen = edges > 0.12
    rows, columns = (index.astype(np.int32) for index in np.nonzero(chosen))
    feature = np.ascontiguousarray(image.transpose(2, 0, 1)[None])
    col = scene.run(
        pymluops.masked_im2col_forward,
        masked_im2col.masked_im2col_forward,
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
    im = scene.run(
        pymluops.masked_col2im_forward,
        masked_col2im.masked_col2im_forward,
        filtered,
        rows,
        columns,
        kind="movement",
        numbers={"height": HEIGHT, "width": WIDTH},
    )
    dimmed = np.where(chosen[..., None], image, 0.85 + 0.15 * image)
    scene.pictures = [
        Picture(image, "feature"),
        Picture(dimmed, f"mask: {len(rows)} of {HEIGHT * WIDTH} positions", "+"),
        Picture(_stacked(col), f"data_col, 27 x {len(rows)} (part)", "\u2192"),
        Picture(0.5 + 0.35 * im[0].transpose(1, 2, 0), "im, after the filter (grey: 0)", "\u2192"),
    ]
    return scene


def _stacked(col: Values) -> Pixels:
    """Show the first columns, in three strips below each other."""
    strips = col[:, : 3 * WIDTH].reshape(27, 3, WIDTH).transpose(1, 0, 2)
    padded = np.pad(strips, ((0, 0), (2, 3), (0, 0)))
    return np.repeat(padded.reshape(-1, WIDTH)[:HEIGHT, :, None], 3, -1)
