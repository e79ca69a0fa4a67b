"""`shrink`: a smaller model that gives nearly the same scores, and how much each byte is worth.

A model is a sum of terms: cosines, trees and kernels.  Terms are taken out, those first whose scores the others replace
best for the bytes that they take, and the coefficients of the rest are fitted to the scores of the whole model, by
least squares on half of the rows that the caller gives.  The labels of the other half choose how small the model may
be.  With Z the scores of the terms on the rows, less their means, and F = sum of Z, the
factors w of the terms that are left minimise

    |F - Z' w|^2 / 2 + ridge sum_t |Z_t|^2 (w_t - 1)^2 / 2.

Leaving out term t adds w_t^2 / (2 (H^-1)_tt) to this, with H the matrix of its second derivatives (Hassibi and Stork,
1993, "Second order derivatives for network pruning: optimal brain surgeon", equation 5).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._estimator.base import Model, fitted_map_of
from .._estimator.evaluation import predictions_from
from .._estimator.explanations import rows_in_memory
from .._estimator.metrics import Metric, known_label_codes
from .._model.expansion import Expansion
from .._model.parts import Part
from .._model.tree_layout import UNREACHED, rounded_down
from .._native.array_types import Double, Indices, NDArray
from .._protocol.arguments import check_scalar
from .._rows.row_blocks import evenly_spaced
from .._rows.scaling import power_of_two
from .._rows.weights import RowWeights, check_weights
from ..errors import InvalidInputError
from .archive import encode
from .model_files import _arrays_of, _describe, loads

_RIDGE = 1e-3  # holds factors near 1 where rows do not tell terms apart
_STEP = 0.08  # share of the terms that are left out at a time
_MOST_TERMS = 1500  # of which a choice is made; of more those whose scores vary most for their bytes
_MOST_ROWS, _MOST_NUMBERS = 500, 1 << 24  # on which these vary; scores of terms on rows, which are thinned out
_TERMS_TOGETHER = 32

# What the metadata of a model say of how good it is.
_FIGURES = ("held_out", "held_out_by", "cross_validation", "eval", "shrunk")

# What a file keeps of the distributions of columns, and how far a mapped column may be off, in standard deviations.
_N_VALUES, _TOLERANCE = 32, 0.01


class Step(NamedTuple):
    """A model on the way from the whole one to the smallest."""

    n_bytes: int  # of its file
    n_terms: int
    loss: float  # on the rows
    change: float  # from the loss of the whole model
    change_error: float | None  # standard error of the change; None where one row alone judges


class Shrunk(NamedTuple):
    """What `shrink` returns."""

    model: Any  # of the class of the whole one
    size: int  # bytes of its file
    loss: str  # which loss it is: "log_loss", "rmse", "mae", "deviance" or "pinball"
    curve: list[Step]  # the whole model, then smaller and smaller ones


def shrink(model: Any, X: Any, y: Any, sample_weight: Any = None, *, bytes: int | None = None,
           max_loss: float | None = None) -> Shrunk:
    """Return a smaller model: fewer terms, whose coefficients are fitted again, in half or single precision.

    Its explanations, exports and C files are those of any model.  What is known of out-of-fold rows is not kept: call
    `conformalize` for intervals.  The distributions of columns, for explanations and drift, are coarser.

    Parameters
    ----------
    model : fitted estimator of Fourier boosting, kernel ridge regression or RFFNet
    X : array or table of shape (n_samples, n_columns)
        Rows that the model was not trained on.
    y : array of shape (n_samples,), or (n_samples, n_targets)
        Their labels or targets.
    sample_weight : array of shape (n_samples,) or None
    bytes : int or None
        How large the file may be; of the models that are small enough the one of least loss is returned.
    max_loss : float >= 0 or None
        By how much the loss on the rows may grow, as a share of that of the whole model: 0.01 for 1 %.  The smallest
        model is returned whose growth and one standard error of it are within this, which few rows cannot show.  One
        of `bytes` and `max_loss` must be given.

    Returns
    -------
    Shrunk
        `model`; `size` of its file in bytes; `loss`, the name of the loss: the log loss of classes, or the metric of
        `rffkern evaluate` that judges numbers; `curve`, with `n_bytes`, `n_terms`, `loss`, `change` and `change_error`
        of models from the whole one to the smallest.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        For a family whose number of terms is fixed, rows or labels that do not belong together, too few rows for
        `max_loss`, or fewer bytes than the smallest model takes.

    Notes
    -----
    Coefficients are fitted to the scores of the whole model on half of the rows, drawn at random, and losses are those
    of the other half: the more rows there are for each term that is left, the smaller a good model can be.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import FourierBoostingRegressor, dumps, shrink
    >>> X = np.random.default_rng(0).uniform(-2, 2, (600, 3))
    >>> y = np.sin(2 * X[:, 1]) + X[:, 0] ** 2
    >>> model = FourierBoostingRegressor(100, random_state=0).fit(X[:400], y[:400])
    >>> small = shrink(model, X[400:], y[400:], max_loss=0.5).model
    >>> len(dumps(small)) < len(dumps(model)) / 2
    True
    """
    if not isinstance(model, Model) or not model._shrinks:
        raise InvalidInputError("model must be of Fourier boosting, kernel ridge regression or RFFNet, whose number of "
                                f"terms is free, got {type(model).__name__}")
    if (bytes is None) == (max_loss is None):
        raise InvalidInputError(f"one of bytes and max_loss must be given, got {bytes!r} and {max_loss!r}")
    check_scalar("bytes", 1 if bytes is None else bytes, int, 1)
    check_scalar("max_loss", 0.0 if max_loss is None else max_loss, float, 0.0)
    model._check_fitted()
    rows = _Rows(model._snapshot(), X, y, sample_weight)
    if bytes is None and rows.before.standard_error is None:
        raise InvalidInputError("max_loss takes at least 3 rows: half of them judge the smaller models, and the loss "
                                f"of one row has no standard error; got {len(rows.weights.positive())} of positive "
                                "weight: add rows, or give bytes")
    steps, files = [], []
    for expansion, header, arrays in _models(rows):
        step, file = rows.step(expansion, header, arrays)
        steps.append(step)
        files.append(file)
    if bytes is None:
        small = [k for k, step in enumerate(steps)
                 if k == 0 or step.change + (step.change_error or 0.0) <= (max_loss or 0.0) * steps[0].loss]
        chosen = min(small, key=lambda k: steps[k].n_bytes)
    else:
        small = [k for k, step in enumerate(steps) if step.n_bytes <= bytes]
        if not small:
            raise InvalidInputError(f"bytes must be at least {min(step.n_bytes for step in steps)}, the size of the "
                                    f"smallest file of this {type(model).__name__}, got {bytes}")
        chosen = min(small, key=lambda k: steps[k].loss)
    found: Any = loads(files[chosen])
    found.n_jobs = model.n_jobs
    return Shrunk(found, steps[chosen].n_bytes, rows.loss, steps)


class _Rows:
    """Labelled rows of a model: as its function takes them, by its map and by the one of a smaller file."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.model, self.expansion = model, model.expansion_
        self.whole = np.asarray(rows_in_memory(model, X, "X"), dtype=np.float64)
        if not len(self.whole):
            raise InvalidInputError("X must hold rows, got none")
        self.map, self.mapped, fitted = None, self.whole, fitted_map_of(model)
        if fitted is not None:
            self.map, self.mapped = fitted.smaller(fitted.read(X, type(model).__name__), self.whole, _TOLERANCE)
        self.weights: RowWeights = check_weights(sample_weight, len(self.whole))
        self.fitted_to, self.validation = halves(self.weights.positive())
        self.truth: NDArray[Any] = model._checked_truth(y, len(self.whole))
        if hasattr(model, "classes_"):
            self.truth = known_label_codes(self.truth, model.classes_)
        self.loss, self.before = self._judged(self.expansion, self.whole)

    def step(self, expansion: Expansion, header: dict[str, Any], arrays: dict[str, Any]) -> tuple[Step, Any]:
        """The loss of the whole model or of a smaller one, which its file has, and the file."""
        metric = self.before
        if expansion is not self.expansion:
            _, metric = self._judged(expansion, self.mapped)
            losses = {self.loss: metric.value, f"{self.loss}_before": self.before.value}
            header = header | {"metadata": header["metadata"] | {"shrunk": {
                "rows": len(self.validation), "terms_before": self.expansion.n_terms,
                **{name: value for name, value in losses.items() if np.isfinite(value)}}}}
        less, file = metric.less(self.before), encode(header, arrays)
        return Step(len(file), expansion.n_terms, metric.value, less.value, less.standard_error), file

    def _judged(self, expansion: Expansion, rows: Double) -> tuple[str, Metric]:
        """The loss of a function, by name, on the rows that losses are of."""
        rows = rows[self.validation]
        weights = None if self.weights.values is None else self.weights.values[self.validation]
        with np.errstate(over="ignore", invalid="ignore"):  # of targets of 1e306, whose loss may be no number
            scores = expansion._scorer.score(rows, self.model.n_jobs)
            predictions = predictions_from(self.model, scores, self.truth[self.validation], weights)
            return predictions.judged_by, predictions.metrics()[predictions.judged_by]


