# SPDX-License-Identifier: Apache-2.0
"""The same operators in PyTorch and numba, where these are installed: what one would write else.

A family has them in ``bench_torch.py`` and ``bench_numba.py``, by operators. A result that differs
from ours is no peer: it is left out, and the report says so.
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from pymluops import _families
from pymluops._tensor import Array
from pymluops.bench._case import Arguments, Case, Pointer, Tensor

#: The arrays that a case gives to an operator, by their names, and the numbers beside them.
Problem: TypeAlias = Any
#: A call, and what makes of its result arrays as ours are.
Made: TypeAlias = tuple[Callable[[], Any], Callable[[Any], Sequence[Array]]]

LIBRARIES = ("torch", "numba")


@dataclass(frozen=True)
class Peer:
    """One way to write an operator. `make` returns None for what it cannot do."""

    how: str
    make: Callable[[Problem], Made | None]
    tolerance: float = 1e-4
    """How far its result may be from ours, relative to its norm."""
    library: str = ""


def missing() -> list[str]:
    """Return the libraries that are not installed."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


def set_threads(library: str, threads: int) -> None:
    """Let a library use so many threads."""
    if library == "torch":
        import torch

        torch.set_num_threads(threads)
    else:
        import numba

        numba.set_num_threads(threads)


def of_operator(operator: str, libraries: Sequence[str]) -> Iterator[Peer]:
    """Yield the peers of an operator in some libraries."""
    for library in libraries:
        for _, module in _families.parts(f"bench_{library}"):
            for peer in module.PEERS.get(operator, ()):
                yield Peer(peer.how, peer.make, peer.tolerance, library)


def problem(case: Case, arguments: Arguments) -> Problem:
    """Return what a peer gets: inputs, and the numbers of the case."""
    arrays = {
        name: a.array
        for name, a in arguments.items()
        if isinstance(a, Tensor | Pointer) and not getattr(a, "output", False)
    }
    return SimpleNamespace(**arrays, **case.numbers)


def difference(found: Sequence[Array], ours: Sequence[Array]) -> float:
    """Return how far results are from ours: of the worst array, relative to its norm.

    Of whole numbers it is the share that differ.
    """
    if len(found) != len(ours):
        return float("inf")
    return max(map(_distance, found, ours))


def _distance(found: Array, ours: Array) -> float:
    found = np.asarray(found)
    if found.shape != ours.shape:
        return float("inf")
    if ours.size == 0:
        return 0.0
    if ours.dtype.kind in "iu":
        return float(np.mean(found != ours))
    error = np.linalg.norm((found - ours).ravel()) / max(float(np.linalg.norm(ours.ravel())), 1e-30)
    return float(error) if np.isfinite(error) else float("inf")


def as_they_are(result: Sequence[Array]) -> Sequence[Array]:
    """Return the arrays of a peer in our layout."""
    return result


def tensors(result: Any) -> Sequence[Array]:
    """Return the arrays of tensors in our layout."""
    several = result if isinstance(result, tuple | list) else (result,)
    return [tensor.detach().numpy() for tensor in several]


def tensors_nchw(result: Any) -> Sequence[Array]:
    """Return NCHW tensors as our NHWC arrays."""
    return [np.moveaxis(array, 1, -1) for array in tensors(result)]
