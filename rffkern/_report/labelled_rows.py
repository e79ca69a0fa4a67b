"""The rows that a report is about: raw columns, columns as the model's function takes them, scores and predictions."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._column_map.cells import CATEGORY, DATE, NUMERIC, date_text
from .._column_map.tables import RawColumn, RawTable, category_of_numbers, rows_of
from .._estimator.base import fitted_map_of
from .._estimator.evaluation import Evaluation, predictions_from
from .._estimator.explanations import sources_of
from .._estimator.links import probabilities, quantiles_of
from .._estimator.metrics import known_label_codes, log_losses, pinball, share_of
from .._native.array_types import Double, Indices, NDArray
from .._rows.row_blocks import evenly_spaced
from .._rows.validation import NamedRows, check_array, feature_names, shown_names, to_array
from ..errors import InvalidInputError

BINARY, MULTICLASS, REGRESSION, QUANTILES = "binary", "multiclass", "regression", "quantiles"


class LabelledRows:
    """Rows of a table for a fitted model, and their labels or targets if they have any.

    A response is what a person reads of a prediction: the probability of the second of two classes or of each of
    several, or a predicted target or quantile.  Rows count alike.
    """

    def __init__(self, model: Any, X: Any, y: Any = None) -> None:
        self.model = model
        fitted = fitted_map_of(model)
        if fitted is None:
            names = getattr(model, "feature_names_in_", feature_names(X))
            model._check_rows(X)
            columns = [RawColumn(NUMERIC, values.astype(np.float64)) for values in check_array(X).T]
            self.raw = RawTable(None if names is None else tuple(map(str, names)), columns, len(columns[0].values))
        else:
            table = fitted.read(X, type(model).__name__)
            # Numbers that were categories in training are categories here.
            self.raw = table._replace(names=fitted.names, columns=[
                category_of_numbers(raw) if column.kind == CATEGORY else raw
                for column, raw in zip(fitted.columns, table.columns, strict=True)])
        self.names = shown_names(self.raw.names, len(self.raw.columns))
        self.sources = sources_of(model)  # the raw column that each mapped column is made of
        self._set_task()
        self._set_targets(y)

    def _set_task(self) -> None:
        model = self.model
        if hasattr(model, "classes_"):
            self.classes = list(map(str, model.classes_.tolist()))
            self.task = BINARY if len(self.classes) == 2 else MULTICLASS
            self.quantiles: tuple[float, ...] = ()
            self.responses = [f"probability of {name}" for name in (self.classes[1:] if self.task == BINARY
                                                                    else self.classes)]
            return
        self.classes = []
        n_outputs = model.expansion_.n_outputs
        quantiles = quantiles_of(model) or ()
        self.quantiles = quantiles if len(quantiles) == n_outputs else ()  # else the quantile of several targets
        self.task = QUANTILES if self.quantiles else REGRESSION
        self.responses = ([f"{quantile:g} quantile" for quantile in self.quantiles] if self.quantiles else
                          ["prediction"] if n_outputs == 1 else [f"prediction {k + 1}" for k in range(n_outputs)])

    def _set_targets(self, y: Any) -> None:
        n_rows = len(self)
        self.has_targets = y is not None
        self.codes: Indices = np.full(n_rows, -1)
        self.targets: Double = np.empty((n_rows, 0))
        if y is None:
            return
        if self.classes:
            labels = to_array(y, "y").reshape(-1)
            if len(labels) != n_rows:
                raise InvalidInputError(f"y must have one entry per row of X ({n_rows}), got {len(labels)}")
            self.codes = known_label_codes(labels, self.model.classes_)
            self.labels = list(map(str, labels.tolist()))
            return
        self.targets = self.model._checked_truth(y, n_rows)

    def __len__(self) -> int:
        return self.raw.n_rows

    def some(self, most: int) -> "LabelledRows":
        """So many of the rows at most, evenly spaced."""
        return self if len(self) <= most else self.take(evenly_spaced(len(self), most))

    def take(self, chosen: Indices) -> "LabelledRows":
        """The rows at some indices."""
        part = object.__new__(LabelledRows)
        part.__dict__ = {name: value for name, value in vars(self).items() if name not in _COMPUTED}
        part.raw = rows_of(self.raw, chosen)
        part.codes, part.targets = self.codes[chosen], self.targets[chosen]
        if self.has_targets and self.classes:
            part.labels = [self.labels[i] for i in chosen.tolist()]
        return part

    def with_values(self, values: Sequence[Double]) -> "LabelledRows":
        """Other rows of the same columns, without labels, from values as raw columns have them."""
        columns = [raw._replace(values=each) for raw, each in zip(self.raw.columns, values, strict=True)]
        part = self.take(np.empty(0, dtype=np.intp))
        part.raw = self.raw._replace(columns=columns, n_rows=len(values[0]))
        part.codes, part.targets = np.full(len(part), -1), np.empty((len(part), 0))
        part.has_targets = False
        return part

    # --- what the model makes of them

    @property
    def X(self) -> Any:
        """The rows as methods of the model take them."""
        if vars(self.model).get("column_map_") is not None:
            return self.raw
        rows = np.column_stack([column.values for column in self.raw.columns])
        return NamedRows(rows, list(self.raw.names)) if self.raw.names is not None else rows

    @cached_property
    def mapped(self) -> NDArray[Any]:
        """The rows as the model's function takes them, (n_rows, n_mapped), clipped to its bounds."""
        return self.model.expansion_._scorer.clip(self.model._check_rows(self.X))

    def scores_of(self, mapped: NDArray[Any]) -> Double:
        """Scores of mapped rows, (n_rows, n_outputs)."""
        return self.model.expansion_._scorer.score(mapped, self.model.n_jobs)

    @cached_property
    def scores(self) -> Double:
        """Scores of the rows, (n_rows, n_outputs)."""
        return self.model._raw_scores(self.X)

    def predictions_of(self, scores: Double) -> Double:
        """Probabilities of all classes, targets, or quantiles, from scores."""
        if self.classes:
            return probabilities(self.model._link(), scores)
        if self.quantiles:
            return np.sort(scores, axis=1)
        return self.model._targets_of(scores)

    @cached_property
    def predictions(self) -> Double:
        """Probabilities of all classes, targets, or quantiles of the rows."""
        return self.predictions_of(self.scores)

    def responses_of(self, scores: Double) -> Double:
        """The responses, (n_rows, n_responses), from scores."""
        predicted = self.predictions_of(scores)
        return predicted[:, 1:] if self.task == BINARY else predicted

    @cached_property
    def ranked_responses(self) -> list[int]:
        """Indices of the responses, the most telling first: probabilities by their mean, the quantile in the middle."""
        if self.task == MULTICLASS:
            return np.argsort(-self.predictions.mean(axis=0), kind="stable").tolist()
        middle = len(self.quantiles) // 2
        return [middle, *(k for k in range(len(self.responses)) if k != middle)]

    @cached_property
    def predicted_codes(self) -> Indices:
        """Indices of the labels that are predicted."""
        if self.task == BINARY:
            return (self.scores[:, 0] > 0).astype(np.intp)
        return self.scores.argmax(axis=1)

    # --- how wrong it is

    def evaluation_of(self, scores: Double) -> Evaluation:
        """Metrics of the predictions from scores."""
        return Evaluation.of(predictions_from(self.model, scores, self.codes if self.classes else self.targets))

    @cached_property
    def evaluation(self) -> Evaluation:
        """Metrics of the predictions of the rows."""
        return self.evaluation_of(self.scores)

    @property
    def loss_name(self) -> str:
        """The name of what `losses` are."""
        if self.classes:
            return "error rate"
        return "pinball loss" if self.quantiles else "absolute error"

    @cached_property
    def losses(self) -> Double:
        """How wrong the model is on each row, in a unit that people read: 1 for a wrong label, or |y - prediction|."""
        if self.classes:
            return (self.predicted_codes != self.codes).astype(np.float64)
        if self.quantiles:
            losses = [pinball(self.targets[:, 0], predicted, quantile)
                      for predicted, quantile in zip(self.predictions.T, self.quantiles, strict=True)]
            return np.mean(losses, axis=0)
        return np.abs(self.targets - self.predictions).mean(axis=1)

    @cached_property
    def surprises(self) -> Double:
        """By what rows are ranked as the worst: the log loss of their label, or `losses`."""
        return log_losses(self.codes, self.predictions) if self.classes else self.losses

    # --- values as a person reads them

    def text(self, column: int, row: int) -> str:
        """The value of a row in a column."""
        raw = self.raw.columns[column]
        return value_text(raw, float(raw.values[row]))


