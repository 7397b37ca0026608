# SPDX-License-Identifier: Apache-2.0
"""PSANet sizes, and a sweep of small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import NHWC, Case, Peer, Tensor, TorchCall


def _case(direction: str, size: int, kind: int, batch: int, group: str) -> Case:
    mask = 2 * size - 1
    forward = direction == "forward"

    def make(dtype: np.dtype) -> list[Any]:
        rng = np.random.default_rng(size)
        masks = rng.standard_normal((batch, size, size, mask * mask)).astype(dtype)
        spread = rng.standard_normal((batch, size, size, size * size)).astype(dtype)
        source, target = (masks, spread) if forward else (spread, masks)
        return [
            kind,
            Tensor(source, NHWC),
            mask,
            mask,
            Tensor(target, NHWC, output=True),
        ]

    used = 4 * batch * size**4
    name = ("collect", "distribute")[kind]
    return Case(
        f"psamask_{direction}/{size}-{name}",
        f"mluOpPsamask{direction.capitalize()}",
        make,
        read=used,
        written=used if forward else 4 * batch * size * size * mask * mask,
        dtypes=("float32",),
        group=group,
    )


CASES = [
    _case(direction, size, kind, batch, group)
    for group, batch, sizes in (
        ("table", 2, (30, 60)),
        ("sweep", 1, (1, 2, 3, 5, 8, 13, 21, 34)),
    )
    for size in sizes
    for direction in ("forward", "backward")
    for kind in (0, 1)
]


def _psamask_peer(case: Any, data: Any, new: Callable[..., Any]) -> Peer:
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


_psamask_peer.float_only = True  # type: ignore[attr-defined]

#: What benchmarks/peers.py calls, by the names of the operators there.
PEERS = {"psamask": _psamask_peer}


def in_torch() -> Iterator[TorchCall]:
    """Yield calls of the PyTorch functions, each with its name and images."""
    import torch

    from pymluops import torch as ops

    for size in (30, 60):
        masks = torch.randn(1, (2 * size - 1) ** 2, size, size)
        yield f"psa_mask {size}", lambda x, s=size: ops.psa_mask(x, 0, 2 * s - 1), [masks]
