"""Tables with words, gaps, dates and many levels, models of them, and rows with new levels: what exports must read."""

import datetime
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import rffkern
from rffkern import ColumnMap, FourierBoostingClassifier, FourierBoostingRegressor

N_TRAINING = 1500

HOSTILE = ["*/ int x; /*", "</script><script>", "'; DROP TABLE rows; --", '"quoted" \\', "${1+1} `x` $$",
           "two\nlines\r", "\u2028 \u2029", "{}%s {0!r}", '"""', "größe\t'", "?" * 3 + "/", "\\u0041\\x41"]


def _words(rng: np.random.Generator, n_rows: int, levels: list[str], new: bool, gaps: float = 0.05) -> Any:
    """Levels, some of which are missing, and some new."""
    cells = np.array(levels, dtype=object)[rng.integers(0, len(levels), n_rows) ** 2 % len(levels)]
    cells[rng.random(n_rows) < gaps] = None
    if new:
        cells[rng.random(n_rows) < 0.05] = "never seen"
    return cells


def _numbers(rng: np.random.Generator, n_rows: int, gaps: float = 0.1) -> Any:
    return np.where(rng.random(n_rows) < gaps, np.nan, rng.standard_normal(n_rows))


def _moments(rng: np.random.Generator, n_rows: int, gaps: float = 0.1) -> Any:
    seconds = rng.integers(0, 2 * 10**9, n_rows)
    found = np.datetime64("1965-03-01T00:00:00.25", "us") + seconds * np.timedelta64(10**6, "us")
    found[rng.random(n_rows) < gaps] = np.datetime64("NaT")
    return found


def words(n_rows: int, seed: int) -> dict[str, Any]:
    """Few levels, one of which is of letters of other scripts, and gaps."""
    rng = np.random.default_rng(seed)
    return {"city": _words(rng, n_rows, ["Bern", "Zürich", "東京", "o'x", "New York"], seed > 0),
            "size": _numbers(rng, n_rows), "kind": _words(rng, n_rows, ["a", "b"], seed > 0, 0.0),
            "count": rng.poisson(3, n_rows).astype(float)}


def many_levels(n_rows: int, seed: int) -> dict[str, Any]:
    """Target statistics of levels, rare ones among them."""
    rng = np.random.default_rng(seed)
    return {"shop": _words(rng, n_rows, [f"shop {k}" for k in range(170)], seed > 0),
            "zip": _words(rng, n_rows, [f"Z{k}" for k in range(80, 150)], seed > 0, 0.0),
            "size": _numbers(rng, n_rows, 0.0)}


def dates(n_rows: int, seed: int) -> dict[str, Any]:
    """Moments before and after 1970, and days."""
    rng = np.random.default_rng(seed)
    days = (np.datetime64("2019-12-25") + rng.integers(0, 3000, n_rows)).astype(object)
    return {"moment": _moments(rng, n_rows), "day": days, "size": _numbers(rng, n_rows)}


def spans(n_rows: int, seed: int) -> dict[str, Any]:
    """Two dates, of which the time between them matters, some missing."""
    rng = np.random.default_rng(seed)
    begun = _moments(rng, n_rows)
    ended = begun + rng.integers(0, 10**7, n_rows) * np.timedelta64(1, "s")
    ended[rng.random(n_rows) < 0.1] = np.datetime64("NaT")
    return {"begun": begun, "size": _numbers(rng, n_rows), "ended": ended}


def truth(n_rows: int, seed: int) -> dict[str, Any]:
    """Truth values as booleans and as words, and whole numbers that are categories."""
    rng = np.random.default_rng(seed)
    flags = (rng.random(n_rows) < 0.4).astype(object)
    flags = np.array([bool(flag) for flag in flags], dtype=object)
    return {"flag": flags, "answer": _words(rng, n_rows, ["yes", "no"], False, 0.1),
            "code": rng.integers(1, 7 + (seed > 0), n_rows), "size": _numbers(rng, n_rows)}