def halves(places: Indices) -> tuple[Indices, Indices]:
    """The rows that coefficients are fitted to, and those that losses are of: drawn at random, always the same."""
    drawn, half = np.random.default_rng(0).permutation(places), len(places) // 2
    return np.sort(drawn[: max(1, half)]), np.sort(drawn[half:])


def _models(rows: _Rows) -> Iterator[tuple[Expansion, dict[str, Any], dict[str, Any]]]:
    """(Function, header and arrays of a file) of the whole model, then of smaller ones, without its figures."""
    described, arrays = _describe(rows.model)
    header = dict(described)
    metadata = vars(rows.model).get("metadata_") or {}
    yield rows.expansion, header | ({"metadata": metadata} if metadata else {}), arrays
    header["metadata"] = {key: value for key, value in metadata.items() if key not in _FIGURES}
    curves = {name: _single(arrays[name]) for name in rows.model._fitted_curves}
    small = {key: value for key, value in header.items() if key != "out_of_fold"}
    if "reference" in small:
        from .._column_map.drift import coarser

        small["reference"] = coarser(small["reference"], _N_VALUES)
    more = {}
    if rows.map is not None:
        small["columns"], more = {**header["columns"], "columns": rows.map.header()}, {"columns": rows.map.numbers()}
    for expansion, kept in _smaller(rows):
        if "term_rounds_" in curves:
            n_boosted = len(arrays["term_rounds_"])  # without kernels
            curves["term_rounds_"] = arrays["term_rounds_"][kept[kept < n_boosted]]
        own = _arrays_of(expansion) | curves | more
        yield expansion, {**small, "arrays": [[name, list(each.shape)] for name, each in own.items()]}, own


