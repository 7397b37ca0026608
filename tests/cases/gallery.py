# SPDX-License-Identifier: Apache-2.0
"""The gallery: the sizes of the design documents, for every operator.

A family has them in its folder, in gallery_cases.py. This file writes the cases:

python tests/cases/gallery.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from families import family_files

from pymluops import __main__ as cli

FOLDER = Path(__file__).resolve().parent / "gallery"
CASES = {
    f"{name}_{note}.prototxt": (name, sizes)
    for _, module in family_files("gallery_cases")
    for name, note, sizes in module.cases()
}


def write(folder: Path) -> None:
    """Write every file."""
    for file, (name, sizes) in CASES.items():
        assert cli.main(["case", "new", name, "--shape", *sizes, "-o", str(folder / file)]) == 0


if __name__ == "__main__":
    write(FOLDER)
