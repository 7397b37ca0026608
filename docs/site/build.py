# SPDX-License-Identifier: Apache-2.0
"""Build the documentation site: python docs/site/build.py [FOLDER]

Pages are copied to build/site/source, with those that lie beside the sources and the reference that
is made of headers and docstrings; Sphinx turns them into HTML (build/site/html, or FOLDER). A
warning is an error. Needs the extra "docs": pip install -e '.[docs]'.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import headers
import reference
from links import Links

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
SOURCE = ROOT / "build/site/source"
_REMOTE = re.compile(r"<(?:script|img|iframe)[^>]* src=.(?:https?:)?//|<link[^>]*stylesheet[^>]*//")


def places() -> dict[Path, str]:
    """Return each page of the tree, and its path in the site."""
    found = {path: path.relative_to(ROOT / "docs").as_posix() for path in _below("docs")}
    found = {path: place for path, place in found.items() if path.parent != SITE}
    found[ROOT / "README.md"] = "index.md"
    for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"):
        if (ROOT / f"{name}.md").exists():
            found[ROOT / f"{name}.md"] = f"developers/{name.lower()}.md"
    for path in _below("c_src"):
        found[path] = f"developers/design/{path.parent.name}.md"
    for path in _below("tests"):
        name = path.parent.name if path.parent.name != "tests" else "tests"
        found[path] = f"developers/testing/{name}.md"
    return found


def _below(folder: str) -> list[Path]:
    """Return the pages below a folder; those of caches and of the toy family are none of ours."""
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.md"))
    wanted = (path for path in found if "toy" not in str(path) and "/." not in str(path))
    return sorted(ROOT / path for path in wanted)


def stage() -> None:
    """Write everything that Sphinx reads."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(SITE / "_static", SOURCE / "_static")
    shutil.copytree(ROOT / "docs/images", SOURCE / "images")
    shutil.copy(SITE / "conf.py", SOURCE)
    pages = places()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    links = Links(ROOT, pages, project.get("urls", {}).get("Repository"))
    for path, place in pages.items():
        _write(place, links.moved(path))
    for name, text in headers.pages(
        [headers.read(path) for path in sorted((ROOT / "include").glob("*.h"))]
    ).items():
        _write(f"reference/c/{name.removesuffix('.h')}.md", text)
    for place, text in reference.pages().items():
        _write(place, text)
    with (SOURCE / "gallery.md").open("a") as file:
        file.writelines(map(_entry, sorted(SOURCE.glob("gallery/*.md"))))
    with (SOURCE / "index.md").open("a") as file:
        file.write(_contents((SITE / "contents.md").read_text()))


def _write(place: str, text: str) -> None:
    path = SOURCE / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _entry(page: Path) -> str:
    """Return the title of a page of the gallery and its picture."""
    title = page.read_text().partition("\n")[0].removeprefix("# ")
    return f"\n## [{title}](gallery/{page.name})\n\n![{title}](images/gallery/{page.stem}.png)\n"


def _contents(text: str) -> str:
    """Return the tables of contents, with the pages that nobody has put into a place."""
    named = {line.strip() for line in text.splitlines()}
    rest = {path.stem for path in SOURCE.glob("*.md")} - named - {"index"}
    return text.replace("REST", "\n".join(sorted(rest)))


def main() -> int:
    """Write the site; return the exit status of Sphinx."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/site/html"
    stage()
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q"]
    status = subprocess.run([*command, "-d", SOURCE.parent / "doctrees", SOURCE, target]).returncode
    remote = [page for page in target.rglob("*.html") if _REMOTE.search(page.read_text())]
    for page in remote:
        print(f"{page} loads something from another site", file=sys.stderr)
    return status or bool(remote)


if __name__ == "__main__":
    sys.exit(main())
