# SPDX-License-Identifier: Apache-2.0
"""The rule tables of the families: their words mean something, their shapes can be solved."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [*sorted((ROOT / "c_src/families").iterdir()), ROOT / "c_src/layout"]
FOLDERS = [folder for folder in FOLDERS if folder.is_dir()]
EACH_FOLDER = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def text_of(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.glob("*.[ch]")))


def rule_tables(source: str) -> list[str]:
    return re.findall(
        r"struct mluop_rule \w+\[\] = \{(.*?)\{\.check = CHECK_END\}", source, re.DOTALL
    )


@EACH_FOLDER
def test_rules_speak_of_what_the_call_has(folder: Path) -> None:
    """The words of every rule are numbers, letters, and scalars that the operator names."""
    source = text_of(folder)
    scalars = set(re.findall(r'mluop_(?:integers?|real)\(\s*"([^"]+)",', source))
    objects = set(re.findall(r'\{\.name = "(\w+)", \.pointer', source))
    tables = rule_tables(source)
    assert tables
    for table in tables:
        for check, said in re.findall(r'\.check = (CHECK_\w+)[^}]*?\.text =\s*"([^"]*)"', table):
            if check == "CHECK_OBJECT":
                assert said in objects, f"{check} {said!r}"
                continue
            for word in said.split():
                for factor in re.split(r"[*|]", word):
                    known = factor in scalars or re.fullmatch(r"[A-Z]|\d+", factor)
                    assert known, f"{check} {said!r}: {factor!r} is neither letter nor scalar"
            if check != "CHECK_SHAPE":
                assert said in scalars, f"{check} {said!r}"


@EACH_FOLDER
def test_shapes_bind_one_letter_at_a_time(folder: Path) -> None:
    """A word with two letters, both seen for the first time, could not be solved."""
    for table in rule_tables(text_of(folder)):
        bound: set[str] = set()
        for shape in re.findall(r'CHECK_SHAPE[^}]*?\.text =\s*"([^"]*)"', table):
            for word in shape.split():
                letters = [f for f in re.split(r"[*|]", word) if re.fullmatch("[A-Z]", f)]
                new = [letter for letter in letters if letter not in bound]
                assert len(new) <= 1, f"{shape!r}: {word!r} has two unknown letters"
                bound.update(new)
