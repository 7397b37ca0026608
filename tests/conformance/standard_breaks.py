# SPDX-License-Identifier: Apache-2.0
"""The breaks that every operator has, made from its parameters: a table says what they lead to.

README.md describes the entries of `standard`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from math import prod
from operator import mul

OTHER_LAYOUT = {"NHWC": "NCHW", "NCHW": "NHWC"}
OTHER_TYPES = {"FLOAT": ["HALF"], "HALF": ["FLOAT"], "INT32": ["FLOAT", "INT64"]}
SIZES = {"FLOAT": 4, "HALF": 2, "INT32": 4}

Break = tuple[str, str, dict, str, list[str]]  # tensor, name, what is set, who is blamed, the text


def breaks(data: dict) -> list[dict]:
    """Return the breaks that a table asks for in `standard`."""
    found = []
    for kind, said in data.get("standard", {}).items():
        for entry in said if isinstance(said, list) else [said]:
            settings = {"check": entry} if isinstance(entry, str) else entry
            chosen = settings.get("tensors")
            left_out = settings.get("but", [])
            for tensor, name, changes, blames, says in KINDS[kind](data):
                if (chosen is None or tensor in chosen) and tensor not in left_out:
                    found.append(
                        {
                            "name": name,
                            "check": settings["check"],
                            "set": changes,
                            "status": settings.get("status", "BAD_PARAM"),
                            "blames": blames,
                            "says": says,
                        }
                    )
    return found


def nulls(data: dict) -> Iterator[Break]:
    """The handle, and each descriptor, is NULL."""
    yield "handle", "the handle is NULL", {"handle": {"pointer": "NULL"}}, "handle", []
    for argument in data["with"]:
        name = argument.removesuffix("_desc")
        if argument == name:
            continue
        blamed = argument if name in data.get("objects", {}) else name
        says = [f"{argument} is NULL"] if blamed == name else ["is NULL"]
        yield name, f"{argument} is NULL", {name: {"desc": "NULL"}}, blamed, says


def ranks(data: dict) -> Iterator[Break]:
    """A tensor has one dim more, or one less."""
    for name, tensor in data["tensors"].items():
        dims = tensor["dims"]
        for changed in ([*dims, 1], dims[1:]):
            if changed:
                noun = "dim" if len(changed) == 1 else "dims"
                says = [f"has {len(changed)} {noun}, expected {len(dims)}"]
                yield name, f"{name} has {len(changed)} dims", {name: {"dims": changed}}, name, says


def layouts(data: dict) -> Iterator[Break]:
    """A tensor of images has the other layout."""
    for name, tensor in data["tensors"].items():
        other = OTHER_LAYOUT.get(tensor["layout"])
        if other is not None:
            says = [f"MLUOP_LAYOUT_{other}", f"MLUOP_LAYOUT_{tensor['layout']}"]
            yield name, f"{name} is {other}", {name: {"layout": other}}, name, says


def strides(data: dict) -> Iterator[Break]:
    """The elements of a tensor are apart; a single one cannot be."""
    for name, tensor in data["tensors"].items():
        if prod(tensor["dims"]) == 1:
            continue
        apart = list(accumulate([2, *tensor["dims"][:0:-1]], mul))[::-1]
        yield (
            name,
            f"{name} is strided",
            {name: {"strides": apart}},
            name,
            ["is not contiguous: stride of dim "],
        )


def types(data: dict) -> Iterator[Break]:
    """A tensor has another type than the first of its type; those of indices have a wrong one."""
    seen = set()
    for name, tensor in data["tensors"].items():
        dtype = tensor["dtype"]
        if dtype in ("FLOAT", "HALF") and dtype not in seen:
            seen.add(dtype)
            continue
        for other in OTHER_TYPES[dtype]:
            says = [f"MLUOP_DTYPE_{other}", f"MLUOP_DTYPE_{dtype}"]
            yield name, f"{name} is {other.lower()}", {name: {"dtype": other}}, name, says


def data_pointers(data: dict) -> Iterator[Break]:
    """A tensor that has elements has no data."""
    for name in data["tensors"]:
        yield name, f"{name} is NULL", {name: {"data": "NULL"}}, name, ["is NULL"]


def alignment(data: dict) -> Iterator[Break]:
    """The data of a tensor begins between two elements."""
    for position, (name, tensor) in enumerate(data["tensors"].items()):
        size = SIZES[tensor["dtype"]]
        start = position % (size - 1) + 1
        says = [f"a multiple of {size} plus {start}"]
        yield name, f"{name} is not aligned", {name: {"start": start}}, name, says


def overlap(data: dict) -> Iterator[Break]:
    """An output is the memory of a tensor before it; of two outputs either may be blamed."""
    tensors = data["tensors"]
    for position, name in enumerate(tensors):
        if "result" not in tensors[name]:
            continue
        for other in list(tensors)[:position]:
            blamed = "" if "result" in tensors[other] else name
            changes = {name: {"shares": [other, 0]}}
            yield name, f"{name} is {other}", changes, blamed, ["overlaps", name, other]


KINDS = {
    "null": nulls,
    "rank": ranks,
    "layout": layouts,
    "strides": strides,
    "type": types,
    "data": data_pointers,
    "alignment": alignment,
    "overlap": overlap,
}