def marked(n_rows: int, seed: int) -> dict[str, Any]:
    """Numbers and dates as people write them."""
    rng = np.random.default_rng(seed)
    amounts, moments = rng.normal(5000, 3000, n_rows).round(2), _moments(rng, n_rows, 0.0)
    euros = [f"{value:,.2f}".replace(",", "x").replace(".", ",").replace("x", ".") + " €" for value in amounts]
    texts = [f"{moment.day}.{moment.month}.{moment.year} {moment:%H:%M}" for moment in moments.astype(object)]
    named = [f"{moment:%B} {moment.day}, {moment.year}" for moment in moments.astype(object)]
    clock = [f"{moment:%I:%M} {'pm' if moment.hour > 11 else 'am'}" for moment in moments.astype(object)]
    weights = [f"{value:.1f} kg" if k % 11 else "n/a" for k, value in enumerate(rng.random(n_rows) * 50)]
    return {"price": np.array(euros, object), "when": np.array(texts, object), "named": np.array(named, object),
            "clock": np.array(clock, object), "weight": np.array(weights, object),
            "iso": np.array([f"{str(moment)[:19]}{'Z' if k % 3 else '+02:00'}" for k, moment in enumerate(moments)],
                            object)}


def free_text(n_rows: int, seed: int) -> dict[str, Any]:
    """Sentences of few words, all of them different, in some scripts; some missing."""
    rng = np.random.default_rng(seed)
    words = ["bright", "happy", "gloomy", "awful", "the", "house", "Straße", "日本語", "went", "ΟΔΟΣ", "don't",
             "x_y", "²"]
    texts = [" ".join(rng.choice(words, 8)) + f" no. {rng.integers(10**6)}" for _ in range(n_rows)]
    texts = np.array(texts, object)
    texts[rng.random(n_rows) < 0.05] = None
    return {"review": texts, "size": _numbers(rng, n_rows)}


def hostile(n_rows: int, seed: int) -> dict[str, Any]:
    """Names and levels that would end a text, a comment or a script."""
    rng = np.random.default_rng(seed)
    return {"*/ \"'\\ \n": _words(rng, n_rows, HOSTILE, seed > 0), "</script>": _numbers(rng, n_rows),
            "label": _words(rng, n_rows, HOSTILE[:3], seed > 0), "scores": _numbers(rng, n_rows, 0.0)}


def _target(table: dict[str, Any]) -> Any:
    """Something that all columns have to do with."""
    total = np.zeros(len(next(iter(table.values()))))
    for column in table.values():
        array = np.asarray(column)
        if array.dtype.kind == "M":
            total += np.sin(array.astype("M8[D]").astype(float) / 700)
        elif array.dtype.kind in "if":
            total += np.sin(np.nan_to_num(array.astype(float)))
        elif isinstance(array[0], datetime.date):
            total += np.array([day.month > 6 for day in array])
        else:
            total += np.array([sum(map(ord, str(cell))) % 7 / 3 - 1 for cell in array])
    return total


def _classes(table: dict[str, Any], names: list[Any]) -> Any:
    total = _target(table)
    edges = np.quantile(total, np.linspace(0, 1, len(names) + 1)[1:-1])
    return np.array(names)[np.searchsorted(edges, total)]


def _boosted(table: Callable[[int, int], dict[str, Any]], names: list[Any] | None = None, **params: Any) -> Any:
    family = FourierBoostingRegressor if names is None else FourierBoostingClassifier
    X = table(N_TRAINING, 0)
    y = _target(X) if names is None else _classes(X, names)
    params = {"n_bags": 1, "random_state": 0, "kernel_ridge": False, "columns": _MAP} | params
    return family(params.pop("n_estimators", 12), **params).fit(X, y)


_MAP = ColumnMap(("standard", "rank"), n_knots=20)
_PARTS = ColumnMap(("bounded", "rank", "bins"), n_knots=20, n_bins=5, date_parts=True)


def _of_text() -> Any:
    X = free_text(N_TRAINING, 0)
    y = np.array(["bright" in str(text) or "happy" in str(text) for text in X["review"]])
    return FourierBoostingClassifier(8, n_bags=1, random_state=0, kernel_ridge=False).fit(X, y)


