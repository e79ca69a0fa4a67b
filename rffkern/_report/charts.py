"""Charts of the sections of a report, from their numbers."""

from collections.abc import Sequence
from typing import Any

from .._column_map.cells import DATE, NUMERIC
from .labelled_rows import number_text
from .svg import Plot, drawing, escape, padded, tick_text, ticks

Facts = dict[str, Any]

_SHARES = 0, 0.25, 0.5, 0.75, 1  # at the ticks of axes


def reliability_chart(facts: Facts) -> str:
    """Observed shares over predicted probabilities, with two standard errors, above a histogram of probabilities."""
    plot = Plot((0, 1), (0, 1), height=300, bottom=86)
    plot.y_axis(_SHARES)
    plot.line([(0, 0), (1, 1)], "zero")
    bins = facts["bins"]
    plot.error_bars([(each["probability"], each["share"], each["standard_error"]) for each in bins])
    plot.line([(each["probability"], each["share"]) for each in bins], "line")
    plot.dots([(each["probability"], each["share"]) for each in bins], "large")
    plot.x_axis(at=_SHARES)
    counts = facts["histogram"]
    below, floor, most = plot.height - 22, plot.bottom + 20, max(counts) or 1
    width = (plot.right - plot.left) / len(counts)
    heights = [(below - floor) * count / most for count in counts]
    bars = "".join(f"M{plot.left + k * width:.1f} {below}v{-each:.1f}h{width - 1:.1f}v{each:.1f}z"
                   for k, each in enumerate(heights) if each)
    plot.add(f'<path class="bars" d="{bars}"/>')
    plot.text(plot.left - 5, below - 8, "rows", "end")
    plot.text((plot.left + plot.right) / 2, plot.height - 5, f"predicted {facts['of']}", "middle", most=52)
    return plot.svg("observed share over predicted probability")


def scatter_chart(facts: Facts, target: str) -> str:
    """Targets over predictions."""
    points = facts["points"]
    span = padded([value for point in points for value in point])
    plot = Plot(span, span, height=300, left=56)
    plot.y_axis()
    plot.line([(span[0], span[0]), (span[1], span[1])], "zero")
    plot.dots([(x, y) for x, y in points], "faint")
    plot.x_axis(facts["predicted"])
    plot.text(plot.left + 4, plot.top + 8, target)
    return plot.svg("target over prediction")


def residual_chart(facts: Facts) -> str:
    """Mean residual, and its quantiles from 10 % to 90 %, over predictions."""
    bins = facts["bins"]
    x = padded([each["prediction"] for each in bins])
    plot = Plot(x, padded([0, *(value for each in bins for value in each["quantiles"])]), height=300, left=56)
    plot.y_axis()
    plot.line([(x[0], 0), (x[1], 0)], "zero")
    plot.whiskers([(each["prediction"], *each["quantiles"]) for each in bins], "range")
    plot.error_bars([(each["prediction"], each["mean"], each["standard_error"]) for each in bins])
    plot.dots([(each["prediction"], each["mean"]) for each in bins], "large")
    plot.x_axis(facts["predicted"])
    plot.text(plot.left + 4, plot.top + 8, "residual")
    return plot.svg("residual over prediction")


def coverage_chart(points: Sequence[tuple[float, float, float | None]], label: str) -> str:
    """Observed shares over what was asked for, with two standard errors."""
    plot = Plot((0, 1), (0, 1), height=260)
    plot.y_axis(_SHARES)
    plot.line([(0, 0), (1, 1)], "zero")
    plot.error_bars(points)
    plot.dots([(x, y) for x, y, _ in points], "large")
    plot.x_axis(label, _SHARES)
    return plot.svg("observed share over the share that was asked for")


