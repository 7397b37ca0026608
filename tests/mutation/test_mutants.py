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


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["name"] for mutant in MUTANTS])
def test_mutant_changes_the_source(mutant: dict) -> None:
    text = (mutation.ROOT / mutant["file"]).read_text()
    assert mutation.mutate(text, mutant) != text
