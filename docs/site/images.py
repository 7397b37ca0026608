# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of README.md and of the operators' pages: python docs/site/images.py

docs/images/demo.png shows some of what `pymluops demo` computes of every family, and
docs/images/operators/FAMILY.png all of one. Times are left out, so the pictures are the same on any
machine. docs/images/gallery/NAME.png has the pictures that the Python blocks of
docs/gallery/NAME.md make.
"""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pymluops import _families
from pymluops.demo import draw_picture
from pymluops.demo._canvas import INK, Canvas
from pymluops.demo._image import paint, shrink
from pymluops.demo._run import Picture, Scene

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"

_WIDE, _HIGH, _GAP = 256, 192, 40  # of a picture, and between two
_MARGIN = 30
_ACROSS = 3  # families beside each other


def scenes() -> dict[str, Scene]:
    """Return what the demonstration shows of each family."""
    image = paint()
    return {
        family: module.scene(image, shrink(image)) for family, module in _families.parts("scene")
    }


def overview(shown: dict[str, Scene]) -> Canvas:
    """Draw the first picture of each family and the one that says most of its result."""
    cell = 2 * _WIDE + _GAP
    rows = -(-len(shown) // _ACROSS)
    canvas = Canvas(rows * (_HIGH + 84), 2 * _MARGIN + _ACROSS * cell + (_ACROSS - 1) * 2 * _GAP)
    for number, scene in enumerate(shown.values()):
        top = _MARGIN + number // _ACROSS * (_HIGH + 80)
        left = _MARGIN + number % _ACROSS * (cell + 2 * _GAP)
        canvas.text(top, left, scene.title, 20, INK, bold=True)
        before, after = scene.pictures[0], scene.pictures[2]
        arrow = Picture(after.pixels, "", "\u2192", after.marks)
        draw_picture(canvas, Picture(before.pixels, "", "", before.marks), top + 36, left)
        draw_picture(canvas, arrow, top + 36, left + _WIDE + _GAP)
    return canvas


def operator(scene: Scene) -> Canvas:
    """Draw the pictures of a family, with their captions."""
    count = len(scene.pictures)
    canvas = Canvas(_HIGH + 76, 2 * _MARGIN + count * _WIDE + (count - 1) * _GAP)
    for number, picture in enumerate(scene.pictures):
        draw_picture(canvas, picture, _MARGIN, _MARGIN + number * (_WIDE + _GAP))
    return canvas


def gallery(page: Path) -> Canvas:
    """Run the Python blocks of a page, and draw its `pictures`: arrays by their captions."""
    names: dict[str, dict[str, npt.NDArray[np.floating]]] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in re.findall(
            r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            exec(compile(code, page.name, "exec"), names)
    pictures = []
    for caption, values in names["pictures"].items():
        color = values if values.ndim == 3 else np.repeat(values[..., None], 3, axis=-1)
        pictures.append(Picture(np.clip(color, 0, 1), caption))
    return operator(Scene("", [], pictures))


def drawings() -> dict[str, Canvas]:
    """Return all pictures, by their names in docs/images."""
    shown = scenes()
    found = {"demo.png": overview(shown)}
    found |= {f"operators/{family}.png": operator(scene) for family, scene in shown.items()}
    pages = sorted(DOCS.glob("gallery/*.md"))
    return found | {f"gallery/{page.stem}.png": gallery(page) for page in pages}


def main() -> None:
    """Write all pictures."""
    for name, canvas in drawings().items():
        path = IMAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.save(path)
        print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