_COMPUTED = {name for name, value in vars(LabelledRows).items() if isinstance(value, cached_property)}


def value_text(raw: RawColumn, value: float) -> str:
    """A value of a raw column: a number, a date in UTC, or a level."""
    if np.isnan(value):
        return "missing"
    if raw.kind == CATEGORY:
        return raw.levels[int(value)]
    return date_text(value) if raw.kind == DATE else number_text(value)


def number_text(value: float, digits: int = 6) -> str:
    """A number with so many digits, and below 1e9 with all that stand before the point, as people write them."""
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e9 else text


# Coverages that are asked of intervals and label sets.
_COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def coverages(rows: LabelledRows) -> list[dict[str, Any]]:
    """Intervals or label sets for coverages from 50 % to 95 %, without those that need more rows than the model has.

    The share is that of the rows whose target or label is contained, or its mean over several targets; the size is the
    mean width, or the mean number of labels.  TrainingStateError or InvalidInputError where the model gives none.
    """
    found: list[dict[str, Any]] = []
    refusal: InvalidInputError | None = None
    for coverage in _COVERAGES:
        try:
            contained, sizes = _contained(rows, coverage)
        except InvalidInputError as reason:
            refusal = refusal or reason
            continue
        share = share_of(contained, np.ones(len(rows)))
        found.append({"coverage": coverage, "share": share.value, "standard_error": share.standard_error,
                      "size": float(sizes.mean())})
    if not found and refusal is not None:
        raise refusal
    return found


def _contained(rows: LabelledRows, coverage: float) -> tuple[Double, NDArray[Any]]:
    """Whether the truth of each row is contained, or the share of its targets; and widths or numbers of labels."""
    if rows.classes:
        sets = rows.model.predict_set(rows.X, coverage)
        contained = (rows.codes >= 0) & sets[np.arange(len(rows)), rows.codes]
        return contained.astype(np.float64), sets.sum(axis=1)
    ends = rows.model.predict_interval(rows.X, coverage).reshape(len(rows), -1, 2)
    inside = (ends[..., 0] <= rows.targets) & (rows.targets <= ends[..., 1])
    return inside.mean(axis=1), (ends[..., 1] - ends[..., 0]).mean(axis=1)
