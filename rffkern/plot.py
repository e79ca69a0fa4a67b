"""Plots of trained models with matplotlib: one call each, which takes the axes to draw in and returns them.

They need the optional extra `plot` (pip install "rffkern[plot]"); matplotlib is imported when a plot is drawn.  All
families of classifiers and regressors are plotted; X and y are rows that the model was not trained on, where the plot
is to say something of new rows.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ._column_map.cells import CATEGORY, DATE
from ._estimator.base import index_of
from ._estimator.evaluation import metric_name
from ._estimator.metrics import ASCENDING, error_of_share, is_of_second, reliability
from ._native.array_types import Double, NDArray
from ._protocol.arguments import check_scalar, truncated
from ._protocol.docstrings import filled
from ._report.contributions import contributions, main_output, ranks, strengths, summary_of
from ._report.effects import dependence as dependence_of
from ._report.effects import importance_metric, pair_dependence, permutation_importance
from ._report.labelled_rows import BINARY, LabelledRows, coverages
from ._rows.row_blocks import evenly_spaced
from .errors import InvalidInputError

__all__ = ["calibration", "decision_boundary", "dependence", "importance", "interval_coverage",
           "learning_curve", "summary", "waterfall"]


_MOST_RESPONSES = 6  # lines of one plot
_LONG = 7  # letters of labels that are written aslant, six of which share an axis
_LOW, _HIGH, _MUTED = "#1f5fa8", "#b4501b", "#8a939c"


def _axes(ax: Any) -> Any:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("rffkern.plot needs matplotlib: pip install 'rffkern[plot]'") from error
    return plt.subplots(layout="constrained")[1]


def _rows(model: Any, X: Any, y: Any = None) -> LabelledRows:
    """Rows of a fitted model that predicts."""
    if not hasattr(model, "predict"):
        raise InvalidInputError(f"model must be a classifier or a regressor, got a {type(model).__name__}")
    model._check_fitted()
    return LabelledRows(model._snapshot(), X, y)


def _text(name: str, most: int = 40) -> str:
    """A name as matplotlib shows it: no formula, and not too long."""
    return truncated(name, most).replace("$", r"\$")


def importance(model: Any, X: Any = None, y: Any = None, *, n_columns: int = 15, ax: Any = None) -> Any:
    """Plot which columns matter.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : array or table of shape (n_samples, n_features), default None
        Without rows, `feature_importances_` is shown.
    y : array of shape (n_samples,), default None
        Labels or targets: permutation importance is shown with two standard errors.
    n_columns : int >= 1, default 15
        Columns at most, the strongest ones.
    {ax}

    {raises}
    InvalidInputError
        If X or y is not what `fit` saw, or one of both is missing; or without rows, if the family keeps no importances.
    """
    check_scalar("n_columns", n_columns, int, 1)
    if (X is None) != (y is None):
        raise InvalidInputError("importance takes X and y, or neither of them")
    if X is None:
        model._check_fitted()
        if not hasattr(model, "feature_importances_"):
            raise InvalidInputError(f"a {type(model).__name__} keeps no importances of training: pass X and y")
        values = np.asarray(model.feature_importances_)
        order = np.argsort(-values, kind="stable")[:n_columns][::-1]
        names = getattr(model, "feature_names_in_", np.arange(len(values)))
        ax = _axes(ax)
        ax.barh(range(len(order)), values[order], color=_LOW)
        ax.set_xlabel("importance in training")
    else:
        rows = _rows(model, X, y)
        found = permutation_importance(rows)
        order, names = np.array([*found][:n_columns][::-1], dtype=np.intp), np.array(rows.names)
        ax = _axes(ax)
        ax.errorbar([found[j]["importance"] for j in order], range(len(order)), fmt="o", color=_LOW,
                    xerr=[2 * (found[j]["standard_error"] or 0.0) for j in order])
        ax.axvline(0, color=_MUTED, linestyle=":", linewidth=1)
        metric = importance_metric(rows)
        name = {"r2": "$R^2$", "d2": "$D^2$"}.get(metric, metric_name(metric))
        ax.set_xlabel(f"{'decrease' if metric in ASCENDING else 'increase'} of {name} where values are permuted")
    ax.set_yticks(range(len(order)), [_text(str(names[j])) for j in order])
    return ax


def dependence(model: Any, X: Any, column: str | int | Sequence[str | int], *, ax: Any = None) -> Any:
    """Plot the mean response as a function of one column, or of two.

    The response is the probability of the second of two classes, or of each of several, or the predicted number: the
    partial dependence of the response over at most 500 rows of X.

    Parameters
    ----------
    {rows}
    column : str or int, or two of them
        Names or indices.  For one column, thin lines are single rows, where there is one response; ticks at the bottom
        are values of X.  For two, shades are the response, of several the most likely, or the quantile in the middle.
    {ax}

    {raises}
    InvalidInputError
        If X is not what `fit` saw, or has no such column.
    """
    rows = _rows(model, X)
    if isinstance(column, (list, tuple, np.ndarray)):
        pair = [index_of(rows.model, "column", each) for each in column]
        if len(pair) != 2 or pair[0] == pair[1]:
            raise InvalidInputError(f"column must be one column, or two different ones, got {column!r}")
        return _pair(rows, pair, _axes(ax))
    index = index_of(rows.model, "column", column)
    found, shown = dependence_of(rows, index), rows.ranked_responses[:_MOST_RESPONSES]
    ax = _axes(ax)
    several = len(rows.responses) > 1
    label = "mean response" if several else _text(rows.responses[0])
    positions, means = found["positions"], found["means"]
    if positions is None:
        places = np.arange(len(means))
        for k in shown:
            ax.plot(means[:, k], places, "o", label=_text(rows.responses[k]), color=None if several else _LOW)
        ax.set_yticks(places, [f"{_text(text, 24)} ({share:.0%})"
                               for text, share in zip(found["values"], found["shares"], strict=True)])
        ax.set(ylim=(len(places) - 0.4, -0.6), ylabel=_text(rows.names[index]), xlabel=label)
    else:
        present = ~np.isnan(positions)
        x = _axis_values(found["kind"], positions[present])
        if not several:
            ax.plot(x, found["curves"].T[present], color=_MUTED, linewidth=0.5, alpha=0.4)
        for k in shown:
            ax.plot(x, means[present, k], label=_text(rows.responses[k]), color=None if several else _LOW,
                    linewidth=2)
            for mean in means[~present, k]:
                ax.axhline(mean, linestyle=":", linewidth=1, color=ax.lines[-1].get_color())
        low, high = x.min(), x.max()
        ticks = _axis_values(found["kind"], found["ticks"])
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        ax.plot(ticks, np.full(len(ticks), 0.01), "|", color=_MUTED, transform=ax.get_xaxis_transform())
        ax.set(xlabel=_text(rows.names[index]), ylabel=label)
        if found["kind"] == DATE:
            dates: Any = import_module("matplotlib.dates")
            locator = dates.AutoDateLocator(minticks=3, maxticks=8)
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    if several:
        ax.legend(fontsize="small")
    return ax


def _axis_values(kind: str, values: Double) -> NDArray[Any]:
    """Values of a column as matplotlib takes them: dates as such."""
    return (values * 1000).round().astype("datetime64[ms]") if kind == DATE else values


def _pair(rows: LabelledRows, columns: Sequence[int], ax: Any) -> Any:
    found = pair_dependence(rows, columns)
    mesh = ax.pcolormesh(found["means"].T, cmap="Blues", edgecolors="none")
    for axis, kind, texts, positions in zip((ax.xaxis, ax.yaxis), found["kinds"], found["values"], found["positions"],
                                            strict=True):
        places = evenly_spaced(len(texts), 3 if kind == DATE else 6)
        names = [_text(texts[k], 14) if positions is None or kind == DATE else f"{positions[k]:.4g}" for k in places]
        axis.set_ticks(places + 0.5, names)
    if max(len(label.get_text()) for label in ax.get_xticklabels()) > _LONG:
        ax.tick_params(axis="x", rotation=30)
    x_label, y_label = map(_text, found["columns"])
    ax.set(xlabel=x_label, ylabel=y_label)
    ax.figure.colorbar(mesh, ax=ax, label=f"mean {_text(rows.responses[rows.ranked_responses[0]])}")
    return ax


def waterfall(model: Any, X: Any, row: int = 0, *, output: int | None = None, background: Any = None,
              n_columns: int = 10, ax: Any = None) -> Any:
    """Plot how the columns of a row add up to its score: Shapley values, from the base value up.

    Parameters
    ----------
    {rows}
    row : int, default 0
        Index of a row of X.
    output : int, default None
        Of several outputs the one to show: the index of a class, target or quantile.  None for that of the predicted
        class, or the first one.
    {background}
    n_columns : int >= 1, default 10
        Columns at most, the strongest ones; all others are one bar.
    {ax}

    {raises}
    InvalidInputError
        If X is not what `fit` saw, or has no such row; or without background, if the model keeps no distributions.
    """
    check_scalar("n_columns", n_columns, int, 1)
    rows = _rows(model, X)
    check_scalar("row", row, int, -len(rows), len(rows) - 1)
    one = rows.take(np.array([row]))
    found = contributions(one, None if background is None else _rows(model, background))
    output = _output(one, found.values.shape[2], output)
    values = found.values[0, :, output]
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:n_columns], order[n_columns:]
    names = [_text(f"{one.names[j]} = {one.text(j, 0)}") for j in shown.tolist()]
    sizes = values[shown].tolist()
    if len(rest):
        names.append(f"{len(rest)} other columns")
        sizes.append(float(values[rest].sum()))
    ax = _axes(ax)
    level, places = float(found.base_values[output]), range(len(sizes))[::-1]
    starts = level + np.cumsum([0.0, *sizes[::-1]])[:-1][::-1]  # from the smallest, at the bottom, to the largest
    ax.barh(places, sizes, left=starts, color=[_HIGH if size > 0 else _LOW for size in sizes])
    for place, start, size in zip(places, starts, sizes, strict=True):
        ax.annotate(f"{size:+.3g}", (start + max(size, 0.0), place), xytext=(3, 0), textcoords="offset points",
                    va="center", fontsize="small")
    ax.axvline(level, color=_MUTED, linestyle=":", linewidth=1)
    ax.set_yticks(list(places), names)
    ax.use_sticky_edges = False  # bars would touch the frame, and numbers leave it
    ax.margins(x=0.15)
    ax.set_xlabel(f"score{_of_class(one, output)}: from {level:.4g} (base value) to {level + values.sum():.4g}")
    return ax


def _of_class(rows: LabelledRows, output: int) -> str:
    return f" of {_text(rows.classes[1 if rows.task == BINARY else output])}" if rows.classes else ""


def _output(rows: LabelledRows, n_outputs: int, output: int | None) -> int:
    if output is not None:
        check_scalar("output", output, int, 0, n_outputs - 1)
        return output
    return int(rows.predicted_codes[0]) if n_outputs > 1 and rows.classes else 0


def summary(model: Any, X: Any, *, output: int | None = None, background: Any = None, n_columns: int = 12,
            ax: Any = None) -> Any:
    """Plot the Shapley values of rows by column, coloured by the value of the column.

    Parameters
    ----------
    {rows}
        Of more than 200 rows these are shown evenly spaced.
    output : int, default None
        Of several outputs the one to show: the index of a class, target or quantile.  None for that of the class that
        is most likely in the mean, or of the quantile in the middle.
    {background}
    n_columns : int >= 1, default 12
        Columns at most, the strongest ones.
    {ax}

    {raises}
    InvalidInputError
        If X is not what `fit` saw; or without background, if the model keeps no distributions.
    """
    check_scalar("n_columns", n_columns, int, 1)
    rows = _rows(model, X)
    found = summary_of(rows, None if background is None else _rows(model, background))
    n_outputs = found.values.shape[2]
    output = main_output(rows) if output is None else _output(rows, n_outputs, output)
    chosen = [column for column, *_ in strengths(found, output)[:n_columns]]
    ax = _axes(ax)
    span = float(np.ptp(found.values[:, chosen, output])) or 1.0
    for place, column in enumerate(chosen):
        values = found.values[:, column, output]
        shades = ranks(found.rows, column)
        y = len(chosen) - 1 - place + _side_by_side(values, span)
        known = np.array([rank is not None for rank in shades])
        ax.scatter(values[~known], y[~known], s=8, color=_MUTED)
        ax.scatter(values[known], y[known], s=8, cmap="coolwarm", vmin=0, vmax=1,
                   c=[rank for rank in shades if rank is not None])
    ax.axvline(0, color=_MUTED, linestyle=":", linewidth=1)
    ax.set_yticks(range(len(chosen))[::-1], [_text(rows.names[column]) for column in chosen])
    ax.set_xlabel(f"contribution to the score{_of_class(rows, output)}; low values of a column are blue, high ones red")
    return ax


def _side_by_side(values: Double, span: float) -> Double:
    """Offsets from -0.4 to 0.4 that put points of about the same value side by side."""
    places = np.round(values / span * 100).astype(np.intp)
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=places.min() - 1))
    counts = np.empty(len(values), dtype=np.intp)
    counts[order] = np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))
    return np.minimum(0.4, 0.05 * ((counts + 1) // 2)) * np.where(counts % 2, 1, -1)


def calibration(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot observed shares over predicted probabilities; of a regressor targets over predictions.

    Parameters
    ----------
    {rows}
    y : array of shape (n_samples,)
        Labels, targets, or several targets, of which the first is shown.
    {ax}
        With two standard errors of each share, in ten bins of equal numbers of rows.  Of more than two classes it is
        the probability of the most likely one; of quantiles, the share of the rows at or below each.

    {raises}
    InvalidInputError
        If X or y is not what `fit` saw.
    """
    rows = _rows(model, X, y)
    ax = _axes(ax)
    if rows.classes:
        bins = reliability(rows.codes, rows.predictions)
        x, share, count = (np.array([each[name] for each in bins]) for name in ("probability", "share", "rows"))
        of = rows.responses[0] if is_of_second(rows.codes, len(rows.classes)) else \
            "probability of the most likely class"
        _shares(ax, x, share, count, f"predicted {_text(of)}", "observed share")
    elif rows.quantiles:
        shares = (rows.targets <= rows.predictions).mean(axis=0)
        _shares(ax, np.array(rows.quantiles), shares, np.full(len(shares), len(rows)), "quantile", "share at or below")
    else:
        y, predicted = rows.targets[:, 0], rows.predictions[:, 0]
        span = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
        ax.plot(span, span, ":", color=_MUTED, linewidth=1)
        ax.plot(predicted, y, ".", color=_LOW, alpha=0.4)
        ax.set(xlabel="prediction", ylabel="target")
    return ax


