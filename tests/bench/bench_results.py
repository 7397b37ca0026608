# SPDX-License-Identifier: Apache-2.0
"""Results as `pymluops bench --json` writes them, made up: figures by hand can be checked."""


def figures(median, spread=0.01, **more):
    return {"median": median, "low": median * (1 - spread), "high": median * (1 + spread), **more}


def results(median=1e-3, spread=0.01):
    """The results of two cases, as they are in a file."""
    way = {"isa": "wide", "threads": 2, "dtype": "float32", "roofline": 0.5, "samples": 7}
    one = {**way, "threads": 1}
    peers = [
        {"library": "torch", "how": "slow", **figures(8e-3)},
        {"library": "torch", "how": "fast", **figures(5e-3)},
        {"library": "numba", "how": "loops", **figures(2e-3)},
    ]
    first = {"name": "thing_forward/64", "group": "networks", "read": 8, "written": 8, "flops": 32}
    first |= {"ours": [figures(2e-3, **one), figures(median, spread, **way)], "peers": peers}
    second = {**first, "name": "thing_forward/8", "group": "sizes"}
    memory = {"bytes": 1 << 20, "read": 4e9, "copy": 2e9, "fill": 1e9}
    return {
        "format": 1,
        "quick": False,
        "machine": {"processor": "P", "threads": "2", "instruction sets": "wide narrow"},
        "limits": {
            "fma": {"wide": {"1": 1e9, "2": 2e9}, "narrow": {"1": 5e8, "2": 1e9}},
            "bandwidth": [
                {**memory, "threads": 1},
                {**memory, "threads": 2},
                {**memory, "threads": 2, "bytes": 4 << 20, "read": 2e9},
            ],
        },
        "cases": [{**first, "left out": []}, second],
    }
