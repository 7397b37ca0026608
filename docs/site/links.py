# SPDX-License-Identifier: Apache-2.0
"""Links of pages that lie somewhere else in the site than in the tree."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)")
_BLOCK = re.compile(r"(?ms)^ *```.*?^ *```\n|\Z")


@dataclass(frozen=True)
class Links:
    """Where the pages of the tree are in the site."""

    root: Path
    pages: dict[Path, str]
    repository: str | None
    """The address of the sources, for links to files that are not part of the site."""

    def moved(self, path: Path) -> str:
        """Return the text of a page, its links right for its place in the site."""
        text, end, parts = path.read_text(), 0, list[str]()
        for block in _BLOCK.finditer(text):
            parts.append(
                _LINK.sub(lambda found: self._link(found, path), text[end : block.start()])
            )
            parts.append(block.group())
            end = block.end()
        return "".join(parts)

    def _link(self, found: re.Match[str], path: Path) -> str:
        target, hash_, anchor = found["target"].partition("#")
        if not target or ":" in target:
            return found.group()
        file = Path(os.path.normpath(path.parent / target))
        place = self._place(file)
        if place is not None:
            here = PurePosixPath(self.pages[path]).parent
            new = os.path.relpath(place, here)
        elif self.repository:
            new = f"{self.repository}/blob/main/{file.relative_to(self.root).as_posix()}"
        else:
            return found["text"]
        return f"{found['image']}[{found['text']}]({new}{hash_}{anchor})"

    def _place(self, file: Path) -> str | None:
        page = self.pages.get(file / "README.md") or self.pages.get(file)
        name = file.relative_to(self.root).as_posix()
        if page is None and name.startswith("docs/images/"):
            return name.removeprefix("docs/")
        if page is None and name.startswith("include/"):
            return f"reference/c/{file.stem}.md"
        return page
