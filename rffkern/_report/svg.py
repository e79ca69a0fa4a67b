"""Pieces of charts in SVG: a plot with linear axes, and marks in it.

Colours are classes of the style sheet of the page, so that they follow light and dark.  A chart has the width of a
telephone, and wide screens show several side by side.
"""

import html
import math
from collections.abc import Iterable, Sequence

from .._column_map.cells import date_text
from .labelled_rows import number_text

Range = tuple[float, float]
Point = tuple[float, float]

WIDTH, HEIGHT = 340, 210


def escape(text: object, most: int | None = None) -> str:
    """A text from a table as HTML: one that cannot be seen is spelt out, and a long one cut."""
    shown = "".join(character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
                    for character in str(text))
    if most is not None and len(shown) > most:
        shown = shown[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return html.escape(shown)


def ticks(low: float, high: float, n_ticks: int = 4) -> list[float]:
    """Round numbers from low to high, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / n_ticks
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next((factor * unit for factor in (1, 2, 2.5, 5) if factor * unit >= raw), 10 * unit)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    """A number on an axis, which has room for seven digits."""
    short = float(f"{value:.4g}")
    return "0" if abs(value) < 1e-12 else number_text(short) if abs(short) < 1e7 else f"{short:.6g}"


def padded(values: Iterable[float | None], share: float = 0.05) -> Range:
    """The range of some numbers with a margin; of equal ones a range around them."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    if low == high:
        margin = abs(low) * share or 0.5
        return low - margin, high + margin
    return low - share * (high - low), high + share * (high - low)


class Plot:
    """A chart with two linear axes; marks are added in the order in which they are drawn."""

    def __init__(self, x: Range, y: Range, *, width: int = WIDTH, height: int = HEIGHT, left: int = 44, right: int = 10,
                 top: int = 10, bottom: int = 34) -> None:
        self.x_range, self.y_range, self.width, self.height = x, y, width, height
        self.left, self.right, self.top, self.bottom = left, width - right, top, height - bottom
        self._marks: list[str] = []

    def x(self, value: float) -> float:
        """Place of a value; values beyond the range are at its end."""
        low, high = self.x_range
        share = (value - low) / (high - low) if high > low else 0.5
        return self.left + min(1.0, max(0.0, share)) * (self.right - self.left)

    def y(self, value: float, inside: bool = True) -> float:
        """The same from the bottom up; with `inside` False beyond the ends too."""
        low, high = self.y_range
        share = (value - low) / (high - low) if high > low else 0.5
        return self.bottom - (min(1.0, max(0.0, share)) if inside else share) * (self.bottom - self.top)

    def add(self, mark: str) -> None:
        """Add what is drawn on top of the marks before it."""
        self._marks.append(mark)

    def x_axis(self, label: str = "", at: Sequence[float] | None = None) -> None:
        """Ticks below the plot."""
        for value in ticks(*self.x_range) if at is None else at:
            self.text(self.x(value), self.bottom + 13, tick_text(value), "middle")
        if label:
            self.text((self.left + self.right) / 2, self.height - 5, label, "middle", most=52)

    def date_axis(self) -> None:
        """Days at both ends and in the middle."""
        low, high = self.x_range
        for value, anchor in ((low, "start"), ((low + high) / 2, "middle"), (high, "end")):
            self.text(self.x(value), self.bottom + 13, date_text(value)[:10], anchor)

    def y_axis(self, at: Sequence[float] | None = None) -> None:
        """Ticks and lines across the plot."""
        for value in ticks(*self.y_range) if at is None else at:
            y = self.y(value)
            self.add(f'<path class="grid" d="M{self.left} {y:.1f}H{self.right}"/>')
            self.text(self.left - 5, y + 3.5, tick_text(value), "end")

    def text(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "", most: int | None = 40) -> None:
        """A text at a place of the drawing."""
        name = f' class="{kind}"' if kind else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}>{escape(text, most)}</text>')

    def line(self, points: Iterable[Point], kind: str) -> None:
        """Points joined by lines."""
        self.add(f'<path class="{kind}" d="{self._path(points)}"/>')

    def cut_lines(self, curves: Iterable[Iterable[Point]], kind: str) -> None:
        """Several lines of one kind as one mark, which is cut where they leave the plot."""
        width, height = self.right - self.left, self.bottom - self.top
        path = "".join(self._path(each, False) for each in curves)
        self.add(f'<svg x="{self.left}" y="{self.top}" width="{width}" height="{height}" '
                 f'viewBox="{self.left} {self.top} {width} {height}"><path class="{kind}" d="{path}"/></svg>')

    def _path(self, points: Iterable[Point], inside: bool = True) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y, inside):.1f}" for x, y in points)

    def dots(self, points: Iterable[Point], kind: str) -> None:
        """Round points, which are lines of no length with round ends: a few bytes each."""
        self.add(f'<path class="dot {kind}" d="{"".join(f"M{self.x(x):.1f} {self.y(y):.1f}h0" for x, y in points)}"/>')

    def whiskers(self, bars: Iterable[tuple[float, float, float]], kind: str) -> None:
        """Vertical lines (x, low, high)."""
        path = "".join(f"M{self.x(x):.1f} {self.y(low):.1f}V{self.y(high):.1f}" for x, low, high in bars)
        self.add(f'<path class="{kind}" d="{path}"/>')

    def error_bars(self, points: Iterable[tuple[float, float, float | None]]) -> None:
        """Twice the standard error above and below points (x, y, error), where it is known."""
        self.whiskers([(x, y - 2 * error, y + 2 * error) for x, y, error in points if error is not None], "error")

    def rug(self, values: Iterable[float]) -> None:
        """A short line below the plot for each value of the data."""
        path = "".join(f"M{x:.1f} {self.bottom}v-5" for x in dict.fromkeys(round(self.x(value), 1) for value in values))
        if path:
            self.add(f'<path class="rug" d="{path}"/>')

    def svg(self, title: str, kind: str = "chart") -> str:
        """The whole drawing; the title is read aloud."""
        return drawing("".join(self._marks), self.width, self.height, title, kind)


