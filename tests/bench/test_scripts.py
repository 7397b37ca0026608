# SPDX-License-Identifier: Apache-2.0
"""The scripts that the documentation names run, and show every operator."""

import importlib.util
from pathlib import Path

from python_calls import CALLS

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_python_overhead(capsys, monkeypatch):
    spec = importlib.util.spec_from_file_location("overhead", BENCHMARKS / "python_overhead.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROUNDS", 1)
    monkeypatch.setattr(script, "CALLS_PER_ROUND", 1)
    script.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [name for name, *_ in rows] == [*CALLS]
    for name, into, new, alone in rows:
        assert (into == "-") == (not CALLS[name].takes_out)
        assert min(float(alone), float(new)) > 0
