# SPDX-License-Identifier: Apache-2.0
"""A small writer of SVG: the same figures give the same text."""

from html import escape

INK, FAINT, LINE = "#1f2933", "#5f6c7b", "#d5dbe3"
OURS, TORCH, NUMBA = "#0b7285", "#d9480f", "#5f3dc4"
COLORS = (OURS, TORCH, NUMBA, "#2b8a3e", "#c2255c", "#866118", "#1971c2", "#495057")
_FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """A picture that grows by lines, boxes and texts."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def line(
        self, x0: float, y0: float, x1: float, y1: float, color: str = LINE, width: float = 1
    ) -> None:
        """Draw a straight line."""
        a, b, c, d = map(_number, (x0, y0, x1, y1))
        self._parts.append(
            f"<line x1='{a}' y1='{b}' x2='{c}' y2='{d}' stroke='{color}' stroke-width='{width}'/>"
        )

    def path(self, points: list[tuple[float, float]], color: str, width: float = 2) -> None:
        """Draw lines from point to point."""
        at = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
        self._parts.append(
            f"<polyline points='{at}' fill='none' stroke='{color}' stroke-width='{width}'/>"
        )

    def box(
        self, x: float, y: float, width: float, height: float, color: str, hint: str = ""
    ) -> None:
        """Fill a rectangle; the hint is shown when the mouse is over it."""
        a, b, c, d = map(_number, (x, y, max(width, 0), max(height, 0)))
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self._parts.append(
            f"<rect x='{a}' y='{b}' width='{c}' height='{d}' rx='2' fill='{color}'>{title}</rect>"
        )

    def dot(self, x: float, y: float, color: str, hint: str = "") -> None:
        """Draw a point."""
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self._parts.append(
            f"<circle cx='{_number(x)}' cy='{_number(y)}' r='3.5' fill='{color}'>{title}</circle>"
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        color: str = INK,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Write a line of text."""
        weight = " font-weight='600'" if bold else ""
        self._parts.append(
            f"<text x='{_number(x)}' y='{_number(y)}' font-size='{_number(size)}' fill='{color}' "
            f"text-anchor='{anchor}'{weight}>{escape(text)}</text>"
        )

    def svg(self) -> str:
        """Return the picture."""
        w, h = _number(self.width), _number(self.height)
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {w} {h}' width='{w}' "
            f"height='{h}' role='img' {_FONT}>\n<title>{escape(self._title)}</title>\n"
            f"<rect width='{w}' height='{h}' rx='6' fill='#ffffff'/>\n"
        )
        return head + "\n".join(self._parts) + "\n</svg>\n"
