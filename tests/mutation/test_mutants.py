# SPDX-License-Identifier: Apache-2.0
"""Every mutant still fits the sources; .ci/run builds them and runs the conformance suite."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("mutation_run", HERE / "run.py")
assert spec is not None
assert spec.loader is not None
mutation = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mutation)
MUTANTS = mutation.listed()


def test_names_are_different() -> None:
    assert len({mutant["name"] for mutant in MUTANTS}) == len(MUTANTS)


def test_a_name_that_no_mutant_has_is_an_error(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["run.py", "TYPO"])
    monkeypatch.setattr(mutation, "prepare", lambda: pytest.fail("a build for nothing"))
    with pytest.raises(SystemExit) as caught:
        mutation.main()
    assert caught.value.code == 2
    assert "no mutant has TYPO in its name" in capsys.readouterr().err


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["name"] for mutant in MUTANTS])
def test_mutant_changes_the_source(mutant: dict) -> None:
    text = (mutation.ROOT / mutant["file"]).read_text()
    assert mutation.mutate(text, mutant) != text
