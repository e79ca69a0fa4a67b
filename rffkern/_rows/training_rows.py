"""Checked training rows, with labels or targets, and validation rows."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._native.array_types import Double, Indices, NDArray
from .._protocol.warning import warn
from ..errors import DataConversionWarning, InvalidInputError
from .row_blocks import RowBlocks, check_rows
from .scaling import Scaling, measure_scaling, standardised_targets, target_scaling
from .validation import LARGEST_VALUE, check_known_labels, check_labels, check_names, check_targets
from .weights import RowWeights, check_weights

# Classes that are not too many for any number of rows.
_MANY_CLASSES = 20


class LabelledRows(NamedTuple):
    """Checked rows with one class index and one weight each; rows of weight 0 are gone, unless they are streamed."""

    X: Any  # array of shape (n_samples, n_features), or RowBlocks
    codes: Indices  # (n_samples,) index into the classes
    weights: RowWeights
    n_classes: int

    def targets(self) -> list[NDArray[np.int8]]:
        """Signs in {-1, +1} for each output: one for two classes, one against the rest for each of more."""
        positive = range(1, 2) if self.n_classes == 2 else range(self.n_classes)
        return [np.where(self.codes == k, np.int8(1), np.int8(-1)) for k in positive]

    @property
    def n_outputs(self) -> int:
        """Scores of a row: one for two classes, one per class for more."""
        return 1 if self.n_classes == 2 else self.n_classes

    def present(self) -> Indices:
        """Codes of the classes with positive weight, sorted."""
        counting = self.codes[self.weights.positive()] if self.weights.has_zeros else self.codes
        return np.flatnonzero(np.bincount(counting, minlength=self.n_classes))

    def taken(self, rows: Indices) -> "LabelledRows":
        """Some of the rows, which are in memory."""
        return self._replace(X=self.X[rows], codes=self.codes[rows], weights=self.weights.of(rows))


class TargetRows(NamedTuple):
    """Checked rows with real targets in units of their own spread, and one weight each; else like `LabelledRows`."""

    X: Any  # array of shape (n_samples, n_features), or RowBlocks
    values: Double  # (n_samples, n_outputs)
    weights: RowWeights

    def targets(self) -> list[Double]:
        """Values of each output."""
        return list(self.values.T)

    def taken(self, rows: Indices) -> "TargetRows":
        """Some of the rows, which are in memory."""
        return self._replace(X=self.X[rows], values=self.values[rows], weights=self.weights.of(rows))


class Training(NamedTuple):
    """The checked arguments of `fit`."""

    names: NDArray[np.object_] | None  # of the columns
    rows: Any  # LabelledRows or TargetRows
    center: Double  # (n_outputs,) of the targets that `rows` holds in units of `scale`
    scale: Double  # (n_outputs,)
    inverse_scale: Double  # (n_outputs,) 1 / scale, but 0 for a target that does not vary
    classes: NDArray[Any] | None  # labels, sorted, of a classifier
    eval_sets: tuple[tuple[str, Any], ...] = ()  # names and rows of other rows, of which the first decide when to stop
    column_map: Any = None  # the map that made `rows` from a raw table with columns `names`; None without one
    reference: dict[str, Any] | None = None  # what is kept of rows without a map, as a map's reference

    def scaling(self, model: Any) -> tuple[bool, Scaling]:
        """Whether columns are standardised, as `standardize` says and those of a map are not, and their scaling."""
        standardize = model.standardize and self.column_map is None
        return standardize, measure_scaling(self.rows.X, self.rows.weights, standardize, model.n_jobs)


SomeRows = TypeVar("SomeRows", LabelledRows, TargetRows)


def _without_weightless(rows: SomeRows) -> SomeRows:
    """The rows that count, or all where they are streamed."""
    if isinstance(rows.X, RowBlocks) or not rows.weights.has_zeros:
        return rows
    return rows.taken(rows.weights.positive())


def check_labelled(X: Any, y: Any, sample_weight: Any) -> Training:
    """Rows with labels, of which at least two classes have positive weight."""
    X, names = check_rows(X, min_samples=2)
    classes, codes = check_labels(y, X.shape[0])
    rows = _without_weightless(LabelledRows(X, codes, check_weights(sample_weight, X.shape[0]), len(classes)))
    present = rows.present()
    check_several(classes[present])
    if present.size < rows.n_classes:
        rows = rows._replace(codes=np.searchsorted(present, rows.codes), n_classes=len(present))
    return _labelled_training(names, rows, classes[present])


def check_several(classes: NDArray[Any]) -> None:
    """InvalidInputError unless there are classes to tell apart."""
    if len(classes) < 2:
        raise InvalidInputError("y must hold at least two classes, got 1 class with positive weight: "
                                f"{classes.tolist()!r}")


def _labelled_training(names: NDArray[np.object_] | None, rows: LabelledRows, classes: NDArray[Any]) -> Training:
    _warn_of_blanks(classes, rows.codes)
    _warn_of_many(classes, len(rows.codes))
    one = np.ones(rows.n_outputs)
    return Training(names, rows, np.zeros(rows.n_outputs), one, one, classes)


def _warn_of_blanks(classes: NDArray[Any], codes: Indices) -> None:
    """Warn of labels of text that differ in the blanks around them alone."""
    alike: dict[str, list[int]] = {}
    for code, label in enumerate(classes.tolist()):
        if isinstance(label, str):
            alike.setdefault(label.strip(), []).append(code)
    group = next((each for each in alike.values() if len(each) > 1), None)
    if group is not None:
        counts = np.bincount(codes, minlength=len(classes))
        shown = " and ".join(f"{classes.tolist()[code]!r} ({counts[code]} row{'' if counts[code] == 1 else 's'})"
                             for code in group)
        warn(f"y has labels that differ in the blanks around them alone, and are classes of their own: {shown}; if "
             "they mean the same, pass y=[label.strip() for label in y]", DataConversionWarning)


def _warn_of_many(classes: NDArray[Any], n_rows: int) -> None:
    """Warn of labels of which most rows have one of their own, as numbers and dates have."""
    if len(classes) > max(_MANY_CLASSES, n_rows / 2):
        what = "if they are numbers, train a regressor" if classes.dtype.kind in "iuf" else \
            "if they are dates or numbers in text, make numbers of them and train a regressor"
        warn(f"y has {len(classes)} classes, such as {str(classes[0])!r}, in {n_rows} rows, of which a classifier can "
             f"learn little: {what}", DataConversionWarning)


def check_more_labels(X: Any, y: Any, classes: Any, sample_weight: Any, known: NDArray[Any] | None) -> Training:
    """Rows that need not show all classes: the `known` ones of a model, else the given `classes`, else those of y."""
    X, names = check_rows(X)
    labels, codes = check_labels(y, X.shape[0])
    weights = check_weights(sample_weight, X.shape[0])
    present = np.unique(codes[weights.positive()] if weights.has_zeros else codes)
    stated = None if classes is None else check_labels(classes, np.size(classes), "classes")[0]
    if known is None:
        known = labels[present] if stated is None else stated
    if stated is not None and not np.array_equal(stated, known):
        raise InvalidInputError(f"classes must be those of the training that it continues, {known.tolist()!r}, got "
                                f"{stated.tolist()!r}")
    if len(known) < 2:
        raise InvalidInputError(f"y must hold at least two classes, or `classes` name them, got {known.tolist()!r}")
    position = np.zeros(len(labels), np.intp)  # arbitrary for labels whose rows have no weight
    position[present] = check_known_labels(labels[present], known, len(present), "y")
    rows = _without_weightless(LabelledRows(X, position[codes], weights, len(known)))
    return _labelled_training(names, rows, known)


def class_factors(class_weight: Any, classes: Any, totals: NDArray[Any]) -> NDArray[np.float64]:
    """What the weights of the rows of each class are multiplied by, of classes and the sums of their weights."""
    if isinstance(class_weight, str):
        return totals.sum() / (len(totals) * np.maximum(totals, 1e-300))
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise InvalidInputError(f"class_weight must have labels of y, such as {labels[0]!r}, got {unknown[0]!r}")
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def with_class_weights(training: Training, class_weight: Any) -> Training:
    """The same rows, weighted by their classes; validation rows keep their weights."""
    if class_weight is None:
        return training
    rows = training.rows
    totals = np.bincount(rows.codes, rows.weights.each, minlength=rows.n_classes)
    factors = class_factors(class_weight, training.classes, totals)
    each = rows.weights.each * factors[rows.codes]
    with np.errstate(over="ignore"):
        given_total = min(float(rows.weights.unit * each.sum()), LARGEST_VALUE)
    each = each / each[each > 0].mean()
    return training._replace(rows=rows._replace(weights=RowWeights(len(each), each, given_total)))


def check_with_targets(X: Any, y: Any, sample_weight: Any, n_threads: int | None, min_samples: int = 2) -> Training:
    """Rows with real targets."""
    X, names = check_rows(X, min_samples=min_samples)
    values = check_targets(y, X.shape[0])
    weights = check_weights(sample_weight, X.shape[0])
    center, inverse_scale, *_ = target_scaling(values, weights, n_threads)
    values = standardised_targets(values, weights, center, inverse_scale, "y")
    scale = 1 / np.where(inverse_scale > 0, inverse_scale, 1.0)
    rows = _without_weightless(TargetRows(X, values, weights))
    return Training(names, rows, center, scale, inverse_scale, None)


def with_eval_set(training: Training, eval_set: Any) -> Training:
    """The same with the rows of an eval_set, if there is one; the first of several sets is the validation set."""
    if eval_set is None:
        return training
    return training._replace(eval_sets=tuple((name, _checked_set(training, each))
                                             for name, each in named_sets(eval_set)))


def named_sets(eval_set: Any) -> list[tuple[str, Any]]:
    """The sets of rows of an eval_set with their names: one, a list of some, or a dict."""
    sets = eval_set
    if isinstance(eval_set, Mapping):
        sets = list(eval_set.values())
        if not sets or not all(isinstance(name, str) for name in eval_set):
            raise InvalidInputError("eval_set must be a dict of names and tuples (X, y) or (X, y, sample_weight), got "
                                    f"keys {list(eval_set)!r}")
    elif not isinstance(eval_set, list) or not eval_set or not (
            len(eval_set) == 1 or all(isinstance(each, tuple) for each in eval_set)):
        sets = [eval_set]
    names = list(eval_set) if isinstance(eval_set, Mapping) else [f"valid_{k}" for k in range(len(sets))]
    return list(zip(names, sets, strict=True))


def is_set(eval_set: Any) -> bool:
    """Whether this has the form of one set of rows."""
    return isinstance(eval_set, (tuple, list)) and len(eval_set) in (2, 3)


def parts_of_set(eval_set: Any) -> tuple[Any, Any, Any]:
    """X, y and sample_weight, or None, of one set of rows; InvalidInputError for what is none."""
    if not is_set(eval_set):
        raise InvalidInputError("eval_set must be a tuple (X, y) or (X, y, sample_weight), or a list or dict of some, "
                                f"got {type(eval_set).__name__}"
                                f"{f' of length {len(eval_set)}' if isinstance(eval_set, (tuple, list)) else ''}")
    X, y, sample_weight = (*eval_set, None)[:3]
    return X, y, sample_weight


def _checked_set(training: Training, eval_set: Any) -> Any:
    """Checked rows of one set."""
    X, y, sample_weight = parts_of_set(eval_set)
    n_features = training.rows.X.shape[1]
    X, names = check_rows(X, "eval_set X", expected=training.names)
    check_names(names, training.names)
    if X.shape[1] != n_features:
        raise InvalidInputError(f"eval_set X must have {n_features} features, got {X.shape[1]}")
    weights = check_weights(sample_weight, X.shape[0], "eval_set sample_weight")
    return _without_weightless(_rows_of_set(training, X, y, weights))


def _rows_of_set(training: Training, X: Any, y: Any, weights: RowWeights) -> Any:
    if training.classes is not None:
        codes = check_known_labels(y, training.classes, X.shape[0], "eval_set y")
        return LabelledRows(X, codes, weights, len(training.classes))
    values = check_targets(y, X.shape[0], "eval_set y")
    if values.shape[1] != training.center.size:
        raise InvalidInputError(f"eval_set y must have {training.center.size} targets, got {values.shape[1]}")
    values = standardised_targets(values, weights, training.center, training.inverse_scale, "eval_set y")
    return TargetRows(X, values, weights)
