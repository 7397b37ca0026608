# SPDX-License-Identifier: Apache-2.0
"""What options of the commands say, judged before the work."""

import argparse
from pathlib import Path


def seed(text: str) -> int:
    """Return the seed of random numbers that an option gives."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} given, expected a whole number, 0 or more")
    return number


def output_file(path: Path, *suffixes: str) -> Path:
    """Return the path of a file that can be written and whose name ends as it should, or raise."""
    if path.suffix.lower() not in suffixes:
        expected = " or ".join(suffixes)
        raise OSError(f"{str(path)!r} given, expected a name that ends with {expected}")
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
