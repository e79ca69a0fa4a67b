"""Cross-validation of the models of the command line: folds of a table, and predictions by models without them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._estimator.evaluation import Predictions, joined
from .._estimator.metrics import label_codes
from .._native.array_types import Indices, Mask, NDArray
from .._rows.groups import group_folds, start_of_last
from ..errors import InvalidInputError
from .training_table import TrainingTable

# Tables of up to so many rows are cross-validated where nothing else is asked for, with so many folds.
MOST_ROWS, FEWEST_ROWS, N_FOLDS = 1000, 20, 5


class Folds(NamedTuple):
    """How a table is cross-validated."""

    pairs: list[tuple[Mask, Mask]]  # rows to train on and rows to judge by, in turn
    how: str  # in words
    groups: NDArray[Any] | None  # of rows that are alike: as given, or copies where these are many


def folds_of(rows: TrainingTable, n_folds: int, seed: int) -> Folds:
    """Folds drawn at random, with all labels in each where these suffice, or of whole groups.

    Many copies of rows are groups.  Rows with times are in their order: each fold is of rows that follow, and rows
    after it are not trained on.
    """
    n_rows = len(rows.y)
    if n_rows <= n_folds:
        raise InvalidInputError(f"--cv {n_folds} needs more than {n_folds} rows, got {n_rows}")
    groups = rows.groups_or_copies()
    if rows.times is not None:
        return _in_order(np.unique(rows.times, return_inverse=True)[1], n_folds, groups)
    rng = np.random.default_rng(seed)
    codes = np.unique(rows.y, return_inverse=True)[1] if rows.has_labels else np.zeros(n_rows, dtype=np.intp)
    if groups is not None:
        groups = np.unique(groups, return_inverse=True)[1]
        n_folds = min(n_folds, int(groups.max()) + 1)
        if n_folds < 2:
            raise InvalidInputError("--cv needs rows of two groups or more, got one")
        folds = group_folds(groups, codes.astype(np.float64), n_folds, rng)
        how = f"{n_folds}-fold cross-validation of groups" if rows.groups is not None else (
            f"{n_folds}-fold cross-validation with all copies of a row in one fold")
    else:
        shuffled = rng.permutation(n_rows)
        order = shuffled[np.argsort(codes[shuffled], kind="stable")]
        folds, how = np.empty(n_rows, dtype=np.intp), f"{n_folds}-fold cross-validation"
        folds[order] = np.arange(n_rows) % n_folds
    return Folds([(folds != k, folds == k) for k in range(n_folds)], how, groups)


def _in_order(moments: Indices, n_folds: int, groups: NDArray[Any] | None) -> Folds:
    """Folds that follow each other; rows of the same time are in one."""
    starts = [start_of_last(len(moments), 1 - k / (n_folds + 1), moments) for k in range(1, n_folds + 1)]
    starts = sorted({start for start in starts if 0 < start < len(moments)})
    if not starts:
        raise InvalidInputError("--cv needs rows of two times or more, got one")
    places, ends = np.arange(len(moments)), [*starts[1:], len(moments)]
    pairs = [(places < start, (places >= start) & (places < end)) for start, end in zip(starts, ends, strict=True)]
    return Folds(pairs, f"{len(starts)} folds in order of time, each predicted from the rows before it", groups)


def cross_validated(rows: TrainingTable, folds: Folds,
                    predict: Callable[[TrainingTable, TrainingTable], Predictions]) -> Predictions:
    """Predictions for the validation rows of all folds; `predict` trains on a table and predicts for another."""
    found = joined([predict(rows.taken(training), rows.taken(validation)) for training, validation in folds.pairs])
    if found.classes is not None:  # a model without one of them has given it the probability 0
        y = np.concatenate([rows.y[validation] for _, validation in folds.pairs])
        found = found._replace(truth=label_codes(y, found.classes))
    if folds.groups is None:
        return found
    return found._replace(groups=np.concatenate([folds.groups[validation] for _, validation in folds.pairs]))


def of_unknown_labels(rows: TrainingTable, folds: Folds) -> str:
    """What to say of rows whose label no row has that the model of their fold was trained on; empty without such rows.

    They are judged as any others, with a probability of 0, so that a few of them make most of the log loss.
    """
    if not rows.has_labels:
        return ""
    counted = np.ones(len(rows.y), dtype=bool) if rows.weights is None else np.asarray(rows.weights) > 0
    n_unknown = sum(int((~np.isin(rows.y[validation], rows.y[training]))[counted[validation]].sum())
                    for training, validation in folds.pairs)
    if not n_unknown:
        return ""
    have, count = ("row has a label", "counts") if n_unknown == 1 else ("rows have labels", "count")
    return (f"{n_unknown} {have} that no training row of the fold has, and {count} as wrong, which raises the log "
            "loss: leave out labels of few rows, or join them")


def untrained(model: Any) -> Any:
    """A model with the same parameters, whose fit keeps nothing to go on from."""
    params = model.get_params(deep=False)
    return type(model)(**params | ({"warm_start": False} if "warm_start" in params else {}))
