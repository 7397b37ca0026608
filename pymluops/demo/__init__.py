# SPDX-License-Identifier: Apache-2.0
"""The demonstration: every operator on a small image, checked, timed and drawn."""

from pathlib import Path

import pymluops
from pymluops import _families
from pymluops._command_line import output_file
from pymluops.demo._canvas import BAD, FAINT, GOOD, INK, LINE, Canvas, text_width
from pymluops.demo._image import paint, shrink
from pymluops.demo._run import Picture, Scene, time_all

_MARGIN, _HEAD = 36, 92
_WIDE, _HIGH, _GAP = 256, 192, 40  # of a picture, and between two
_WIDTH = 2 * _MARGIN + 4 * _WIDE + 3 * _GAP
_BODY, _LINE = 12, 25  # size of the text, and from line to line


def run(path: Path) -> int:
    """Run the demonstration and write its picture; return 1 if a result is wrong."""
    output_file(path, ".png")
    machine = _machine()
    shown = _scenes()
    outcomes = [outcome for scene in shown for outcome in scene.outcomes]
    if not time_all(outcomes):
        machine += " (DISTURBED by other programs: they may be too long)"
    print(machine)
    for outcome in outcomes:
        status = "ok" if outcome.verdict else "WRONG"
        time = f"{outcome.milliseconds:8.3f} ms"
        print(f"  {outcome.name:<28}{status:<7}{time}   {outcome.error}")
    _draw(shown, machine).save(path)
    wrong = sum(not outcome.verdict for outcome in outcomes)
    print("every result agrees with the NumPy reference" if not wrong else f"{wrong} results WRONG")
    print(f"The picture is {path.resolve()}. A browser opens it:")
    print(path.resolve().as_uri())
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


def _wrapped(text: list[str]) -> list[str]:
    """Break a text into lines of the width of the canvas."""
    lines = [""]
    for word in " ".join(text).split():
        longer = f"{lines[-1]} {word}".lstrip()
        if text_width(longer, _BODY) <= _WIDTH - 2 * _MARGIN:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _height(scene: Scene) -> int:
    return 36 + _LINE * (len(_wrapped(scene.text)) + (len(scene.outcomes) + 1) // 2) + _HIGH + 76


def _draw(shown: list[Scene], machine: str) -> Canvas:
    canvas = Canvas(_HEAD + sum(map(_height, shown)), _WIDTH)
    canvas.text(30, _MARGIN, "pymluops", 20, INK, bold=True)
    canvas.text(35, _MARGIN + 172, machine, _BODY, FAINT)
    top = _HEAD
    for scene in shown:
        canvas.pixels[top - 18 : top - 16, _MARGIN : _WIDTH - _MARGIN] = LINE
        _draw_scene(canvas, scene, top)
        top += _height(scene)
    return canvas


def _draw_scene(canvas: Canvas, scene: Scene, top: int) -> None:
    canvas.text(top, _MARGIN, scene.title, 16, INK, bold=True)
    top = canvas.lines(top + 36, _MARGIN, _wrapped(scene.text), _BODY, _LINE, FAINT) + 6
    for number, picture in enumerate(scene.pictures):
        draw_picture(canvas, picture, top, _MARGIN + number * (_WIDE + _GAP))
    top += _HIGH + 46
    column = (_WIDTH - 2 * _MARGIN) // 2
    for number, outcome in enumerate(scene.outcomes):
        left = _MARGIN + number % 2 * column
        canvas.text(top, left, outcome.name, _BODY, INK)
        canvas.text(top, left + 306, f"{outcome.milliseconds:#.3g} ms", _BODY, INK)
        canvas.text(top, left + 410, outcome.error, _BODY, FAINT)
        status = ("ok", GOOD) if outcome.verdict else ("WRONG", BAD)
        canvas.text(top, left + 522, status[0], _BODY, status[1], bold=True)
        top += _LINE * (number % 2)


def draw_picture(canvas: Canvas, picture: Picture, top: int, left: int) -> None:
    """Draw a picture, its marks and its caption, into a place of 256 by 192 pixels."""
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
    caption = left + (_WIDE - text_width(picture.caption, 11)) / 2
    canvas.text(top + _HIGH + 12, caption, picture.caption, 11, INK)
    if picture.sign:
        sign = left - _GAP / 2 - text_width(picture.sign, 14) / 2 + 2
        canvas.text(top + _HIGH // 2 - 7, sign, picture.sign, 14, FAINT)
