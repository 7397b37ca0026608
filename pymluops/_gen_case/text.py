# SPDX-License-Identifier: Apache-2.0
"""The text form of Protocol Buffers, read into a message and written from one.

protobuf's own reader stops at a field that it does not know, or throws it away, and takes
microseconds for each of millions of values. This one keeps such fields with their lines, takes runs
of values at once, and says line and field of what is wrong.
"""

import bisect
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pymluops._gen_case.errors import CaseError
from pymluops._gen_case.scalars import expected, fits, is_repeated, value_of, values_of, written

_DEEPEST = 50
_SPACE = re.compile(r"(?:\s++|#[^\n]*+)*+")
_NAME = re.compile(r"[A-Za-z_]\w*+")
_STRING = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')""")
_WORD = re.compile(r"""[^\s{}\[\]<>,;:#"']++""")
_CLOSING = {"{": "}", "<": ">"}


@dataclass(frozen=True)
class Unknown:
    """A field that the schema does not have, as it stands in the file."""

    line: int
    field: str
    text: str


@dataclass
class Found:
    """What a text says besides the message."""

    unknown: list[Unknown] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    """Where each field begins, by its path: "input[0].shape"."""


def read(text: str, message: Any, newer_names: dict[str, str]) -> Found:
    """Fill a message; raises CaseError. Its own fields may have older names."""
    return _Reader(text, newer_names).read(message)


