"""The parameter `columns` of an estimator: the map that it stands for, training rows mapped, and tables scored.

`columns="search"` compares maps by validation rows: a cheap copy of the model is trained on some of the rows with each
of a few maps, and compared on others; a map is fitted on the rows that the copy is trained on.  What `columns="auto"`
takes stays unless a map is better by more than the noise of the comparison.  The draws have a seed of their own: the
result depends on rows and parameters alone.
"""

from typing import Any, NamedTuple

import numpy as np

from .._column_map.cells import DATE, NUMERIC
from .._column_map.column_map import ColumnMap, NumericForm, fit_copy, map_rows, warn_of_columns
from .._column_map.compiled import CompiledMap
from .._column_map.drift import Reference, added, count_rows, read_reference, report
from .._column_map.fitted_map import FittedMap
from .._column_map.tables import RawTable, in_blocks, rows_of, sampled
from .._model.expansion import Expansion
from .._native import scoring
from .._native.array_types import Double, Indices, Mask, NDArray
from .._rows.groups import Division, group_folds, start_of_last, start_with_all_labels
from .._rows.row_blocks import RowBlocks
from .._rows.threads import check_n_threads
from .._rows.training_rows import is_set, named_sets
from .._rows.validation import as_numeric, check_labels, check_targets, to_array
from .._rows.weights import check_weights
from ..errors import InvalidInputError
from .monitor import Steps, listening, printing

# Bytes of mapped rows for each thread: few enough to stay in the cache until they are scored.
_BLOCK_BYTES = 1 << 21


def drift_of(column_map: ColumnMap | None, X: Any, owner: str) -> dict[str, Any]:
    """How the rows of a table differ from those that a map was fitted on."""
    counts, n_rows = None, 0
    fitted_map, reference = reference_of(column_map, owner)
    X = in_blocks(X)
    for block in X._raw_blocks() if isinstance(X, RowBlocks) else [X]:
        table = fitted_map.read(block, owner)
        counts, n_rows = added(counts, count_rows(fitted_map, reference, table)), n_rows + table.n_rows
    if not n_rows:
        raise InvalidInputError("X must have one row or more, to be compared with the training rows, got none")
    return report(fitted_map, reference, counts)


def reference_of(column_map: ColumnMap | None, owner: str) -> tuple[FittedMap, Reference]:
    """The fitted map and its reference; InvalidInputError where there is none."""
    if column_map is None or column_map._reference is None:
        raise InvalidInputError(f"this {owner} keeps no reference of its training rows: train it with a column map, as "
                                "Fourier boosting does by default and columns=ColumnMap() does in any family")
    fitted_map = column_map._fitted_map()
    return fitted_map, read_reference(column_map._reference, len(fitted_map.columns), owner,
                                      "rows cannot be compared with it")


def map_training(model: Any, X: Any, y: Any, sample_weight: Any, division: Division) -> tuple[Any, ColumnMap | None]:
    """Training rows, mapped, by a copy of a model's map, or of the one that "auto" or "search" takes, fitted on them.

    The map learns nothing of the rows that a division holds out.  It is None where rows stay as they are.
    """
    if division.held_out is not None and len(division.held_out):
        weights = np.array(np.ones(len(to_array(y, "y"))) if sample_weight is None
                           else as_numeric(sample_weight, "sample_weight"))
        weights.reshape(-1)[division.held_out] = 0
        sample_weight = weights
    columns = model.columns
    if columns == "search":
        columns = searched_map(model, X, y, sample_weight, division)
    elif columns == "auto":
        columns = model._auto_map(X)
    if columns is None:
        return X, None
    column_map, mapped = fit_copy(columns, X, y, sample_weight, model._has_labels, division, model._imputes(),
                                  model.n_jobs)
    warn_of_columns(column_map._fitted_map())
    return mapped, column_map


def map_eval_set(column_map: ColumnMap, eval_set: Any, owner: str) -> Any:
    """An eval_set with its rows mapped; what is none is left to the check of eval_set."""
    return {name: (map_rows(column_map, each[0], owner, "eval_set X"), *each[1:]) if is_set(each) else each
            for name, each in named_sets(eval_set)}


def score_table(column_map: ColumnMap, expansion: Expansion, X: Any, owner: str, n_threads: int | None) -> Double:
    """Scores of the rows of the raw table of an owner, whom errors name."""
    compiled = column_map._compiled
    if compiled is not None and compiled.accepts(X) and len(X) >= scoring.LANE_COUNT:
        scores = _score_compiled(compiled, expansion, X, n_threads)
        if scores is not None:
            return scores
    return expansion._scorer.score(column_map._transform(X, owner, n_threads=n_threads), n_threads)


