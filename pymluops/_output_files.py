# SPDX-License-Identifier: Apache-2.0
"""Files that a command is asked to write: refused before the work, if they cannot be written."""

from pathlib import Path


def checked(path: Path, suffix: str) -> Path:
    """Return the path of a file that can be written and whose name ends as it should, or raise."""
    if path.suffix.lower() != suffix:
        raise OSError(f"{path} given, expected a name that ends with {suffix}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected a file to write")
    new = not path.exists()
    with path.open("ab"):  # says by itself what is wrong
        pass
    if new:
        path.unlink()
    return path