@cache
def _run_of(name: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a run of equally named scalars, and of one of them."""
    value = r"""("[^"\\\n]*+"|[^\s{}\[\]<>,;:#"']++)"""
    one = rf"\b{name}\s*+:\s*+{value}"
    return re.compile(rf"(?:\s*+{one}(?:\s*+[,;])?+)++"), re.compile(one)


class _Reader:
    def __init__(self, text: str, newer_names: dict[str, str]) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.newer_names = newer_names
        self.found = Found()
        self.newlines = [found.start() for found in re.finditer("\n", text)]

    def read(self, message: Any) -> Found:
        self.skip_space()
        self.read_fields(message, "", "")
        return self.found

    def line(self, at: int) -> int:
        return bisect.bisect_left(self.newlines, at) + 1

    def fail(self, problem: str, where: str = "", at: int | None = None) -> CaseError:
        return CaseError(problem, where, self.line(self.at if at is None else at))

    def skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def next_character(self) -> str:
        self.skip_space()
        return self.text[self.at : self.at + 1]

    def take(self, characters: str) -> str:
        """Take one of these characters if it comes next."""
        character = self.next_character()
        if character and character in characters:
            self.at += 1
            return character
        return ""

    # ------------------------------------------------------------------------------ messages

    def read_fields(self, message: Any, path: str, closing: str) -> None:
        known = message.DESCRIPTOR.fields_by_name
        while (character := self.next_character()) != closing or not character:
            if not character:
                if not closing:
                    return
                raise self.fail(f'the file ends before "{closing}"', path)
            begin = self.at
            name = _NAME.match(self.text, begin)
            if name is None and character != "[":
                shown = self.text[begin : begin + 20].split("\n")[0]
                raise self.fail(f"{shown!r} given, expected the name of a field", path)
            where = f"{path}.{name[0]}" if path and name else name[0] if name else "[extension]"
            descriptor = None
            if name:
                newer = name[0] if path else self.newer_names.get(name[0], name[0])
                descriptor = known.get(newer)
            if name is None or descriptor is None:
                self.skip_field(where)
                self.keep(begin, where)
            else:
                self.at = name.end()
                self.read_field(message, descriptor, where, begin)
            self.take(",;")
        self.at += len(closing)

    def keep(self, begin: int, where: str) -> None:
        text = self.text[begin : self.at]
        self.found.unknown.append(Unknown(self.line(begin), where, text))

    def read_field(self, message: Any, descriptor: Any, where: str, begin: int) -> None:
        colon = self.take(":")
        repeated = is_repeated(descriptor)
        if descriptor.message_type is not None:
            for _ in self.items(repeated, where):
                self.read_message(message, descriptor, where, begin)
            return
        if not colon:
            raise self.fail('expected ":"', where)
        self.found.lines.setdefault(where, self.line(begin))
        if not repeated:
            self.read_scalar(message, descriptor, where, begin)
        elif self.next_character() == "[":
            self.extend(message, descriptor, where, self.list_words(where), begin)
        elif descriptor.enum_type is not None:
            self.extend(message, descriptor, where, [self.word(where)], begin)
        else:
            self.read_run(message, descriptor, where, begin)

    def items(self, repeated: bool, where: str) -> Any:
        """Yield for each message: one, or those of a list."""
        if not (repeated and self.take("[")):
            yield
            return
        while not self.take("]"):
            yield
            if not self.take(",") and self.next_character() != "]":
                raise self.fail('expected "," or "]"', where)

    def read_message(self, message: Any, descriptor: Any, where: str, begin: int) -> None:
        opening = self.take("{<")
        if not opening:
            raise self.fail('expected "{"', where)
        if is_repeated(descriptor):
            where = f"{where}[{len(getattr(message, descriptor.name))}]"
            inner = getattr(message, descriptor.name).add()
        else:
            inner = getattr(message, descriptor.name)
            inner.SetInParent()
        self.found.lines.setdefault(where, self.line(begin))
        self.read_fields(inner, where, _CLOSING[opening])

    # ------------------------------------------------------------------------------- scalars

    def word(self, where: str) -> str:
        """Take one value: neighbouring strings are one."""
        character = self.next_character()
        pattern = _STRING if character in ("'", '"') else _WORD
        found = pattern.match(self.text, self.at) if character else None
        if found is None:
            raise self.fail(f"{character or 'the end'!r} given, expected a value", where)
        self.at = found.end()
        word = found[0]
        while pattern is _STRING and self.next_character() in ("'", '"'):
            found = _STRING.match(self.text, self.at)
            if found is None:
                raise self.fail("a text without its end", where)
            word, self.at = word[:-1] + found[0][1:-1] + word[0], found.end()
        return word

    def list_words(self, where: str) -> list[str]:
        self.take("[")
        words = []
        while not self.take("]"):
            words.append(self.word(where))
            if not self.take(",") and self.next_character() != "]":
                raise self.fail('expected "," or "]"', where)
        return words

    def read_run(self, message: Any, descriptor: Any, where: str, begin: int) -> None:
        """Take all values of a field that follow each other."""
        run, one = _run_of(descriptor.name)
        found = run.match(self.text, begin)
        if found is None:
            self.extend(message, descriptor, where, [self.word(where)], begin)
            return
        self.at = found.end()
        self.extend(message, descriptor, where, one.findall(found[0]), begin)

    def extend(
        self, message: Any, descriptor: Any, where: str, words: list[str], begin: int
    ) -> None:
        """Append to a repeated field."""
        values = getattr(message, descriptor.name)
        for i in range(0, len(words), 4096):
            part = words[i : i + 4096]
            try:
                values.extend(values_of(descriptor, part))
            except (ValueError, KeyError, TypeError, OverflowError):
                bad = next(word for word in part if not fits(message, descriptor, word))
                at = self.text.find(bad, begin, self.at)
                raise self.fail(expected(descriptor, bad), where, at) from None

    def read_scalar(self, message: Any, descriptor: Any, where: str, begin: int) -> None:
        word = self.word(where)
        if descriptor.enum_type is not None and not fits(message, descriptor, word):
            self.keep(begin, where)  # an enumerator that later versions have
            return
        try:
            setattr(message, descriptor.name, value_of(descriptor, word))
        except (ValueError, KeyError, TypeError, OverflowError):
            raise self.fail(expected(descriptor, word), where, begin) from None

    # ------------------------------------------------------------------------- what is unknown

    def skip_field(self, where: str) -> None:
        if self.take("["):
            end = self.text.find("]", self.at)
            if end < 0:
                raise self.fail('the file ends before "]"', where)
            self.at = end + 1
        else:
            self.word(where)
        self.take(":")
        self.skip_value(where)

    def skip_value(self, where: str) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail(f"more than {_DEEPEST} levels", where)
        opening = self.take("{<[")
        if opening == "[":
            while not self.take("]"):
                self.skip_value(where)
                if not self.take(",") and self.next_character() != "]":
                    raise self.fail('expected "," or "]"', where)
        elif opening:
            while not self.take(_CLOSING[opening]):
                if not self.next_character():
                    raise self.fail(f'the file ends before "{_CLOSING[opening]}"', where)
                self.skip_field(where)
                self.take(",;")
        else:
            self.word(where)
        self.depth -= 1


def write(message: Any, indent: str = "") -> str:
    """Return the text of a message; lists of values take as few lines as they can."""
    lines = []
    for descriptor, value in message.ListFields():
        values = list(value) if is_repeated(descriptor) else [value]
        if descriptor.message_type is not None:
            for inner in values:
                body = write(inner, indent + "  ")
                lines.append(f"{indent}{descriptor.name} {{\n{body}{indent}}}\n")
        elif len(values) > 16:
            words = [written(descriptor, one) for one in values]
            rows = [", ".join(words[i : i + 16]) for i in range(0, len(words), 16)]
            body = f",\n{indent}  ".join(rows)
            lines.append(f"{indent}{descriptor.name}: [\n{indent}  {body}\n{indent}]\n")
        else:
            lines += [f"{indent}{descriptor.name}: {written(descriptor, v)}\n" for v in values]
    return "".join(lines)
