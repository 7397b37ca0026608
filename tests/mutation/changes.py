# SPDX-License-Identifier: Apache-2.0
"""The ways to break a line of C: what kernels.py chooses from."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What an operator becomes. Only those with spaces around them: casts, pointers and signs have none.
SWAPS = {
    "<": ["<="],
    "<=": ["<"],
    ">": [">="],
    ">=": [">"],
    "==": ["!="],
    "!=": ["=="],
    "+": ["-"],
    "-": ["+"],
    "*": ["+"],
    "/": ["*"],
    "%": ["/"],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
    "^": ["|"],
    "&&": ["||"],
    "||": ["&&"],
    "+=": ["-=", "="],
    "-=": ["+="],
    "|=": ["&=", "="],
    "&=": ["|="],
}
# What a word becomes: functions with the same arguments.
WORDS = {
    "smaller": "larger",
    "larger": "smaller",
    "vf_greater": "vf_at_least",
    "vf_at_least": "vf_greater",
    "begin": "end",
    "end": "begin",
    "low": "high",
    "high": "low",
    "first": "last",
    "last": "first",
}
# What only makes code faster, or speaks to the compiler: no test of results can notice it.
SPEED_ONLY = re.compile(
    r"prefetch|\bask_for\(|\bahead_\w+\(|MLUOP_LIKELY|MLUOP_UNROLL|__asm__|_pin\(|mluop_compiler_barrier"
)

_OPERATOR = re.compile(r"(?<= )(<<|>>|[<>=!]=|&&|\|\||[-+|&]=|[-+*/%<>&|^])(?= )")
_INTEGER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_FLOAT = re.compile(r"(?<![\w.])(\d+\.\d+)f\b")
_TERM = re.compile(r" [-+] \w+(?:->\w+|\.\w+)*(?: \* \w+(?:->\w+|\.\w+)*)*(?=[\],);])")
_CONDITION = re.compile(r"\b(if|while) \((.*)\)(?= ?(?:\{|$|\w.*;$))")
_STATEMENT = re.compile(
    r"^\s*(?:\*?[\w.>\-\[\]() +*]+? [-+|&*]?= [^;{}]*|\w+\([^;{}]*\)|break|continue);$"
)
_DECLARATION = re.compile(
    r"^\s*(?:const|static|enum|struct|typedef|return)\b|^\s*\w+ \*?\w+(?:\[.*?\])? = "
)


def code_of(text: str) -> list[str]:
    """Return the lines with comments and the insides of strings blanked, each as long as it was."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", blank, text, flags=re.DOTALL)
    return text.split("\n")


def _swapped(code: str, line: str) -> Iterator[tuple[str, str]]:
    for found in _OPERATOR.finditer(code):
        for other in SWAPS[found[0]]:
            yield (
                f"{found[0]} to {other}",
                line[: found.start()] + other + line[found.end() :],
            )
    for found in re.finditer(r"\b\w+\b", code):
        if found[0] in WORDS:
            other = WORDS[found[0]]
            yield f"{found[0]} to {other}", line[: found.start()] + other + line[found.end() :]


def _constants(code: str, line: str) -> Iterator[tuple[str, str]]:
    for found in _INTEGER.finditer(code):
        for other in {int(found[0]) + 1, max(int(found[0]) - 1, 0)} - {int(found[0])}:
            yield f"{found[0]} to {other}", line[: found.start()] + str(other) + line[found.end() :]
    for found in _FLOAT.finditer(code):
        other = float(found[1]) + 1
        yield f"{found[0]} to {other}f", line[: found.start()] + f"{other}f" + line[found.end() :]


def _removed(code: str, line: str, *, begins: bool) -> Iterator[tuple[str, str]]:
    for found in _TERM.finditer(code):
        yield f"without{found[0]}", line[: found.start()] + line[found.end() :]
    for found in _CONDITION.finditer(code):
        start, end = found.span(2)
        yield "condition negated", f"{line[:start]}!({line[start:end]}){line[end:]}"
    if begins and _STATEMENT.match(code) and not _DECLARATION.match(code):
        yield "statement removed", re.match(r"\s*", line)[0] + ";"  # type: ignore[index]


def changes(lines: list[str], code: list[str], number: int) -> list[tuple[str, str]]:
    """Return each way to break line `number` (from 0): its name, and the line that takes its place.

    `code` is what code_of makes of the whole file.
    """
    line, plain = lines[number], code[number].rstrip()
    if plain.lstrip().startswith("#") or not plain.strip() or plain.endswith("\\"):
        return []
    if SPEED_ONLY.search(plain) or re.match(r"(?:MLUOP_INLINE|static|void|extern)\b", plain):
        return []
    before = next((c.strip() for c in reversed(code[:number]) if c.strip()), ";")
    begins = before[-1] in ";{}:" and not before.startswith("#")
    found = [*_swapped(plain, line), *_constants(plain, line)]
    found += _removed(plain, line, begins=begins)
    return [(name, changed) for name, changed in found if changed != line]
