# SPDX-License-Identifier: Apache-2.0
"""Pages of reference from the comments of the C headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_SECTION = re.compile(r"/\* -{10,} (?P<title>.*?) \*/$")
# Include guards, helpers and the empty MLUOP_WIN_API are nothing to read about.
_MACRO = re.compile(r"#define ((?!MLUOP_WIN_API)\w+(?<!_)(?:\([^)]*\))?)(?: |$)")
_NAME = re.compile(r"\b((?:mluOp|MLUOP_|cnrt|CNRT_|cn[A-Z]|CN_)\w+)")


class UndocumentedError(Exception):
    """A declaration has no comment."""


@dataclass
class Item:
    """A comment and what it is about: one or more declarations that follow it."""

    comment: str
    declarations: list[str] = field(default_factory=list)


@dataclass
class Section:
    """The declarations below a heading of a header."""

    title: str
    items: list[Item] = field(default_factory=list)


@dataclass
class Header:
    """A header: what it says of itself, and its sections."""

    name: str
    about: str
    sections: list[Section]


def read(path: Path) -> Header:
    """Read a header; raise UndocumentedError for a declaration that has no comment."""
    about = ""
    sections, seen = [Section("Definitions")], set[str]()
    for kind, text in _tokens(path.read_text().splitlines()):
        if kind == "section":
            sections.append(Section(text))
        elif kind == "comment" and "@file" in text:
            about = text.partition("\n")[2]
        elif kind == "comment":
            sections[-1].items.append(Item(text))
        elif kind == "end":
            sections[-1].items.append(Item(""))  # a blank line: a comment holds up to there
        elif not sections[-1].items or not sections[-1].items[-1].comment:
            raise UndocumentedError(f"{path.name}: no comment in front of {text}")
        elif text.partition("(")[0] not in seen:  # a macro may be defined in two ways
            sections[-1].items[-1].declarations.append(text)
        if kind == "declaration" and text.startswith("typedef enum"):
            _undocumented(path, text)
        if text.startswith("#"):
            seen.add(text.partition("(")[0])
    for section in sections:
        section.items = [item for item in section.items if item.declarations]
    return Header(path.name, about, [section for section in sections if section.items])


def _tokens(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield sections, comments, declarations, and the blank lines between them."""
    rest = iter(lines)
    for line in rest:
        if heading := _SECTION.match(line):
            yield "section", heading["title"]
        elif line.startswith("/**"):
            taken = [line]
            while "*/" not in taken[-1]:
                taken.append(next(rest))
            yield "comment", _comment(taken)
        elif line.startswith("/*"):
            while "*/" not in line:
                line = next(rest)
        elif line.startswith("#") or re.match(r'extern "C"|\}$', line):
            if defined := _MACRO.match(line):
                yield "declaration", f"#define {defined[1]}"
            while line.endswith("\\"):
                line = next(rest)
        elif not line.strip():
            yield "end", ""
        else:
            taken = [line]
            while not _complete(taken):
                taken.append(next(rest))
            yield "declaration", _code(taken)


def _complete(lines: list[str]) -> bool:
    code = " ".join(lines)
    return code.rstrip().endswith((";", "*/")) and code.count("{") == code.count("}")


def _code(lines: list[str]) -> str:
    code = re.sub(r"/\*(?!\*<).*?\*/", "", " ".join(line.strip() for line in lines))
    return re.sub(r"\s+", " ", code.replace("MLUOP_WIN_API ", "")).strip()


def _comment(lines: list[str]) -> str:
    """Return the text of a comment, without its frame."""
    text = "\n".join(re.sub(r"^(?:/\*\*| \*(?!/)|   )", "", line) for line in lines)
    bare = [line.removeprefix(" ") for line in text.replace("*/", "").splitlines()]
    return "\n".join(line.rstrip() for line in bare).strip("\n").strip()


# ------------------------------------------------------------------------------------- Markdown


def pages(headers: list[Header]) -> dict[str, str]:
    """Return a page for each header, names in which lead to their declarations."""
    kinds = {}
    for header in headers:
        for section in header.sections:
            for item in section.items:
                for declaration in item.declarations:
                    kinds.update(_kinds(declaration))
    return {header.name: _page(header, kinds) for header in headers}


def _page(header: Header, kinds: dict[str, str]) -> str:
    parts = [f"# {header.name}", _prose(header.about, kinds)]
    for section in header.sections:
        parts.append(f"## {section.title}")
        parts += [_item(item, kinds) for item in section.items]
    return "\n\n".join(parts) + "\n"


def _kinds(declaration: str) -> dict[str, str]:
    """Return the names that a declaration makes, and the role of each in Sphinx."""
    if defined := re.match(r"#define (\w+)", declaration):
        return {defined[1]: "macro"}
    if declaration.startswith("typedef enum"):
        names = dict.fromkeys((name for name, *_ in _enumerators(declaration)), "enumerator")
        return names | {_last_name(declaration): "enum"}
    if re.match(r"typedef struct \{", declaration):
        return {_last_name(declaration): "struct"}
    if pointer := re.match(r"typedef \w+ \(\*(\w+)\)", declaration):
        return {pointer[1]: "type"}
    if declaration.startswith("typedef"):
        return {_last_name(declaration): "type"}
    function = re.search(r"(\w+)\(", declaration)
    assert function is not None, declaration
    return {function[1]: "func"}


