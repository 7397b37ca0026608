# SPDX-License-Identifier: Apache-2.0
"""Times this library beside the peers (PyTorch, numba) of a peers folder, in one run.

    python benchmarks/peers.py PEERS_FOLDER --library build/libmluops.so --only carafe

The folder has `run_peers.py`, which times, and `cases.py`, which makes inputs and knows the least
work of each case. Only the formulations that won there (`--best-of`) are timed again. Each line
ends with the ratio of the best peer's time to ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import ARRAY, NCHW, NHWC, Call, Carafe, Library, Tensor, Workspace

Arguments = list[Any]
Results = dict[str, np.ndarray]


def _carafe(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    carafe = Carafe(case.k, case.G, case.s)
    inputs = [carafe, Tensor(data["x"], NHWC), Tensor(data["mask"], NHWC)]
    if case.dir == "fwd":
        out = new(data["go"].shape)
        return "mluOpCarafeForward", [*inputs, Tensor(out, NHWC)], {"out": out}
    gx, gm = new(data["x"].shape), new(data["mask"].shape)
    grads = [Tensor(data["go"], NHWC), Tensor(gx, NHWC), Tensor(gm, NHWC)]
    return "mluOpCarafeBackward", [*inputs, *grads], {"gx": gx, "gm": gm}


def _psamask(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    forward = case.dir == "fwd"
    source, target = (
        data["x" if forward else "go"],
        new(data["go" if forward else "x"].shape),
    )
    arguments = [
        case.type,
        Tensor(source, NHWC),
        case.hm,
        case.wm,
        Tensor(target, NHWC),
    ]
    api = "mluOpPsamaskForward" if forward else "mluOpPsamaskBackward"
    return api, arguments, {"out" if forward else "gx": target}


def _deform_roi_pool(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    inputs = [Tensor(data["x"], NHWC), Tensor(data["rois"]), Tensor(data["offset"])]
    numbers = [case.P, case.P, case.scale, case.sr, case.gamma]
    if case.dir == "fwd":
        out = new(data["go"].shape)
        return (
            "mluOpDeformRoiPoolForward",
            [*inputs, *numbers, Tensor(out, NHWC)],
            {"out": out},
        )
    results = {"gx": new(data["x"].shape)}
    goff = None
    if data["offset"] is not None:
        goff = results["goff"] = new(data["offset"].shape)
    arguments = [
        Tensor(data["go"], NHWC),
        *inputs,
        *numbers,
        Tensor(results["gx"], NHWC),
    ]
    return "mluOpDeformRoiPoolBackward", [*arguments, Tensor(goff)], results


def _border_align(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    boxes = Tensor(data["boxes"])
    if case.dir == "fwd":
        out, arg = new(data["go"].shape), np.zeros(data["go"].shape, np.int32)
        arguments = [
            Tensor(data["x"], NHWC),
            boxes,
            case.pool,
            Tensor(out, NHWC),
            Tensor(arg, NHWC),
        ]
        return "mluOpBorderAlignForward", arguments, {"out": out, "arg": arg}
    import numba_peer

    arg, gx = numba_peer.argmax_of(case), new(data["x"].shape)
    arguments = [
        Tensor(data["go"], NHWC),
        boxes,
        Tensor(arg, NHWC),
        case.pool,
        Tensor(gx, NHWC),
    ]
    return "mluOpBorderAlignBackward", arguments, {"gx": gx}


def _masked_im2col(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    out = new((case.C * case.kh * case.kw, case.m))
    inputs = [
        Tensor(data["x"], NCHW),
        Tensor(data["hidx"], ARRAY),
        Tensor(data["widx"], ARRAY),
    ]
    numbers = [case.kh, case.kw, case.ph, case.pw]
    return (
        "mluOpMaskedIm2colForward",
        [*inputs, *numbers, Workspace(), Tensor(out)],
        {"out": out},
    )


def _masked_col2im(case: Any, data: Any, new: Callable) -> tuple[str, Arguments, Results]:
    out = new((1, case.C, case.H, case.W))
    inputs = [Tensor(data["col"]), Tensor(data["hidx"]), Tensor(data["widx"])]
    arguments = [*inputs, Workspace(size_first=True), Tensor(out, NCHW)]
    return "mluOpMaskedCol2imForward", arguments, {"out": out}


OPERATORS = {
    "carafe": _carafe,
    "psamask": _psamask,
    "deform_roi_pool": _deform_roi_pool,
    "border_align": _border_align,
    "masked_im2col": _masked_im2col,
    "masked_col2im": _masked_col2im,
}


def make_peer(library: Library, handle: Any) -> Callable[..., dict[str, Any]]:
    """The function that the peers' runner asks for our formulation of a case."""
    import cases

    def make(case: Any, dtype: str = "f32") -> dict[str, Any]:
        ours = np.float16 if dtype == "f16" else np.float32
        if dtype == "f16" and case.op == "psamask":
            return {}

        def cast(array: np.ndarray | None) -> np.ndarray | None:
            floating = array is not None and array.dtype == np.float32
            return array.astype(ours) if floating else array

        data = {name: cast(array) for name, array in cases.inputs(case).items()}
        api, arguments, results = OPERATORS[case.op](
            case, data, lambda shape: np.full(shape, np.nan, ours)
        )
        call = Call(library, handle, api, arguments)
        return {"ours": (call, lambda: results)}

    return make


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
    with library.handle(None, 0) as handle:
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