def _smaller(rows: _Rows) -> Iterator[tuple[Expansion, Indices]]:
    """Functions with all terms, then with fewer and fewer, as files have them, and which terms these are."""
    whole, n_jobs = rows.expansion, rows.model.n_jobs
    some = np.arange(whole.n_terms)
    yield _rounded(whole, whole.parts, whole.intercept), some
    if not whole.n_terms:
        return
    if len(some) > _MOST_TERMS:
        scores = _scores_of_terms(whole, some, _clipped(rows, _MOST_ROWS)[0], n_jobs)
        spread = (scores / power_of_two(float(np.abs(scores).max()))).var(axis=2).sum(axis=1)
        worth = spread / _sizes(whole, some)
        if whole.kernels is not None:  # one of which is kept to the end
            worth[-whole.kernels.n_terms + np.argmax(worth[-whole.kernels.n_terms :])] = np.inf
        some = np.sort(np.argsort(-worth, kind="stable")[:_MOST_TERMS])
    taken, places = _clipped(rows, _MOST_NUMBERS // (len(some) * whole.n_outputs))
    shares = rows.weights.each[places] / rows.weights.each[places].sum()
    of_terms = _scores_of_terms(whole, some, taken, n_jobs)
    stays = [part for part in whole.parts if not part.n_terms]  # the linear one
    rest = Expansion(whole.intercept, whole.center, *stays, lower=whole.lower, upper=whole.upper)
    target = (whole._scorer.score(rows.whole[places], n_jobs) - rest._scorer.score(rows.mapped[places], n_jobs)).T
    means, mean = of_terms @ shares, target @ shares  # (n_terms, n_outputs), (n_outputs,)
    roots = np.sqrt(shares)
    z = ((of_terms - means[:, :, None]) * roots).reshape(len(some), -1)
    goal = ((target - mean[:, None]) * roots).reshape(-1)
    unit = power_of_two(float(np.abs(z).max()))  # beside which squares do not overflow
    z, goal = z / unit, goal / unit
    last = np.flatnonzero(some >= whole.n_terms - whole.kernels.n_terms) if whole.kernels is not None else None
    for kept, factors in _path(z @ z.T, z @ goal, _sizes(whole, some), last):
        parts = _scaled(whole._take(some[kept]), factors)
        intercept = whole.intercept + mean - factors @ means[kept]
        yield _rounded(whole, [*parts, *stays], intercept), some[kept]


def _clipped(rows: _Rows, most: int) -> tuple[Double, Indices]:
    """Some of the rows to fit to, evenly spaced, within the bounds of the function; and which they are."""
    places = rows.fitted_to[evenly_spaced(len(rows.fitted_to), max(1, most))]
    return rows.expansion._scorer.clip(rows.mapped[places]), places


def _scores_of_terms(whole: Expansion, some: Indices, X: Double, n_jobs: int | None) -> Double:
    """Scores (n_terms, n_outputs, n_rows) of some terms, each by itself, as outputs of a wider function."""
    n_outputs, found = whole.n_outputs, []
    for start in range(0, len(some), _TERMS_TOGETHER):
        for part in whole._take(some[start : start + _TERMS_TOGETHER]).parts:
            alone = Expansion(np.zeros(part.n_terms * n_outputs), whole.center, part._with_coefficients(_one_by_one))
            found.append(alone._scorer.score(X, n_jobs).T.reshape(part.n_terms, n_outputs, -1))
    return np.concatenate(found)


def _one_by_one(coefficients: Double, terms: Indices) -> Double:
    """Coefficients of terms whose scores are outputs of their own."""
    wide = np.zeros((len(coefficients), int(terms[-1]) + 1, coefficients.shape[1]))
    wide[np.arange(len(coefficients)), terms] = coefficients
    return wide.reshape(len(coefficients), -1)


def _path(gram: Double, products: Double, sizes: Double, last: Indices | None) -> Iterator[tuple[Indices, Double]]:
    """(Terms that are left, their factors), from all terms to one; one of the terms `last` is kept to the end."""
    ridge = _RIDGE * gram.diagonal() + np.finfo(np.float64).tiny
    scale = float(gram.diagonal().max()) or 1.0
    ridge += 1e-12 * scale  # a term that says nothing on the rows keeps its factor
    kept = np.arange(len(gram))
    while True:
        hessian = gram[np.ix_(kept, kept)]
        hessian[np.arange(len(kept)), np.arange(len(kept))] += ridge[kept]
        inverse = np.linalg.inv(hessian)
        factors = inverse @ (products[kept] + ridge[kept])
        yield kept, factors
        if len(kept) == 1:
            return
        costs = factors**2 / inverse.diagonal() / sizes[kept]
        if last is not None:
            held = np.flatnonzero(np.isin(kept, last))
            costs[held[np.argmax(costs[held])]] = np.inf
        kept = np.sort(kept[np.argsort(costs, kind="stable")[max(1, round(_STEP * len(kept))) :]])


def _sizes(whole: Expansion, some: Indices) -> Double:
    """About how many bytes each of some terms takes in a file."""
    return np.concatenate([part._bytes_of_terms() for part in whole.parts if part.n_terms])[some]


def _times(factors: Double, coefficients: Double, terms: Indices) -> Double:
    """Coefficients of terms, each times its factor."""
    return coefficients * factors[terms, None]


def _scaled(terms: Expansion, factors: Double) -> list[Part]:
    """The parts of some terms, each times its factor."""
    ends = np.cumsum([part.n_terms for part in terms.parts])
    return [part._with_coefficients(partial(_times, own))
            for part, own in zip(terms.parts, np.split(factors, ends[:-1]), strict=True)]


def _rounded(whole: Expansion, parts: Any, intercept: Double) -> Expansion:
    """A function whose arrays take half or single precision in a file."""
    made = []
    for part in parts:
        arrays, (_, thresholds) = part.arrays(), part._splits()
        for name, array in arrays.items():
            if name in part._in_half:
                arrays[name] = _half(array)
            elif array is thresholds:  # rows of single precision go the same way
                arrays[name] = np.where(array < UNREACHED, rounded_down(array), array)
            else:
                arrays[name] = _single(array)
        made.append(type(part)(*arrays.values()))
    bounds = [None if bound is None else _single(bound) for bound in (whole.lower, whole.upper)]
    return Expansion(_single(intercept), _single(whole.center), *made, lower=bounds[0], upper=bounds[1])


def _single(array: Double) -> Double:
    """Numbers of single precision, but for those beyond it."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = array.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded) & (np.abs(rounded) < np.finfo(np.float32).max), rounded, array)


def _half(array: Double) -> Double:
    """Numbers of half precision where that holds the columns to three digits, else of single."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rounded = array.astype(np.float16).astype(np.float64)
        is_near = np.abs(rounded - array) <= np.abs(array).max(axis=0, initial=0) * 2.0**-10
    return rounded if is_near.all() and np.abs(rounded).max(initial=0) < 65504 else _single(array)