def drawing(marks: str, width: int, height: int, title: str, kind: str = "chart") -> str:
    """Marks as a picture with a title for those who do not see it."""
    return (f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title, 200)}">'
            f"{marks}</svg>")


def strip(counts: Sequence[float]) -> str:
    """A histogram without axes, for a cell of a table."""
    most = max(counts, default=0) or 1
    width, height = 120, 24
    each = min(14.0, width / max(1, len(counts)))
    bars = "".join(f"M{k * each:.1f} {height}v{-height * count / most:.1f}h{max(each - 1, 0.5):.1f}v"
                   f"{height * count / most:.1f}z" for k, count in enumerate(counts) if count)
    return drawing(f'<path class="bars" d="{bars}"/>', width, height, "distribution", "strip")


def error_bar(value: float, error: float | None, x: Range, reference: float, kind: str = "") -> str:
    """A value with twice its standard error to both sides, for a cell of a table."""
    plot = Plot(x, (0, 1), width=200, height=18, left=4, right=4, top=0, bottom=0)
    plot.add(f'<path class="zero" d="M{plot.x(reference):.1f} 0V18"/>')
    if error is not None:
        plot.line([(value - 2 * error, 0.5), (value + 2 * error, 0.5)], f"error {kind}")
    plot.dots([(value, 0.5)], f"large {kind}")
    return plot.svg(number_text(value, 4), "strip")


def share_bar(share: float) -> str:
    """A bar from 0 to 1, for a cell of a table."""
    width = 120 * min(1.0, max(0.0, share))
    return drawing(f'<rect class="bars" y="5" width="{width:.1f}" height="8"/>', 120, 18, f"{share:.1%}", "strip")


