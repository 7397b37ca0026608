# SPDX-License-Identifier: Apache-2.0
"""What each library that we build has against misuse of mistakes."""

import platform
import re
import subprocess
from pathlib import Path


def readelf(option: str, path: Path) -> str:
    command = ["readelf", "--wide", option, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_stack_and_tables(path: Path) -> None:
    """The stack is data, and tables of addresses become read-only."""
    segments = readelf("-l", path)
    assert "GNU_RELRO" in segments
    flags = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+([RWE]+)", segments)
    assert flags is not None
    assert flags[1] == "RW"
    assert "TEXTREL" not in readelf("-d", path)


def check_hardened(path: Path) -> None:
    """Also, tables are complete before the first call, and overwritten ends are seen."""
    check_stack_and_tables(path)
    assert re.search(r"\(FLAGS_1\).*\bNOW\b", readelf("-d", path))
    undefined = set(re.findall(r"UND (\w+)", readelf("--dyn-syms", path)))
    if path.name != "libcndrv.so":  # which has no function that could write
        assert "__stack_chk_fail" in undefined
    if path.name == "libmluops.so" and platform.libc_ver()[0] == "glibc":
        assert {"__memcpy_chk", "__vsnprintf_chk"} <= undefined
