# SPDX-License-Identifier: Apache-2.0
"""What has changed since other results were written."""

from typing import Any

from pymluops.bench._report import Results, Row, milliseconds

_AS_BEFORE = 0.02  # a difference that nobody has to hear of
_MACHINE = ("processor", "threads", "instruction sets")


def comparison(old: Results, new: Results) -> str:
    """Return the ratios of times, old to new: more than 1 is faster now.

    What differs by more than both spreads is said first.
    """
    before = {(row["name"], *_key(way)): way for row in old["cases"] for way in row["ours"]}
    lines: dict[str, list[str]] = {"slower": [], "faster": []}
    same = compared = 0
    for row in new["cases"]:
        for way in row["ours"]:
            was = before.get((row["name"], *_key(way)))
            if was is None:
                continue
            compared += 1
            word = verdict(was, way)
            if word == "as before":
                same += 1
            else:
                lines[word].append(_line(row, was, way))
    text = ["", "Compared with the older figures (old time / new time):", *_warnings(old, new)]
    for word in ("slower", "faster"):
        for line in lines[word]:
            text.append(f"  {word}  {line}")
    if not compared:
        return "\n".join([*text, "  no case is in both"])
    text.append(f"  {same} of {compared} times are as before: within their spread")
    return "\n".join(text)


def verdict(was: Row, now: Row) -> str:
    """Return whether a way is slower, faster or as before, by more than its spread."""
    if now["low"] > was["high"] * (1 + _AS_BEFORE):
        return "slower"
    if now["high"] * (1 + _AS_BEFORE) < was["low"]:
        return "faster"
    return "as before"


def _key(way: Row) -> tuple[Any, ...]:
    return way["isa"], way["threads"], way["dtype"]


def _line(row: Row, was: Row, now: Row) -> str:
    how = f"{now['dtype']}, {now['isa']}, {now['threads']} thread{'s' * (now['threads'] > 1)}"
    change = f"{was['median'] / now['median']:.2f}x"
    times = f"{milliseconds(was['median'])} -> {milliseconds(now['median'])} ms"
    return f"{change:<7} {row['name']} ({how}): {times}"


def _warnings(old: Results, new: Results) -> list[str]:
    changed = [
        f"  WARNING: {name} was {old['machine'].get(name)}, is {new['machine'].get(name)}"
        for name in _MACHINE
        if old["machine"].get(name) != new["machine"].get(name)
    ]
    if old["quick"] != new["quick"]:
        changed.append("  WARNING: one of them is --quick, the other is not")
    return changed
