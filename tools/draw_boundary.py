"""Draw the data of `rffkern demo`, the class boundary that Fourier boosting learns, and that of GBRFF2, as SVG.

    python tools/draw_boundary.py docs/boundary.svg

Needs nothing but rffkern.
"""

import argparse
from itertools import pairwise

import numpy as np

from rffkern._cli.demo import make_models, make_rings

ROUNDS = (10, 50)  # of Fourier boosting, before all
HALF = 3.0  # the square is [-3, 3] x [-3, 3]
SIDE, GAP, TOP, BOTTOM = 176, 16, 36, 16  # pixels
GRID = 81  # points a side at which the score is evaluated
N_POINTS = 350  # drawn in the first panel
INNER, OUTER, PAPER, INK, QUIET = "#c8553d", "#2f6690", "#fbfaf7", "#26323d", "#5d6b78"


def staged(model, rounds, X, y):
    """(rounds, accuracy, scores on the grid, rows from the lower edge up) with the columns of noise at 0."""
    ticks = np.linspace(-HALF, HALF, GRID)
    first, second = np.meshgrid(ticks, ticks)
    rows = np.column_stack([first.ravel(), second.ravel(), np.zeros((first.size, 3))])
    stages = zip(model.staged_decision_function(rows), model.staged_decision_function(X), strict=True)
    return [(n_rounds, np.mean(model.classes_[(scores > 0).astype(int)] == y), values.reshape(GRID, GRID))
            for n_rounds, (values, scores) in enumerate(stages, 1) if n_rounds in rounds]


def contour_steps(values):
    """{edge on which the contour of 0 enters a cell: edge on which it leaves}; an edge is two points of the grid."""
    steps = {}
    for row, column in np.ndindex(values.shape[0] - 1, values.shape[1] - 1):
        corners = [(row, column), (row, column + 1), (row + 1, column + 1), (row + 1, column)]
        edges = [(one, other) for one, other in pairwise([*corners, corners[0]])
                 if (values[one] > 0) != (values[other] > 0)]
        if edges and values[edges[0][0]] <= 0:
            edges = [*edges[1:], edges[0]]  # begin where a walk round the cell leaves the positive region
        for out, back in zip(edges[::2], edges[1::2], strict=True):
            steps[frozenset(out)] = frozenset(back)
    return steps


def positive_region(values):
    """The path of the region of positive scores, whose contour follows the lines between points of the grid."""
    values = np.pad(values, 1, constant_values=-np.abs(values).max())  # closes every contour outside the panel
    steps, scale, parts = contour_steps(values), SIDE / (values.shape[0] - 3), []
    while steps:
        corners, edge = [], next(iter(steps))
        while edge in steps:
            one, other = edge
            share = values[one] / (values[one] - values[other])
            row, column = (start + share * (stop - start) - 1 for start, stop in zip(one, other, strict=True))
            corners.append(f"{scale * column:.1f} {SIDE - scale * row:.1f}")
            edge = steps.pop(edge)
        parts.append("M" + "L".join(corners) + "z")
    return "".join(parts)


def points_panel(X, y):
    """Some of the rows, as dots."""
    dots = {}
    for (a, b), label in zip(X[:N_POINTS, :2], y[:N_POINTS], strict=True):
        x, y_down = (a + HALF) / (2 * HALF) * SIDE, (HALF - b) / (2 * HALF) * SIDE
        dots.setdefault(label, []).append(f"M{x:.1f} {y_down:.1f}h0")
    return "".join(f'<path d="{"".join(dots[label])}" stroke="{colour}" stroke-width="3.6" stroke-linecap="round"/>'
                   for label, colour in (("inner", INNER), ("outer", OUTER)))


def region_panel(values):
    """The two classes, in the colours of their rows."""
    path = positive_region(values)
    return (f'<rect width="{SIDE}" height="{SIDE}" fill="{INNER}"/>'
            f'<path d="{path}" fill="{OUTER}" fill-rule="evenodd"/>')


def draw(panels):
    """An SVG of (title, subtitle, content) side by side, on a background of its own."""
    width = GAP + len(panels) * (SIDE + GAP)
    height = TOP + SIDE + BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" font-family="Helvetica, Arial, sans-serif" role="img">'
             "<title>Rings, and the class boundaries that Fourier boosting and GBRFF2 learn</title>"
             f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>'
             f'<clipPath id="panel"><rect width="{SIDE}" height="{SIDE}" rx="4"/></clipPath>']
    for place, (title, subtitle, content) in enumerate(panels):
        left = GAP + place * (SIDE + GAP)
        parts.append(f'<text x="{left}" y="{TOP - 12}" font-size="12.5" fill="{INK}">{title}</text>'
                     f'<text x="{left + SIDE}" y="{TOP - 12}" font-size="11.5" fill="{QUIET}" '
                     f'text-anchor="end">{subtitle}</text><g transform="translate({left} {TOP})">'
                     f'<g clip-path="url(#panel)">{content}</g><rect width="{SIDE}" height="{SIDE}" rx="4" '
                     f'fill="none" stroke="{QUIET}" stroke-width=".6"/></g>')
    return "".join(parts) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="FILE.svg")
    path = parser.parse_args().path
    rng = np.random.default_rng(0)
    X, y = make_rings(20_000, rng)
    X_test, y_test = make_rings(20_000, rng)
    boosted, small = (model.fit(X, y) for model in make_models())
    panels = [("data", "5 % wrong labels", points_panel(X, y))]
    for model, rounds in ((boosted, (*ROUNDS, boosted.n_estimators_)), (small, (small.n_estimators_,))):
        panels += [(f"{n_rounds} rounds" if model is boosted else "GBRFF2",
                    f"{100 * accuracy:.1f} % right", region_panel(values))
                   for n_rounds, accuracy, values in staged(model, rounds, X_test, y_test)]
    with open(path, "w", encoding="utf-8") as file:
        file.write(draw(panels))


if __name__ == "__main__":
    main()
