# SPDX-License-Identifier: Apache-2.0
"""Ways to spoil one thing of a call, chosen by chance. Some do no harm, which is fair as well."""

from __future__ import annotations

import json
from itertools import accumulate
from operator import mul
from random import Random
from typing import Any

from base_calls import Base, Descriptor, Place, State

LAYOUTS = ("NCHW", "NHWC", "ARRAY", "NDHWC", "NTC")
DTYPES = ("HALF", "FLOAT", "INT32", "INT64", "DOUBLE", "UINT8", "BFLOAT16", "UINT32", "BOOL")
EXTENTS = (0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2**16, 2**29, 2**30, 2**31 - 1, 2**31, 2**40)
INTEGERS = (-(2**31), -3, -1, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 45, 46, 47, 128, 129, 137, 138, 139)
INTEGERS += (4096, 2**31 - 1)
REALS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 0.25, 0.5, 1.0, 2.0, 1e30)


def spoil(state: State, base: Base, random: Random) -> None:
    """Change one thing."""
    kind = int(random.random() * 8)
    if kind <= 1:
        _as_in_the_contract(state, base.breaks[int(random.random() * len(base.breaks))])
    elif kind <= 4:
        name = random.choice(list(state.descriptors))
        state.descriptors[name] = _other_descriptor(state.descriptors[name], random)
    elif kind == 5:
        _other_place(state, random)
    elif kind == 6:
        _other_number(state, random)
    else:
        _other_pointer(state, base, random)


def _as_in_the_contract(state: State, changes: dict) -> None:
    """One of the breaks of contract.toml."""
    for name, settings in changes.items():
        for key, value in settings.items():
            if name in state.descriptors:
                _change_tensor(state, name, key, value)
            elif name in state.objects:
                _change_object(state, name, key, value)
            elif name == "scalars":
                state.numbers[key] = value
            elif name == "handle":
                state.null.add("handle" if key == "pointer" else "&workspace_size")
            else:
                state.workspace = {**state.workspace, key: value}


def _change_tensor(state: State, name: str, key: str, value: Any) -> None:
    descriptor = state.descriptors[name]
    if key == "desc":
        state.descriptors[name] = descriptor._replace(given=False)
    elif key == "dims":
        state.descriptors[name] = descriptor._replace(dims=tuple(value), strides=None)
    elif key == "strides" and len(value) == len(descriptor.dims):
        state.descriptors[name] = descriptor._replace(strides=tuple(value))
    elif key in ("layout", "dtype", "onchip"):
        state.descriptors[name] = descriptor._replace(**{key: value})
    elif key == "start":
        state.places[name] = state.places[name]._replace(start=value)
    elif key == "shares":
        state.places[name] = Place(value[0], value[1], state.places[value[0]].content)
    elif key == "data":
        state.places[name] = Place("") if value == "NULL" else Place(name, 0, json.dumps(value))


def _change_object(state: State, name: str, key: str, value: Any) -> None:
    settings = state.objects[name]
    if key == "desc":
        if value == "unset":
            state.objects[name] = None
        else:
            state.null.add(f"{name}_desc")
    elif settings is not None:
        state.objects[name] = {**settings, key: value}


def _other_descriptor(descriptor: Descriptor, random: Random) -> Descriptor:
    kind = int(random.random() * 9)
    dims = descriptor.dims
    if kind == 0:
        return descriptor._replace(given=not descriptor.given)
    if kind == 1:
        ways = [(*dims, 1), (1, *dims), dims[1:], dims[:-1]]
        return descriptor._replace(dims=random.choice([d for d in ways if d]), strides=None)
    if kind == 2:
        return descriptor._replace(layout=random.choice(LAYOUTS))
    if kind == 3:
        return descriptor._replace(dtype=random.choice(DTYPES))
    if kind == 4:
        return descriptor._replace(strides=_strides(dims, random))
    if kind == 5:
        return descriptor._replace(onchip=random.choice(("INVALID", *DTYPES[:4])))
    i = int(random.random() * len(dims))
    extent = random.choice((*EXTENTS, dims[i] - 1, dims[i] + 1, 2 * dims[i]))
    return descriptor._replace(dims=(*dims[:i], max(extent, 0), *dims[i + 1 :]), strides=None)


def _strides(dims: tuple[int, ...], random: Random) -> tuple[int, ...]:
    """Elements that are apart, rows that have gaps, or dims in another order."""
    packed = list(accumulate([1, *dims[:0:-1]], mul))[::-1]
    kind = int(random.random() * 3)
    if kind == 0:
        return tuple(2 * stride for stride in packed)
    if kind == 1:
        return (*(stride + 1 for stride in packed[:-1]), packed[-1])
    return tuple(packed[::-1])


def _other_place(state: State, random: Random) -> None:
    name = random.choice(list(state.places))
    kind = int(random.random() * 3)
    if kind == 0:
        state.places[name] = Place("" if state.places[name].owner else name)
    elif kind == 1:
        place = state.places[name]
        state.places[name] = place._replace(start=place.start + random.choice((1, 2, 3, 4, 8, 64)))
    else:
        owner = random.choice(list(state.places))
        start = random.choice((0, 0, 1, 4, 8, 16, 64, 1024))
        state.places[name] = Place(owner, start, state.places[owner].content)


def _other_number(state: State, random: Random) -> None:
    """An argument that is a number, or one in the descriptor of an operator."""
    choices: list[tuple[str, str]] = [("", name) for name in state.numbers]
    for made, settings in state.objects.items():
        choices += [(made, name) for name in settings or ()]
    if not choices:
        return
    made, name = random.choice(choices)
    holder: Any = state.objects[made] if made else state.numbers
    value = another(holder[name], random)
    if made:
        state.objects[made] = {**holder, name: value}
    else:
        holder[name] = value


def another(value: Any, random: Random) -> Any:
    """Another number of that type."""
    if isinstance(value, list):
        i = int(random.random() * len(value))
        return [*value[:i], another(value[i], random), *value[i + 1 :]]
    if isinstance(value, float):
        return random.choice(REALS)
    if isinstance(value, str):
        return value
    least, most = INTEGERS[0], INTEGERS[-1]
    return min(max(random.choice((*INTEGERS, value - 1, value + 1, 2 * value)), least), most)


def _other_pointer(state: State, base: Base, random: Random) -> None:
    """The handle, an operator's descriptor, the workspace."""
    kind = int(random.random() * 4)
    if kind == 0:
        state.null.add("handle")
    elif kind == 1 and state.objects:
        name = random.choice(list(state.objects))
        if random.random() < 0.5:
            state.null.add(f"{name}_desc")
        else:
            state.objects[name] = None
    elif kind == 2 and "&workspace_size" in base.table.arguments:
        state.null.add("&workspace_size")
    elif "workspace" in base.table.arguments:
        ways = ({"short": True}, {"size": 64}, {"size": 64, "pointer": "NULL"}, {"pointer": "NULL"})
        way = random.choice((*ways, {"size": 64, "shares": random.choice(list(state.places))}))
        state.workspace = {**state.workspace, **way}
