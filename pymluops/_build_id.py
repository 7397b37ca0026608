# SPDX-License-Identifier: Apache-2.0
"""Which C sources a build was made from. Also run by CMake: it needs nothing but Python."""

import hashlib
import sys
from pathlib import Path

_SUFFIXES = {".c", ".h", ".cmake", ".in", ".py"}


def of_sources(root: Path) -> str:
    """Return the id of the C sources in a source folder, as the extension module has it built in.

    A library that was built from other sources has another ``lib.pymluops_build_id``.
    """
    files = [root / "CMakeLists.txt", *(root / "include").glob("*.h")]
    files += [path for path in (root / "c_src").rglob("*") if path.suffix in _SUFFIXES]
    digest = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _write(root: Path, output: Path) -> None:
    """Write the C file with the id, unless it is there already."""
    code = (
        "extern const char *const pymluops_build_id;\n"
        f'const char *const pymluops_build_id = "{of_sources(root)}";\n'
    )
    if not output.exists() or output.read_text() != code:
        output.write_text(code)


if __name__ == "__main__":
    _write(Path(sys.argv[1]), Path(sys.argv[2]))
