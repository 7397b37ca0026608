# SPDX-License-Identifier: Apache-2.0
"""The demonstration: every operator on a small image, checked, timed and drawn."""

from pathlib import Path

import pymluops
from pymluops import _families
from pymluops.demo._canvas import BAD, FAINT, GOOD, INK, LINE, Canvas, text_width
from pymluops.demo._image import paint, shrink
from pymluops.demo._run import Picture, Scene

_MARGIN, _HEAD, _ROW, _TEXT = 36, 96, 258, 424
_WIDE, _HIGH, _GAP = 256, 192, 34  # of a picture, and between two
_WIDTH = 2 * _MARGIN + _TEXT + 4 * _WIDE + 3 * _GAP


def run(path: Path) -> int:
    """Run the demonstration and write its picture; return 1 if a result is wrong."""
    shown = _scenes()
    outcomes = [outcome for scene in shown for outcome in scene.outcomes]
    print(_machine())
    for outcome in outcomes:
        status = "ok" if outcome.verdict else "WRONG"
        time = f"{outcome.milliseconds:8.3f} ms"
        print(f"  {outcome.name:<28}{status:<7}{time}   {outcome.error}")
    _draw(shown).save(path)
    wrong = sum(not outcome.verdict for outcome in outcomes)
    print("every result agrees with the NumPy reference" if not wrong else f"{wrong} results WRONG")
    print(path.resolve())
    return 1 if wrong else 0


def _scenes() -> list[Scene]:
    """Run every operator, all families on the same small image, and return what to show."""
    image = paint()
    return [module.scene(image, shrink(image)) for _, module in _families.parts("scene")]


def _machine() -> str:
    handle = pymluops.default_handle()
    threads = handle.num_threads
    return (
        f"every operator on this CPU: {handle.isa_name}, "
        f"{threads} thread{'s' if threads != 1 else ''}; times are the best of many runs"
    )


def _draw(shown: list[Scene]) -> Canvas:
    canvas = Canvas(_HEAD + _ROW * len(shown), _WIDTH)
    canvas.text(30, _MARGIN, "pymluops", 20, INK, bold=True)
    canvas.text(36, _MARGIN + 178, _machine(), 10, FAINT)
    for number, scene in enumerate(shown):
        top = _HEAD + number * _ROW
        canvas.pixels[top - 14 : top - 13, _MARGIN : _WIDTH - _MARGIN] = LINE
        _draw_text(canvas, scene, top)
        left = _MARGIN + _TEXT
        for picture in scene.pictures:
            _draw_picture(canvas, picture, top, left)
            left += _WIDE + _GAP
    return canvas


def _draw_text(canvas: Canvas, scene: Scene, top: int) -> None:
    canvas.text(top + 6, _MARGIN, scene.title, 14, INK, bold=True)
    top = canvas.lines(top + 38, _MARGIN, scene.text, 9, FAINT) + 10
    for outcome in scene.outcomes:
        canvas.text(top, _MARGIN, outcome.name, 8.5, INK)
        canvas.text(top, _MARGIN + 206, f"{outcome.milliseconds:#.3g} ms", 8.5, INK)
        canvas.text(top, _MARGIN + 278, outcome.error, 8.5, FAINT)
        status = ("ok", GOOD) if outcome.verdict else ("WRONG", BAD)
        canvas.text(top, _MARGIN + 366, status[0], 8.5, status[1], bold=True)
        top += 18


def _draw_picture(canvas: Canvas, picture: Picture, top: int, left: int) -> None:
    height, width, _ = picture.pixels.shape
    scale = min(_HIGH // height, _WIDE // width)
    y, x = top + (_HIGH - scale * height) // 2, left + (_WIDE - scale * width) // 2
    canvas.image(y, x, picture.pixels, scale)
    canvas.rectangle(y - 1, x - 1, y + scale * height + 1, x + scale * width + 1, LINE, 1)
    for mark in picture.marks:
        at = y + mark.y * scale, x + mark.x * scale
        if mark.height:
            end = at[0] + mark.height * scale, at[1] + mark.width * scale
            canvas.rectangle(*at, *end, mark.color)
        else:
            canvas.dot(*at, mark.radius, mark.color)
    caption = left + (_WIDE - text_width(picture.caption, 9)) / 2
    canvas.text(top + _HIGH + 14, caption, picture.caption, 9, INK)
    if picture.sign:
        sign = left - _GAP / 2 - text_width(picture.sign, 14) / 2 + 2
        canvas.text(top + _HIGH // 2 - 7, sign, picture.sign, 14, FAINT)
