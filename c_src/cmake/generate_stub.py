# SPDX-License-Identifier: Apache-2.0
"""Write the types of the extension module ``pymluops._native`` from the headers.

Usage: generate_stub.py INCLUDE_DIR OUTPUT.pyi [FAMILY ...]

The functions of the families named are left out, as they are of the library.
"""

import re
import sys
from pathlib import Path

from generate_native import AFTER, BEFORE, HEADERS, declarations, without

WIDTH = 100

# What is not in a header: the part of cffi that is used.
TOP = """# SPDX-License-Identifier: Apache-2.0
# Types of the compiled module: what cffi makes of the C headers.
# Written by c_src/cmake/generate_stub.py in each build, like the module.

from collections.abc import Callable, Iterator, Sequence
from typing import Any

class CData:
    def __getitem__(self, index: int) -> Any: ...
    def __setitem__(self, index: int, value: Any) -> None: ...
    def __int__(self) -> int: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __add__(self, elements: int) -> CData: ...
    def __bool__(self) -> bool: ...

class CType: ...

class _FFI:
    NULL: CData
    error: type[Exception]
    def new(self, cdecl: str | CType, init: Any = ...) -> CData: ...
    def cast(self, cdecl: str | CType, source: Any) -> CData: ...
    def typeof(self, cdecl: str | CData) -> CType: ...
    def sizeof(self, cdecl: str | CData) -> int: ...
    def string(self, cdata: CData, maxlen: int = ...) -> bytes: ...
    def unpack(self, cdata: CData, length: int) -> Any: ...
    def buffer(self, cdata: CData, size: int = ...) -> Any: ...
    def from_buffer(
        self, cdecl: str | CType, python_buffer: Any, require_writable: bool = ...
    ) -> CData: ...
    def memmove(self, dest: Any, src: Any, n: int) -> None: ...
    def gc(
        self, cdata: CData, destructor: Callable[[CData], Any] | None, size: int = ...
    ) -> CData: ...
    def release(self, cdata: CData) -> None: ...
    def addressof(self, cdata: Any, *fields_or_indexes: Any) -> CData: ...
    def def_extern(
        self, name: str = ..., error: Any = ..., onerror: Callable[..., Any] = ...
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
    def new_handle(self, value: object) -> CData: ...
    def from_handle(self, handle: CData) -> Any: ...

"""

BOTTOM = """
ffi: _FFI
lib: _Lib
"""


def python_type(declared: str, enums: set[str]) -> str:
    """Return the type of a parameter or a result."""
    words = re.findall(r"\w+|[*\[]", declared)
    if "[" in words or "*" in words:
        numbers = not _opaque(words, enums) and not {"void", "char"} & set(words)
        return "CData | Sequence[int]" if "const" in words and numbers else "CData"
    if {"float", "double"} & set(words):
        return "float"
    if words == ["void"]:
        return "None"
    return "CData" if _opaque(words, enums) else "int"


def _opaque(words: list[str], enums: set[str]) -> bool:
    """Tell whether the type is one of ours that is no enumeration and no number."""
    numbers = r"(u?int\d+_t|size_t)"
    return any(
        word.endswith("_t") and word not in enums and not re.fullmatch(numbers, word)
        for word in words
    )


def function(result: str, name: str, parameters: str, enums: set[str]) -> str:
    """Return the stub of a function."""
    given = []
    for parameter in parameters.split(","):
        found = re.search(r"(\w+)\s*(\[\w*\])?\s*$", parameter)
        if parameter.strip() == "void" or found is None:
            continue
        declared = parameter[: found.start(1)] + (found[2] or "")
        given.append(f"{found[1]}: {python_type(declared, enums)}")
    arguments = ["self", *given, "/"] if given else ["self"]
    returned = "int" if "mluOpStatus_t" in result else python_type(result, enums)
    line = f"    def {name}({', '.join(arguments)}) -> {returned}: ...\n"
    if len(line) <= WIDTH + 1:
        return line
    rows = "".join(f"        {argument},\n" for argument in arguments)
    return f"    def {name}(\n{rows}    ) -> {returned}: ...\n"


def stub(include_dir: Path, left_out: list[str]) -> str:
    """Return the text of the file."""
    text = without("".join(declarations(include_dir / name) for name in HEADERS), left_out) + AFTER
    macros = re.findall(r"#define (\w+)", BEFORE)
    body, enums = "", set()
    for values, name in re.findall(r"typedef enum(?: \w+)? \{(.*?)\} (\w+);", text, re.DOTALL):
        enums.add(name)
        body += "".join(f"    {value}: int\n" for value in re.findall(r"(\w+)\s*=", values))
    text = re.sub(r"typedef [^;{]*(\{[^}]*\})?[^;]*;", "", text)
    functions, variables = "", ""
    for declaration in text.split(";"):
        found = re.search(r"([\w\s*]*?)\b(\w+)\(([^)]*)\)\s*$", declaration, re.DOTALL)
        if found is None:
            variables += "".join(f"    {n}: CData\n" for n in re.findall(r"(\w+)\s*$", declaration))
        elif "extern" in declaration:
            variables += f"    {found[2]}: CData\n"  # a function that Python defines
        else:
            functions += function(found[1], found[2], found[3], enums)
    constants = "".join(f"    {name}: int\n" for name in macros)
    return f"{TOP}class _Lib:\n{constants}\n{body}\n{variables}\n{functions}{BOTTOM}"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(stub(Path(sys.argv[1]), sys.argv[3:]))
