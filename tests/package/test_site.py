# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation are those that the operators make, and its reference is whole.

The site itself is built by .ci/run docs, where a warning is an error.
"""

import importlib
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pymluops._cases import small_calls

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"


@pytest.fixture(scope="module")
def site() -> Iterator[ModuleType]:
    """Return a function that imports a file of docs/site."""
    sys.path.insert(0, str(ROOT / "docs/site"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "docs/site"))


def pixels(path: Path) -> np.ndarray:
    """Read a PNG file of 8-bit RGB without filters, which is what the demonstration writes."""
    data, start, parts = path.read_bytes(), 8, {}
    while start < len(data):
        (size,) = struct.unpack_from(">I", data, start)
        kind = data[start + 4 : start + 8]
        parts[kind] = parts.get(kind, b"") + data[start + 8 : start + 8 + size]
        start += size + 12
    width, height, *kind = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert kind == [8, 2, 0, 0, 0]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_pictures_are_current(site) -> None:
    """A level of colour may differ: instruction sets differ in the last bits."""
    drawn = site("images").drawings()
    stored = {path.relative_to(IMAGES).as_posix() for path in IMAGES.glob("*/*.png")}
    assert set(drawn) == {"demo.png"} | stored
    for name, canvas in drawn.items():
        fresh = np.rint(np.clip(canvas.pixels, 0, 1) * 255)
        stored = pixels(IMAGES / name)
        assert stored.shape == fresh.shape, f"{name}: run python docs/site/images.py"
        assert np.abs(stored - fresh).max() <= 2, f"{name}: run python docs/site/images.py"


HEADER = """\
/**
 * @file thing.h
 * Things. See thingMake.
 */

/* ------------------------------------- Types */

/** A colour. */
typedef enum { RED = 0, /**< warm */ BLUE = 1 /**< cold */ } thingColor_t;

/** A size. */
typedef struct {
  int x; /**< across */
  int y;
} thingSize_t;

/**
 * Makes a thing.
 *
 * @param color  Its colour.
 * @return Zero.
 */
int thingMake(thingColor_t color);
int thingMakeAsync(thingColor_t color);
"""


def test_pages_are_those_of_the_tree(site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = site("build")
    monkeypatch.setattr(build, "ROOT", tmp_path / ".hidden")
    for name in ("page.md", "more/page.md", ".cache/README.md", "more/.cache/README.md"):
        path = tmp_path / ".hidden/docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [path.relative_to(build.ROOT).as_posix() for path in build._below("docs")]
    assert found == ["docs/more/page.md", "docs/page.md"]


def test_the_reference_has_every_public_function(site) -> None:
    pages, operator = site("reference").pages(), next(iter(small_calls().values())).name
    for page, name in (
        ("pymluops", f"pymluops.{operator}"),
        ("pymluops", "pymluops.errors.check"),
        ("pymluops.reference", f"pymluops.reference.{operator}"),
    ):
        assert f"autofunction:: {name}\n" in pages[f"reference/python/{page}.md"]
    assert "autodata" not in pages["reference/python/pymluops.reference.md"]  # no modules


def test_a_header_becomes_a_page(site, tmp_path: Path) -> None:
    headers = site("headers")
    path = tmp_path / "thing.h"
    path.write_text(HEADER)
    page = headers.pages([headers.read(path)])["thing.h"]
    for part in (
        "## Types",
        "::::{c:enum} thingColor_t",
        ":::{c:enumerator} RED = 0\n\nwarm",
        ":::{c:member} int x\n\nacross",
        ":::{c:member} int y\n\n\n:::",
        "::::{c:function} int thingMake(thingColor_t color)\n\nMakes a thing.",
        ":param color: Its colour.",
        ":returns: Zero.",
        "::::{c:function} int thingMakeAsync(thingColor_t color)\n\nSee ",
    ):
        assert part in page


@pytest.mark.parametrize(
    ("text", "forgotten"),
    [
        (HEADER + "\nint thingForgotten(void);\n", "thingForgotten"),
        (HEADER.replace(" /**< warm */", ""), "RED"),
    ],
)
def test_a_declaration_without_a_comment_is_an_error(site, tmp_path: Path, text, forgotten) -> None:
    headers = site("headers")
    path = tmp_path / "thing.h"
    path.write_text(text)
    with pytest.raises(headers.UndocumentedError, match=forgotten):
        headers.read(path)


@pytest.mark.parametrize("path", sorted((ROOT / "include").glob("*.h")), ids=lambda path: path.name)
def test_every_declaration_of_a_header_has_a_comment(site, path: Path) -> None:
    assert site("headers").read(path).sections