def _of_marks() -> Any:
    X = marked(N_TRAINING, 0)
    prices = np.array([float(cell[:-2].replace(".", "").replace(",", ".")) for cell in X["price"]])
    weights = np.array([0.0 if cell == "n/a" else float(cell[:-3]) for cell in X["weight"]])
    clock = np.array([cell.endswith("pm") for cell in X["clock"]])
    months = np.array([int(cell.split(".")[1]) for cell in X["when"]])
    y = np.sin(prices / 2000) + weights / 25 + clock + (months > 6) + np.array(["J" in cell for cell in X["named"]])
    return FourierBoostingRegressor(12, n_bags=1, random_state=0, kernel_ridge=False,
                                    columns=ColumnMap(date_parts=True)).fit(X, y)


def _of_spans() -> Any:
    X = spans(N_TRAINING, 0)
    days = (X["ended"] - X["begun"]) / np.timedelta64(1, "D")
    y = np.sqrt(np.where(np.isnan(days), 50, days)) + 0.1 * np.nan_to_num(X["size"])
    return FourierBoostingRegressor(15, n_bags=1, random_state=0, kernel_ridge=False,
                                    columns=ColumnMap(date_parts="differences")).fit(X, y)


def _several_targets() -> Any:
    X = words(N_TRAINING, 0)
    y = _target(X)
    return FourierBoostingRegressor(8, n_bags=1, random_state=0, columns=_MAP, kernel_ridge=False).fit(
        X, np.column_stack([y, y**2]))


def _regions(family: Any, table: Callable[[int, int], dict[str, Any]], names: list[Any] | None = None) -> Any:
    X = table(N_TRAINING, 0)
    y = _target(X) if names is None else _classes(X, names)
    return family(region_size=200, random_state=0, columns=_MAP).fit(X, y)


CASES: dict[str, tuple[Callable[[], Any], Callable[[int, int], dict[str, Any]]]] = {
    "words and gaps, two classes": (lambda: _boosted(words, ["no", "yes"]), words),
    "words and gaps, ten classes": (lambda: _boosted(words, [*"abcdefghij"], n_estimators=6), words),
    "words and gaps, regression": (lambda: _boosted(words), words),
    "words and gaps, kernels": (lambda: _boosted(words, [3, 5], kernel_ridge=True), words),
    "words and gaps, quantiles": (lambda: _boosted(words, loss="quantile", quantile=[0.1, 0.5, 0.9]), words),
    "words and gaps, two targets": (_several_targets, words),
    "many levels, regression": (lambda: _boosted(many_levels), many_levels),
    "many levels, three classes": (lambda: _boosted(many_levels, [1, 2, 3]), many_levels),
    "dates, two classes": (lambda: _boosted(dates, [False, True]), dates),
    "dates and their parts, regression": (lambda: _boosted(dates, columns=_PARTS), dates),
    "dates and their differences, regression": (_of_spans, spans),
    "truth values and codes, two classes": (lambda: _boosted(
        truth, [-1.0, 1.0], columns=ColumnMap(("standard",), categorical_features=["code"])), truth),
    "numbers and dates as text, regression": (_of_marks, marked),
    "words, regions of kernels": (lambda: _regions(rffkern.KernelRidgeRegressor, words), words),
    "many levels, regions, three classes": (lambda: _regions(rffkern.KernelRidgeClassifier, many_levels, [*"abc"]),
                                            many_levels),
    "free text, two classes": (_of_text, free_text),
    "hostile names, levels and labels": (lambda: _boosted(hostile, HOSTILE[:4]), hostile),
    "words, GBRFF2": (lambda: rffkern.GBRFF2Classifier(10, columns=_MAP, random_state=0).fit(
        words(N_TRAINING, 0), _classes(words(N_TRAINING, 0), ["x", "y"])), words),
}


@functools.cache
def case_of(name: str) -> tuple[Any, Callable[[int, int], dict[str, Any]]]:
    """A model, trained once, and what makes tables for it: (n_rows, seed); seeds from 1 on have new levels."""
    make, table = CASES[name]
    return make(), table