def learning_chart(facts: Facts) -> str:
    """Loss after each round, of at most 200 of them."""
    n_rounds = max(map(len, facts.values()))
    plot = Plot((0, n_rounds - 1), padded([value for curve in facts.values() for value in curve]), left=52)
    plot.y_axis()
    for kind, name in (("line", "eval"), ("line second", "train")):
        curve = facts.get(name, [])
        step = max(1, len(curve) // 200)
        points = [(k, value) for k, value in enumerate(curve) if k % step == 0 or k == len(curve) - 1]
        if points:
            plot.line(points, kind)
    plot.x_axis("round")
    names = {"eval": ("validation", "c0"), "train": ("training", "c1")}
    for k, name in enumerate(each for each in names if each in facts):
        plot.text(plot.right - 4, plot.top + 10 + 14 * k, f"{names[name][0]} loss", "end", f"key {names[name][1]}")
    return plot.svg("loss after each round")


def summary_chart(columns: Sequence[Facts]) -> str:
    """Shapley values of rows, a line for each column: right is up, and colours go from low values to high ones."""
    span = padded([0.0, *(value for each in columns for value in each["values"])])
    left = min(110, 16 + 6 * max(len(each["column"]) for each in columns))
    plot = Plot(span, (0, len(columns)), left=left, height=26 * len(columns) + 40, bottom=34)
    plot.add(f'<path class="zero" d="M{plot.x(0):.1f} {plot.top}V{plot.bottom}"/>')
    for k, each in enumerate(columns):
        middle = plot.y(len(columns) - k - 0.5)
        plot.text(left - 8, middle + 3.5, each["column"], "end", most=16)
        taken: dict[int, int] = {}
        paths: dict[str, list[str]] = {}
        for value, rank in zip(each["values"], each["ranks"], strict=True):
            place = round(plot.x(value) / 3)
            count = taken[place] = taken.get(place, -1) + 1  # points at the same place are put side by side
            offset = min(10.0, 2.2 * ((count + 1) // 2)) * (1 if count % 2 else -1)
            shade = "none" if rank is None else f"s{min(4, int(5 * rank))}"
            paths.setdefault(shade, []).append(f"M{plot.x(value):.1f} {middle + offset:.1f}h0")
        for shade, points in sorted(paths.items()):
            plot.add(f'<path class="dot {shade}" d="{"".join(points)}"/>')
    plot.x_axis("contribution to the score")
    return plot.svg("Shapley values of rows by column")


# --- dependence

def response_range(columns: Sequence[Facts]) -> tuple[float, float]:
    """The range that the charts of all columns share."""
    return padded((value for each in columns for means in each["means"] for value in means), 0.15)


def dependence_chart(entry: Facts, chosen: Sequence[int], span: tuple[float, float]) -> str:
    """The mean of some responses over the values of a column."""
    if entry["positions"] is None:
        return _dependence_on_levels(entry, chosen, span)
    places = [k for k, x in enumerate(entry["positions"]) if x is not None]
    missing = [k for k, x in enumerate(entry["positions"]) if x is None]
    values = [entry["positions"][k] for k in places]
    x = (min(values), max(values)) if values and min(values) < max(values) else padded(values)
    plot = Plot(x, span, left=52, right=64 if missing else 12, height=190, bottom=22)
    plot.y_axis()
    if len(chosen) == 1:
        plot.cut_lines([[(entry["positions"][k], curve[k]) for k in places] for curve in entry["curves"]], "curve")
    for c, response in enumerate(chosen):
        points = [(entry["positions"][k], entry["means"][k][response]) for k in places]
        (plot.line if len(points) > 1 else plot.dots)(points, f"line c{c}" if len(points) > 1 else f"large c{c}")
        for k in missing:
            y = plot.y(entry["means"][k][response])
            plot.add(f'<path class="dot large c{c}" d="M{plot.right + 38} {y:.1f}h0"/>')
    if missing:
        plot.text(plot.right + 38, plot.bottom + 13, "missing", "middle")
    plot.rug([value for value in entry["ticks"] if x[0] <= value <= x[1]])
    if entry["kind"] == DATE:
        plot.date_axis()
    else:
        plot.x_axis()
    return plot.svg(f"dependence on {entry['column']}")


def _dependence_on_levels(entry: Facts, chosen: Sequence[int], span: tuple[float, float]) -> str:
    """The mean response for each level, the share of the rows beside it."""
    n_levels = len(entry["values"])
    left = min(110, 16 + 6 * max(map(len, entry["values"])))
    plot = Plot(span, (0, n_levels), left=left, right=40, height=22 * n_levels + 36, bottom=22)
    for value in ticks(*span):
        plot.add(f'<path class="grid" d="M{plot.x(value):.1f} {plot.top}V{plot.bottom}"/>')
    for k, (text, means, share) in enumerate(zip(entry["values"], entry["means"], entry["shares"], strict=True)):
        y = n_levels - k - 0.5
        plot.text(plot.left - 6, plot.y(y) + 3.5, text, "end", most=15)
        plot.text(plot.right + 6, plot.y(y) + 3.5, f"{share:.0%}")
        for c, response in enumerate(chosen):
            plot.dots([(means[response], y)], f"large c{c}")
    plot.x_axis()
    return plot.svg(f"dependence on {entry['column']}")


def key_of(names: Sequence[str]) -> str:
    """Names of responses in their colours."""
    return '<p class="keys">' + "".join(f'<span class="key c{c}">{escape(name, 40)}</span>'
                                        for c, name in enumerate(names)) + "</p>"


def pair_chart(entry: Facts, span: tuple[float, float]) -> str:
    """The mean response over the values of two columns, as shades."""
    (first, second), n_first, n_second = entry["columns"], len(entry["values"][0]), len(entry["values"][1])
    plot = Plot((0, n_first), (0, n_second), height=280, left=84, bottom=46)
    low, high = span
    for i, line in enumerate(entry["means"]):
        for j, value in enumerate(line):
            share = min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5
            left, right, top, bottom = plot.x(i), plot.x(i + 1), plot.y(j + 1), plot.y(j)
            plot.add(f'<rect class="shade" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
                     f'height="{bottom - top:.1f}" fill-opacity="{0.04 + 0.96 * share:.2f}">'
                     f"<title>{number_text(value, 4)}</title></rect>")
    texts = [_short_texts(entry, k) for k in (0, 1)]
    for k in _some(n_first, 3 if entry["kinds"][0] == DATE else 5):
        anchor, place = ("end", k + 1.0) if k == n_first - 1 > 3 else ("middle", k + 0.5)
        plot.text(plot.x(place), plot.bottom + 13, texts[0][k], anchor, most=10)
    for k in _some(n_second, 6):
        plot.text(plot.left - 5, plot.y(k + 0.5) + 3.5, texts[1][k], "end", most=11)
    plot.text((plot.left + plot.right) / 2, plot.height - 14, first, "middle", most=46)
    x, y = 12, (plot.top + plot.bottom) / 2
    plot.add(f'<text transform="translate({x} {y:.1f}) rotate(-90)" text-anchor="middle">{escape(second, 36)}</text>')
    return plot.svg(f"dependence on {first} and {second}")


def _short_texts(entry: Facts, axis: int) -> list[str]:
    """Values of an axis: numbers with four digits, dates without a time, levels."""
    if entry["kinds"][axis] == NUMERIC:
        return [tick_text(value) for value in entry["positions"][axis]]
    return [text[:10] if entry["kinds"][axis] == DATE else text for text in entry["values"][axis]]


def _some(count: int, most: int) -> list[int]:
    """Indices of at most so many of some things, evenly spaced."""
    return list(range(0, count, max(1, -(-(count - 1) // (most - 1)))))


def shade_key(span: tuple[float, float]) -> str:
    """What the shades mean."""
    steps = "".join(f'<rect class="shade" x="{20 * k}" width="20" height="12" '
                    f'fill-opacity="{0.04 + 0.96 * k / 9:.2f}"/>' for k in range(10))
    low, high = (number_text(value, 3) for value in span)
    return f'<span class="shades">{low} {drawing(steps, 200, 12, "shades from low to high", "strip")} {high}</span>'
