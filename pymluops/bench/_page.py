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
Each operator was also written with PyTorch operations and with loops that numba compiles, in
several ways. A way is timed only if its results are equal to ours, and in turn with ours. The chart
shows the fastest way of each library. Point at a bar to see the times.
"""

_ROOFLINE = """
The roofline is the least time that the machine needs. It is the longer of two times: to read and
write every byte of the tensors once, at the speed of a plain loop; and to do the multiply-adds.
Operators that use pixels several times, or in no order, stay below the roofline.
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
