# SPDX-License-Identifier: Apache-2.0
"""The page of `pymluops bench --html`: one file that needs nothing else."""

from html import escape

from pymluops.bench import _charts
from pymluops.bench._report import Results, table

_STYLE = """
body { margin: 2rem auto; max-width: 900px; padding: 0 1rem; color: #1f2933; background: #f4f6f8;
       font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
svg { width: 100%; height: auto; margin: 0.6rem 0; }
pre { background: #fff; padding: 1rem; overflow-x: auto; font-size: 12px; border-radius: 6px; }
"""

_BESIDE = """
Each operator was also written in operations of PyTorch and in loops that numba compiles, in the
ways that one would try. Only results equal to ours are timed, in turn with ours; the fastest way of
each library counts. Point at a bar to see the times.
"""

_ROOFLINE = """
The roofline is the time that the machine needs at least: to read and write every byte of the
tensors once, as fast as a plain loop does with as many bytes, or to make the multiply-adds,
whichever takes longer. Operators that look at pixels several times, or in no order, stay
below it.
"""

_PARTS = (
    (
        "Beside PyTorch and numba",
        _BESIDE,
        (_charts.speed_of_all,),
    ),
    (
        "What the machine allows",
        _ROOFLINE,
        (_charts.roofline, _charts.shares),
    ),
    ("Sizes", "", (_charts.sizes,)),
    ("Threads", "Results have the same bits with any number of threads.", (_charts.threads,)),
)


def page(results: Results) -> str:
    """Return the HTML file."""
    machine = "; ".join(f"{name}: {value}" for name, value in results["machine"].items())
    parts = [f"<h1>pymluops bench</h1>\n<p>{escape(machine)}</p>"]
    if any(row["group"] == "networks" for row in results["cases"]):
        for title, text, charts in _PARTS:
            drawn = "\n".join(chart(results) for chart in charts)
            parts.append(f"<h2>{escape(title)}</h2>\n<p>{escape(text)}</p>\n{drawn}")
    parts.append(f"<h2>All figures</h2>\n<pre>{escape(table(results))}</pre>")
    body = "\n".join(parts)
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>pymluops bench</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
