# SPDX-License-Identifier: Apache-2.0
"""Every operation of the vector layer is there for each instruction set, and has a test.

The programs beside this file compare the operations with plain C; tests/core/test_c.py runs them.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VECTOR = ROOT / "c_src/vector"
# The plain loops are what tests compare with.
SHARED = [path for path in (ROOT / "c_src/shared").glob("*.h") if path.stem != "plain"]
HEADERS = sorted([*VECTOR.glob("*.h"), *SHARED, ROOT / "c_src/core/half.h"])
ISAS = sorted(path for path in VECTOR.glob("simd_*.h") if path.stem != "simd_part")


def operations(path: Path) -> set[str]:
    """Return the functions that a header defines; those with a final underscore are its own."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    defined = re.findall(
        r"^(?:MLUOP_INLINE|static inline)\s[^;{}()]*?\b(\w+)\(", text, re.MULTILINE
    )
    return {name for name in defined if not name.endswith("_")}


def with_parts(path: Path) -> set[str]:
    """Return the operations of an instruction set, with those of the header that it includes."""
    parts = VECTOR / "simd_part.h"
    own = operations(path)
    if f'#include "vector/{parts.name}"' not in path.read_text():
        return own
    assert own & operations(parts) == set()
    return own | operations(parts)


def called_by_tests() -> set[str]:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("*.[ch]"))
    return set(re.findall(r"\b(\w+)\(", text))


def test_headers_are_read() -> None:
    assert len(ISAS) >= 4
    assert {"vf_load", "vf_load_as", "mluop_opaque"} <= operations(VECTOR / "simd.h") | with_parts(
        ISAS[0]
    )
    assert len(with_parts(ISAS[0])) > 40


@pytest.mark.parametrize("path", ISAS, ids=[path.stem for path in ISAS])
def test_instruction_sets_have_the_same_operations(path: Path) -> None:
    assert with_parts(path) == with_parts(ISAS[0])


@pytest.mark.parametrize("path", HEADERS, ids=[path.stem for path in HEADERS])
def test_each_operation_has_a_test(path: Path) -> None:
    assert operations(path) - called_by_tests() == set()