def _last_name(declaration: str) -> str:
    return re.findall(r"\w+", declaration)[-1]


def _enumerators(declaration: str) -> Iterator[tuple[str, str, str]]:
    """Yield the enumerators of an enumeration: name, value and comment."""
    body = declaration[declaration.index("{") + 1 : declaration.rindex("}")]
    for found in re.finditer(r"(\w+)(?: = (\w+))?,?(?: /\*\*< (.*?) \*/)?", body):
        yield found[1], found[2] or "", found[3] or ""


def _members(declaration: str) -> Iterator[tuple[str, str]]:
    """Yield the members of a struct: declaration and comment."""
    body = declaration[declaration.index("{") + 1 : declaration.rindex("}")]
    for found in re.finditer(r"(\w[^;]*);(?: /\*\*< (.*?) \*/)?", body):
        yield found[1], found[2] or ""


def _undocumented(path: Path, declaration: str) -> None:
    """Raise an error for an enumerator without a comment; the value of another one explains it."""
    for name, value, comment in _enumerators(declaration):
        if not comment and not re.match(r"[A-Za-z]", value):
            raise UndocumentedError(f"{path.name}: no comment behind {name}")


def _item(item: Item, kinds: dict[str, str]) -> str:
    body = _body(item.comment, kinds)
    first = item.declarations[0]
    if first.startswith("typedef enum"):
        members = [
            _directive("enumerator", f"{name} = {value}", said or f"The same as `{value}`.", ":::")
            for name, value, said in _enumerators(first)
        ]
        return _directive("enum", _last_name(first), "\n\n".join([body, *members]))
    if first.startswith("typedef struct {"):
        members = [_directive("member", name, said, ":::") for name, said in _members(first)]
        return _directive("struct", _last_name(first), "\n\n".join([body, *members]))
    see = f"See {_marked(next(iter(_kinds(first))), kinds)}."
    return "\n\n".join(
        _directive(_kind(declaration), _signature(declaration), body if number == 0 else see)
        for number, declaration in enumerate(item.declarations)
    )


def _kind(declaration: str) -> str:
    (role,) = _kinds(declaration).values()
    return "function" if role == "func" else role


def _signature(declaration: str) -> str:
    if re.match(r"typedef struct \w+ \*", declaration):  # opaque: its name is all there is to know
        return _last_name(declaration)
    return re.sub(r"^(?:#define|typedef) |;$", "", declaration)


def _directive(kind: str, signature: str, body: str, fence: str = "::::") -> str:
    return f"{fence}{{c:{kind}}} {signature}\n\n{body}\n{fence}"


def _body(comment: str, kinds: dict[str, str]) -> str:
    """Turn the tags of a comment into a list of fields."""
    text = re.sub(r"(?m)(?<=\S) (@return)", r"\n\1", comment)
    blocks = re.split(r"(?m)^(?=@)", text)
    prose, fields, after = _prose(blocks[0], kinds), [], []
    for block in blocks[1:]:
        said, _, rest = block.partition("\n\n")
        if " - " in rest.partition("\n\n")[0][:6]:
            said, rest = block, ""
        tag, _, words = said.partition(" ")
        name = ""
        if tag == "@param":
            name, _, words = words.strip().partition(" ")
        fields.append(_field(f":param {name}:" if name else ":returns:", words, kinds))
        if rest.strip():
            after.append(_prose(rest.strip("\n"), kinds))
    return "\n\n".join(filter(None, [prose, *after, "\n".join(fields)]))


def _field(name: str, words: str, kinds: dict[str, str]) -> str:
    lines = words.strip().splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    cut = min(indents, default=0)
    lines = [lines[0], *(line[cut:] for line in lines[1:])]
    said = _prose("\n".join(lines), kinds)
    return (
        f"{name} " + "\n".join(f"    {line}" if line else "" for line in said.splitlines()).strip()
    )


def _prose(text: str, kinds: dict[str, str]) -> str:
    """Return Markdown: indented blocks stay as they are, names elsewhere become references."""
    lines, code = [], False
    for line in text.splitlines():
        if line.startswith("    ") and (code or not lines or not lines[-1].strip()):
            code = True
        elif line.strip():
            code = False
        lines.append(line if code else _marked(line, kinds))
    return re.sub(r"(?m)^(  - )", "- ", "\n".join(lines).strip("\n"))


def _marked(line: str, kinds: dict[str, str]) -> str:
    def reference(found: re.Match[str]) -> str:
        name = found[1]
        return f"{{c:{kinds[name]}}}`{name}`" if name in kinds else f"`{name}`"

    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else _NAME.sub(reference, part.replace("*", r"\*"))
        for part in parts
    )