def interval_coverage(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot how often intervals or label sets contain the truth, over the coverage that was asked for.

    Parameters
    ----------
    {rows}
    y : array of shape (n_samples,), or (n_samples, n_targets)
        Labels or targets; over several targets the share is a mean.
    {ax}
        With two standard errors of each share.

    {raises}
    TrainingStateError
        If the model knows no rows that it was not trained on: call its `conformalize` with some.
    InvalidInputError
        If X or y is not what `fit` saw, or the model knows too few rows.
    """
    rows = _rows(model, X, y)
    found = coverages(rows)
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], ":", color=_MUTED, linewidth=1)
    shares = [each["share"] for each in found]
    ax.errorbar([each["coverage"] for each in found], shares, fmt="o-", color=_LOW,
                yerr=[2 * (each["standard_error"] or 0.0) for each in found])
    what = "label sets" if rows.classes else "intervals"
    ax.set(xlabel="coverage that was asked for", ylabel=f"share of rows that {what} contain", xlim=(0.4, 1),
           ylim=(min([0.4, *shares]), 1))
    return ax


def _shares(ax: Any, x: Double, share: Double, count: NDArray[Any], x_label: str, y_label: str) -> None:
    """Observed shares over what they should be, with two standard errors."""
    ax.plot([0, 1], [0, 1], ":", color=_MUTED, linewidth=1)
    ax.errorbar(x, share, yerr=2 * error_of_share(share, count), fmt="o-", color=_LOW)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=x_label, ylabel=y_label)


def learning_curve(model: Any, *, ax: Any = None) -> Any:
    """Plot the training loss, and the validation loss if there is one, after each round.

    Parameters
    ----------
    model : fitted model that is trained in rounds
    {ax}

    {raises}
    InvalidInputError
        If the model keeps no losses.
    """
    model._check_fitted()
    curves = {name: np.asarray(getattr(model, attribute, ())) for name, attribute in (
        ("training", "train_loss_"), ("validation", "eval_loss_"))}
    if not any(curve.size > 1 for curve in curves.values()):
        raise InvalidInputError(f"this {type(model).__name__} keeps no losses of rounds")
    ax = _axes(ax)
    for (name, curve), color, style in zip(curves.items(), (_HIGH, _LOW), ("-", "--"), strict=True):
        if curve.size > 1:
            ax.plot(curve, style, label=f"{name} loss", color=color)
    ax.set(xlabel="round", ylabel="loss")
    ax.legend()
    return ax


def decision_boundary(model: Any, X: Any, y: Any = None, columns: Sequence[str | int] = (0, 1), *,
                      resolution: int = 100, ax: Any = None) -> Any:
    """Plot the response over two columns, all others being as in the median row of X, and the rows.

    Parameters
    ----------
    {rows}
        Two numeric columns of it span the plot.  Others are at their median, or at their most frequent value.
    y : array of shape (n_samples,), default None
        Labels or targets, which colour the rows.
    columns : two of str or int, default (0, 1)
    resolution : int in [2, 1000], default 100
        Points along each axis.
    {ax}
        Of two classes the shades are the probability of the second, with a line at 1/2; of more they are the most
        likely class.

    {raises}
    InvalidInputError
        If X or y is not what `fit` saw, or the columns are not two of numbers.
    """
    check_scalar("resolution", resolution, int, 2, 1000)
    rows = _rows(model, X, y)
    chosen = [index_of(rows.model, "column", column) for column in columns]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InvalidInputError(f"columns must be two different columns, got {columns!r}")
    axes = []
    for column in chosen:
        raw = rows.raw.columns[column]
        present = raw.values[~np.isnan(raw.values)]
        if raw.kind in (CATEGORY, DATE) or not len(present):
            raise InvalidInputError(f"columns must hold numbers, column {rows.names[column]!r} has none: its kind is "
                                    f"{raw.kind!r}")
        margin = 0.05 * (present.max() - present.min()) or 0.5
        axes.append(np.linspace(present.min() - margin, present.max() + margin, resolution))
    grid = np.meshgrid(*axes)
    rest = [_middle(raw.values, raw.kind == CATEGORY) for raw in rows.raw.columns]
    values = [np.full(resolution**2, each) for each in rest]
    for column, each in zip(chosen, grid, strict=True):
        values[column] = each.reshape(-1)
    plane = rows.with_values(values)
    ax = _axes(ax)
    points = [rows.raw.columns[column].values for column in chosen]
    truth: Any = rows.codes if rows.classes else rows.targets[:, 0] if rows.has_targets else None
    if len(rows.classes) > 2:
        colormap: Any = import_module("matplotlib").colormaps["tab20"]
        colors = [colormap(k % 20) for k in range(len(rows.classes))]
        shades: NDArray[Any] = plane.predicted_codes.reshape(grid[0].shape)
        ax.contourf(*grid, shades, levels=np.arange(len(colors) + 1) - 0.5, colors=colors, alpha=0.35)
        for k, name in enumerate(rows.classes):
            of_class = truth == k if rows.has_targets else np.zeros(len(rows), dtype=bool)
            ax.scatter(*(each[of_class] for each in points), color=colors[k], s=12, edgecolors="k", linewidths=0.4,
                       label=_text(name, 20))
        ax.legend(fontsize="small")
    else:
        shades = plane.responses_of(plane.scores)[:, rows.ranked_responses[0]].reshape(grid[0].shape)
        is_share = bool(rows.classes)
        filled = ax.contourf(*grid, shades, levels=np.linspace(0, 1, 21) if is_share else 20, cmap="RdBu", alpha=0.8)
        ax.figure.colorbar(filled, ax=ax, label=_text(rows.responses[rows.ranked_responses[0]]))
        if is_share and shades.min() < 0.5 < shades.max():
            ax.contour(*grid, shades, levels=[0.5], colors="k", linewidths=1)
        if rows.has_targets:
            limits = {"vmin": 0, "vmax": 1} if is_share else {}
            ax.scatter(*points, c=truth, cmap="RdBu", s=12, edgecolors="k", linewidths=0.4, **limits)
    if not rows.has_targets:
        ax.scatter(*points, color="k", s=5)
    ax.set(xlabel=_text(rows.names[chosen[0]]), ylabel=_text(rows.names[chosen[1]]))
    return ax


def _middle(values: Double, is_level: bool) -> float:
    """The median of numbers, or the most frequent level; nan where all are missing."""
    present = values[~np.isnan(values)]
    if not len(present):
        return float("nan")
    return float(np.bincount(present.astype(np.intp)).argmax()) if is_level else float(np.median(present))


# What all plots have in common.
_SECTIONS = {
    "rows": """model : fitted classifier or regressor
X : array or table of shape (n_samples, n_features)""",
    "background": """background : array or table of shape (n_rows, n_features), default None
    Rows that these are compared with; None for the distributions of columns that the model keeps.""",
    "ax": """ax : matplotlib axes, default None
    Those of a new figure.

Returns
-------
matplotlib axes""",
    "raises": """Raises
------
ImportError
    If matplotlib is not installed.
NotFittedError
    Before `fit`.""",
}
for _plot in map(globals().__getitem__, __all__):
    if _plot.__doc__:  # not with python -OO
        _plot.__doc__ = filled(_plot.__doc__, {name: text.__str__ for name, text in _SECTIONS.items()})