def _score_compiled(compiled: CompiledMap, expansion: Expansion, X: NDArray[Any],
                    n_threads: int | None) -> Double | None:
    """The same for an array of numbers, mapped block by block into tiles to score; None where `map_into` is False."""
    n_features, n_bytes = expansion.n_features, X.dtype.itemsize
    width = scoring.tile_width(n_features, n_bytes)
    n_tiles = max(1, _BLOCK_BYTES * check_n_threads(n_threads, X.size) // (n_features * n_bytes * width))
    tiles = np.empty((min(n_tiles, -(-len(X) // width)), n_features, width), X.dtype)
    scores = np.empty((len(X), expansion.n_outputs))
    for start in range(0, len(X), n_tiles * width):
        rows = X[start : start + n_tiles * width]
        mapped = tiles[: -(-len(rows) // width)]
        if not compiled.map_into(rows, mapped, n_threads):
            return None
        scores[start : start + len(rows)] = expansion._scorer.score_tiles(mapped, len(rows), n_threads)
    return scores


# Forms of numeric columns that are compared with the plainest ones, from few to many.
_FORMS: tuple[tuple[NumericForm, ...], ...] = (("standard", "rank"), ("standard", "bounded", "rank"))

# Rows that are used at most, and fewer than which say nothing; fewer are used of many columns.
_MOST_ROWS, _FEWEST_ROWS, _MOST_NUMBERS = 3000, 60, 1 << 22

# A map must be better than a plainer one by this many standard errors of the difference, and by this share of the
# variance of the targets: further columns cost time, and what is all but exact needs none.
_STANDARD_ERRORS, _LEAST_GAIN = 1.5, 1e-4


class _Rows(NamedTuple):
    """Rows for training and validation."""

    table: RawTable
    y: NDArray[Any]  # class indices, or targets (n_rows, n_outputs) of mean 0 and variance 1
    weights: Double  # in the units in which they are given
    has_labels: bool
    division: Division  # of these rows

    def taken(self, rows: Mask) -> "_Rows":
        """Some of them."""
        return self._replace(table=rows_of(self.table, rows), y=self.y[rows], weights=self.weights[rows],
                             division=self.division.taken(np.flatnonzero(rows)))

    @property
    def sample_weight(self) -> Double | None:
        """The weights as `fit` takes them: None for those that rows have without any."""
        return None if (self.weights == 1).all() else self.weights


def searched_map(model: Any, X: Any, y: Any, sample_weight: Any, division: Division) -> ColumnMap | None:
    """A map that is not fitted, or None for columns as they are.

    What is wrong with X, y or the weights is left to the fit that follows to refuse.
    """
    first = model._auto_map(X)
    try:
        rows = _sample_rows(X, y, sample_weight, model._has_labels, division)
    except InvalidInputError:
        return first
    numeric = any(column.kind in (NUMERIC, DATE) for column in rows.table.columns)
    if len(rows.y) < _FEWEST_ROWS or not numeric or not np.any(rows.y != rows.y[:1]):
        return first
    more = [ColumnMap(forms) for forms in _FORMS if first is None or first.numeric != forms]
    with printing(getattr(model, "verbose", 0)):
        return _best(model, [first, *more], rows)


def _sample_rows(X: Any, y: Any, sample_weight: Any, has_labels: bool, division: Division) -> _Rows:
    """A sample of at most `_MOST_ROWS` rows of positive weight, without classes of hardly any row."""
    y = to_array(y, "y")
    n_samples = len(np.atleast_1d(y))
    if not n_samples:
        raise InvalidInputError("y must hold at least one row")
    targets: NDArray[Any]
    if has_labels:
        _, targets = check_labels(y.ravel() if y.shape == (n_samples, 1) else y, n_samples)
    else:
        targets = check_targets(y, n_samples)
    all_weights = check_weights(sample_weight, n_samples)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(all_weights.positive())[:_MOST_ROWS])
    table = sampled(X, rows, n_samples)
    kept = np.sort(rng.permutation(len(rows))[: max(_FEWEST_ROWS, _MOST_NUMBERS // len(table.columns))])
    if has_labels:
        kept = kept[np.bincount(targets[rows[kept]])[targets[rows[kept]]] >= _n_folds(len(kept))]
    table, rows = rows_of(table, kept), rows[kept]
    few, weights, division = targets[rows], all_weights.unit * all_weights.each[rows], division.taken(rows)
    if has_labels:
        return _Rows(table, np.unique(few, return_inverse=True)[1], weights, True, division)
    few = np.ldexp(few, -np.frexp(np.abs(few).max(axis=0, initial=0.0))[1])  # whose squares cannot overflow
    few -= np.average(few, axis=0, weights=weights)
    spread = np.sqrt(np.average(few**2, axis=0, weights=weights))
    return _Rows(table, few / np.where(spread > 0, spread, 1.0), weights, False, division)


def _n_folds(n_rows: int) -> int:
    """Number of folds: more for fewer rows."""
    return min(5, 1 + round(_MOST_ROWS / max(n_rows, 1)))


def _folds(y: NDArray[Any], has_labels: bool, division: Division) -> Indices:
    """The fold of each row, -1 for those that are always learned from.

    Folds are stratified by class.  Rows in order of time have one: the last of them.
    """
    rng = np.random.default_rng(0)
    if division.order == "last":
        share = 1 / _n_folds(len(y))
        start = start_of_last(len(y), share)
        if has_labels:
            start = start_with_all_labels(y, start, share)
        return np.where(np.arange(len(y)) < start, -1, 0)
    if division.groups is not None and np.any(division.groups != division.groups[:1]):
        n_groups = len(np.unique(division.groups))
        return group_folds(division.groups, y if has_labels else np.zeros(len(y)), min(_n_folds(len(y)), n_groups), rng)
    order = np.lexsort((rng.random(len(y)), y if has_labels else np.zeros(len(y))))
    folds = np.empty(len(y), dtype=np.intp)
    folds[order] = np.arange(len(y)) % _n_folds(len(y))
    return folds


def _best(model: Any, maps: list[ColumnMap | None], rows: _Rows) -> ColumnMap | None:
    """The last of some maps that is better than those before it by more than noise; None for columns as they are.

    Those that are worse than the first on the folds so far are dropped, and those that the model refuses.
    """
    folds = _folds(rows.y, rows.has_labels, rows.division)
    n_folds = int(folds.max()) + 1
    losses = np.full((len(maps), len(folds)), np.nan)  # of validation rows; nan where there is none yet
    others = [*range(1, len(maps))]
    steps = Steps("column maps on validation rows", len(maps) * n_folds)
    for fold in range(n_folds):
        validation = folds == fold
        for k in (0, *others):
            try:
                losses[k, validation] = _losses(model, maps[k], rows, validation)
            except InvalidInputError:
                if k == 0:
                    return maps[0]  # whose fit says why
                others.remove(k)
            steps.step()
        others = [k for k in others if _gain(losses[0], losses[k], rows.weights, folds)[0] > 0]
        if not others:
            return maps[0]
    best = 0
    for k in others:
        gain, error = _gain(losses[best], losses[k], rows.weights, folds)
        if gain > max(_LEAST_GAIN, _STANDARD_ERRORS * error):
            best = k
    return maps[best]


def _losses(model: Any, column_map: ColumnMap | None, rows: _Rows, validation: Mask) -> Double:
    """The losses of the validation rows with a map, by a copy of a model that is trained on the others."""
    train, valid = rows.taken(~validation), rows.taken(validation)
    if column_map is None:
        X, X_valid = (np.column_stack([column.values for column in part.table.columns]) for part in (train, valid))
    else:
        fitted, X = fit_copy(column_map, train.table, train.y, train.sample_weight, rows.has_labels, train.division)
        X_valid = fitted._transform(valid.table, type(model).__name__)
    standardize = column_map is None and model.standardize
    with listening(lambda *_: None):  # of the steps of the choice alone
        tried = model._trial_copy(standardize).fit(X, train.y, train.sample_weight)
    return tried._losses_of_rows(X_valid, valid.y)


def _gain(first: Double, other: Double, weights: Double, folds: Indices) -> tuple[float, float]:
    """How much lower the losses of another map are on validation rows of both, and the standard error of that.

    Both are nan where a loss is infinite.  Rows differ, and so do trainings: the error is that of a mean over rows
    together with that of a mean over folds.
    """
    evaluated = np.flatnonzero(~np.isnan(other))
    with np.errstate(over="ignore", invalid="ignore"):
        gains = first[evaluated] - other[evaluated]
        weight = weights[evaluated] / weights[evaluated].sum()
        mean = float(weight @ gains)
        variance = weight**2 @ (gains - mean) ** 2
        shares = np.bincount(folds[evaluated], weight)
        if len(shares) > 1:
            of_folds = np.bincount(folds[evaluated], weight * gains) / shares
            variance += of_folds.var(ddof=1) / len(of_folds)
        return mean, float(np.sqrt(variance))
