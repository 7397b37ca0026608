# SPDX-License-Identifier: Apache-2.0
"""The ways to break a line, by example; kernels.py builds and tests them."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "mutation_changes", Path(__file__).parent / "changes.py"
)
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def changed(text: str, number: int) -> set[str]:
    lines = text.split("\n")
    return {line for _, line in module.changes(lines, module.code_of(text), number)}


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("  for (i = 0; i < n; i++) {", {"  for (i = 0; i <= n; i++) {"}),
        ("  if (n > 1) return;", {"  if (!(n > 1)) return;", "  if (n >= 1) return;"}),
        ("  p[i * step + k] = v;", {"  p[i * step] = v;", "  p[i * step - k] = v;", "  ;"}),
        ("  const float a = 1.0f;", {"  const float a = 2.0f;"}),
        ("  sum += x;", {"  sum -= x;", "  sum = x;", "  ;"}),
        ("  vf_store(p, v);", {"  ;"}),
    ],
)
def test_ways(line: str, some: set[str]) -> None:
    assert some <= changed(f"void f(void) {{\n{line}\n}}", 1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "#define N 3 + 4",
        "/* 1 + 2 */",
        "  mluop_prefetch(p + 64);",
        "MLUOP_INLINE int f(int n) {",
        "  float *p;",
    ],
)
def test_nothing_to_break(line: str) -> None:
    assert changed(f"int a;\n{line}\n", 1) == set()


def test_declarations_and_parts_of_statements_stay() -> None:
    text = "{\n  const int a = b;\n  a = b +\n      g(c);\n}"
    assert changed(text, 1) == set()
    assert "      ;" not in changed(text, 3)


def test_comments_are_not_code() -> None:
    text = "/* one\n  a = 1; */\n  b = c; /* 1 + 2 */"
    assert changed(text, 1) == set()
    assert changed(text, 2) == {"  ;"}
