# SPDX-License-Identifier: Apache-2.0
"""Times this library beside the peers (PyTorch, numba) of a peers folder, in one run.

    python benchmarks/peers.py PEERS_FOLDER --library build/libmluops.so --only NAME

The folder has `run_peers.py`, which times, and `cases.py`, which makes inputs and knows the least
work of each case. Only the formulations that won there (`--best-of`) are timed again. Each line
ends with the ratio of the best peer's time to ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import Call, Library, Peer


def operators() -> dict[str, Callable[..., Peer]]:
    """What each family gives for the names of the peers' operators."""
    paths = sorted((Path(__file__).parent / "cases").glob("[a-z]*.py"))
    found: dict[str, Callable[..., Peer]] = {}
    for path in paths:
        spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= module.PEERS
    return found


def make_peer(library: Library, handle: Any) -> Callable[..., dict[str, Any]]:
    """The function that the peers' runner asks for our formulation of a case."""
    import cases

    by_name = operators()

    def make(case: Any, dtype: str = "f32") -> dict[str, Any]:
        ours = np.float16 if dtype == "f16" else np.float32
        make_call = by_name[case.op]
        if dtype == "f16" and getattr(make_call, "float_only", False):
            return {}

        def cast(array: np.ndarray | None) -> np.ndarray | None:
            floating = array is not None and array.dtype == np.float32
            return array.astype(ours) if floating else array

        data = {name: cast(array) for name, array in cases.inputs(case).items()}
        api, arguments, results = make_call(case, data, lambda shape: np.full(shape, np.nan, ours))
        call = Call(library, handle, api, arguments)
        return {"ours": (call, lambda: made(results))}

    return make


def made(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results after a call."""
    return {name: result() if callable(result) else result for name, result in results.items()}


def describe(result: dict[str, Any]) -> str:
    columns = {name: column["median_ms"] for name, column in result["columns"].items()}
    if "ours" not in columns:
        return f"{result['case']:40s} ours failed: {result['variants']}"
    ours = columns.pop("ours")
    share = 100e3 * result["roofline"]["seconds"] / ours
    line = f"{result['case']:40s} ours {ours:9.4f} ms  {share:5.1f} % of roofline"
    if columns:
        best = min(columns, key=columns.__getitem__)
        line += f"  best peer {columns[best]:9.4f} ms ({best})  {columns[best] / ours:6.2f}x"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("peers", type=Path)
    parser.add_argument("--library", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtype", default="f32", choices=("f32", "f16"))
    parser.add_argument("--columns", default="torch,numba", help="the peers to run beside")
    options = parser.parse_args()
    library_path = str(Path(options.library).resolve())
    peers = options.peers.resolve()
    sys.path.insert(0, str(peers))
    import run_peers

    run_peers.prepare_environment()
    library = Library(library_path)
    names = [name for name in options.columns.split(",") if name]
    best_of = peers / ("results.json" if options.dtype == "f32" else "results_f16.json")
    with library.handle("", 0) as handle:
        run_peers._default_peers(names)
        run_peers.add_peer("ours", make_peer(library, handle))
        printed: set[str] = set()
        for case in run_peers.select(options.only):
            if case.id in printed:
                continue
            for result in run_peers.run(  # every case whose name contains this one
                case.id, options.dtype, 9, peers=names, best_of=best_of, log=lambda *_: None
            ):
                printed.add(result["case"])
                print(describe(result), flush=True)


if __name__ == "__main__":
    main()
