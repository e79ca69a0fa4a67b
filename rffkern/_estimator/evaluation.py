"""How good a model is: its predictions on rows, their metrics beside those of a constant, and both in words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import Double, NDArray
from .._protocol.arguments import truncated
from .._rows.weights import weighted_quantile
from .conformal import record_of_labels, record_of_targets
from .links import probabilities, quantiles_of
from .metrics import (
    ASCENDING,
    Metrics,
    class_shares,
    classification_metrics,
    confusion,
    figures,
    have_deviances,
    is_of_second,
    label_codes,
    most_likely,
    own_probabilities,
    quantile_metrics,
    regression_metrics,
    reliability,
)

_CLEAR = 2.0  # standard errors, by which a difference is taken for more than chance
_ROUNDING = 1e-12  # of a mean, in units of it
_MOST_LABELS = 20  # of a confusion table, and confusions of more labels
_DOUBT = "; these rows do not show that the model is better than a guess"

_NAMES = {"roc_auc": "ROC AUC", "r2": "R^2", "mae": "mean absolute error", "rmse": "root mean squared error",
          "brier": "Brier score", "f1": "F1", "pinball": "pinball loss", "d2": "D^2", "deviance": "mean deviance"}

_OF_CLASS = ("average_precision", "precision", "recall", "f1")

# What is best without looking at rows, by the metric that judges numbers; and the share that is explained of it.
_GUESSES = {"rmse": "guessing the mean", "deviance": "guessing the mean", "mae": "guessing the median",
            "pinball": "the best constant"}
SHARES = {"rmse": "r2", "deviance": "d2"}


class Predictions(NamedTuple):
    """What a model says of rows, beside the truth."""

    truth: NDArray[Any]  # class indices, -1 for a label that the model does not know; or targets
    predicted: Double  # probabilities (n_samples, n_classes), targets, or quantiles (n_samples, n_quantiles)
    weights: Double | None
    classes: NDArray[Any] | None = None  # of a classifier
    quantiles: tuple[float, ...] | None = None  # that are estimated
    groups: NDArray[Any] | None = None  # of rows that are alike; their names
    metric: str = "rmse"  # of numbers that are no quantiles: what the model minimises
    power: float | None = None  # of the "deviance"
    positive: int | None = None  # the index of a class that metrics are asked of

    def metrics(self) -> Metrics:
        """Metrics of the model."""
        if self.classes is not None:
            return classification_metrics(self.truth, self.predicted, self.weights, self.positive)
        if self.quantiles is not None:
            return quantile_metrics(self.truth, self.predicted, self.quantiles, self.weights)
        return regression_metrics(self.truth, self.predicted, self.weights, self.power)

    @property
    def judged_by(self) -> str:
        """The metric that judges the model: what it minimises, or "rmse" where targets have no deviance."""
        if self.classes is not None:
            return "log_loss"
        if self.quantiles is not None:
            return "mae" if self.quantiles == (0.5,) else "pinball"
        return self.metric if self.power is None or have_deviances(self.truth, self.power) else "rmse"

    def record(self, source: str) -> dict[str, Any]:
        """What a model keeps of rows that it was not trained on, for intervals and sets."""
        weights = None if self.weights is None or (self.weights == self.weights[0]).all() else self.weights
        if self.classes is not None:
            return record_of_labels(own_probabilities(self.truth, self.predicted), weights, source)
        predicted = np.atleast_2d(self.predicted.T)
        is_one = self.quantiles is None or len(self.quantiles) == 1  # else each quantile has residuals of its own
        return record_of_targets(predicted, self.truth.T - predicted, weights, is_one, source)

    def constant(self) -> Metrics:
        """Metrics of the best constants with hindsight, on which no model gains by chance.

        They are the shares of the classes, the quantiles, or the median for "mae" and the mean for other metrics.
        """
        def of_constants(values: Any) -> Metrics:
            return self._replace(predicted=np.broadcast_to(values, (len(self.truth), len(values)))).metrics()

        if self.classes is not None:
            return of_constants(class_shares(self.truth, len(self.classes), self.weights))
        w = np.ones(len(self.truth)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        if self.quantiles is not None:
            return of_constants([weighted_quantile(self.truth, w, q) for q in self.quantiles])
        targets = np.atleast_2d(self.truth.T)
        return of_constants([np.average(y, weights=w) for y in targets]) | {
            "mae": of_constants([weighted_quantile(y, w, 0.5) for y in targets])["mae"]}

    def judged_class(self) -> Any:
        """The class that metrics of one class are about, the second of two by default; None where there is none."""
        if self.classes is not None and self.positive is not None:
            return self.classes[self.positive].item()
        if self.classes is None or not is_of_second(self.truth, len(self.classes), self.weights):
            return None
        return self.classes[1].item()

    def guess(self) -> int:
        """The index of the class that is guessed without looking at rows."""
        return int(class_shares(self.truth, self.predicted.shape[1], self.weights).argmax())


def predictions_of(model: Any, X: Any, y: NDArray[Any], weights: Double | None = None) -> Predictions:
    """Predictions of a model for rows with labels, or with targets."""
    truth = label_codes(y, model.classes_) if hasattr(model, "classes_") else np.atleast_2d(y.T).T
    return predictions_from(model, model._raw_scores(X), truth, weights)


def predictions_from(model: Any, scores: Double, truth: NDArray[Any], weights: Double | None = None) -> Predictions:
    """The same from scores (n_samples, n_outputs), and indices of classes or targets (n_samples, n_targets)."""
    if hasattr(model, "classes_"):
        return Predictions(truth, probabilities(model._link(), scores), weights, model.classes_)
    quantiles = quantiles_of(model)
    if quantiles is not None and truth.shape[1] == 1:
        return Predictions(truth[:, 0], np.sort(scores, axis=1), weights, None, quantiles)
    metric, power = model._error_metric()
    return Predictions(truth, model._targets_of(scores), weights, metric=metric, power=power)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """Predictions for the rows of several folds, by models that may know different classes."""
    truth, predicted = [each.truth for each in parts], [each.predicted for each in parts]
    weights = None if parts[0].weights is None else np.concatenate([np.asarray(each.weights) for each in parts])
    if parts[0].classes is None:
        return parts[0]._replace(truth=np.concatenate(truth), predicted=np.concatenate(predicted), weights=weights)
    classes = np.unique(np.concatenate([np.asarray(each.classes) for each in parts]))
    for k, part in enumerate(parts):
        assert part.classes is not None
        places = np.searchsorted(classes, part.classes)
        proba = np.zeros((len(part.truth), len(classes)))
        proba[:, places] = part.predicted
        truth[k], predicted[k] = np.where(part.truth < 0, -1, places[part.truth]), proba
    return Predictions(np.concatenate(truth), np.concatenate(predicted), weights, classes)


class Evaluation(NamedTuple):
    """The metrics of a model on some rows."""

    predictions: Predictions
    metrics: Metrics
    constant: Metrics

    @classmethod
    def of(cls, predictions: Predictions) -> "Evaluation":
        """The metrics of predictions."""
        metrics, constant = predictions.metrics(), predictions.constant()
        if predictions.groups is not None:
            groups = np.unique(predictions.groups, return_inverse=True)[1]
            metrics, constant = ({name: each._replace(groups=groups) for name, each in some.items()}
                                 for some in (metrics, constant))
        return cls(predictions, metrics, constant)

    def figures(self) -> dict[str, Any]:
        """What a file and JSON have of them; of numbers also "judged_by"."""
        judged = {} if self.predictions.classes is not None else {"judged_by": self.predictions.judged_by}
        return figures(self.metrics, self.constant) | judged

    def tables(self) -> dict[str, Any]:
        """The confusion table, and how probabilities compare with shares; empty without classes.

        "positive" is the class that "average_precision" and "reliability" are about: that which is asked for, or the
        second of two.
        """
        of = self.predictions
        if of.classes is None:
            return {}
        counts, positive = confusion(of.truth, of.predicted, of.weights), of.judged_class()
        return {**({} if positive is None else {"positive": positive}),
                "confusion": {"labels": of.classes.tolist(), "counts": counts[:-1].tolist(),
                              "unknown_labels": counts[-1].tolist()},
                "reliability": reliability(of.truth, of.predicted, of.weights, of.positive)}

    def n_unknown(self) -> int:
        """How many of the rows that count have labels that the model does not know."""
        truth, weights = self.predictions.truth, self.predictions.weights
        if self.predictions.classes is None:
            return 0
        return int(((truth < 0) & (True if weights is None else np.asarray(weights) > 0)).sum())

    def sentence(self, where: str) -> str:
        """What a person should think of it."""
        classes, guess = self.predictions.classes, None
        if classes is not None:
            guess = classes[self.predictions.guess()]
        said, n_unknown = sentence(self.figures(), where, guess), self.n_unknown()
        if not n_unknown:
            return said
        have, count = ("has a label", "counts") if n_unknown == 1 else ("have labels", "count")
        return f"{said}; {n_unknown} of these rows {have} that the model does not know, and {count} as wrong"

    def lines(self, with_shares: bool = True) -> list[str]:
        """A table of the metrics; of a classifier the confusion table, and how probabilities compare with shares."""
        judged = self.predictions.judged_class()
        lines = metric_lines(self.figures(), judged)
        truth, proba, weights, classes, *_, asked = self.predictions
        if classes is None:
            return lines
        lines += ["", *self._confusion_lines(classes)]
        if not with_shares:
            return lines
        rows = [["probability", "share", "rows"]]
        rows += [[f"{each['probability']:.3f}", f"{each['share']:.3f}", str(each["rows"])]
                 for each in reliability(truth, proba, weights, asked)]
        what = "of the most likely label" if judged is None else f"of {str(judged)!r}"
        return [*lines, "", f"probability {what}, and the share of rows of which it came true:", *aligned(rows)]

    def _confusion_lines(self, classes: NDArray[Any]) -> list[str]:
        """The confusion table; of many labels, whose table nobody reads, the most frequent confusions."""
        truth, proba, weights, *_ = self.predictions
        labels, n = [*map(str, classes.tolist()), "other labels"], len(classes)
        if n <= _MOST_LABELS:
            counts = confusion(truth, proba, weights)
            shown = counts if counts[-1].any() else counts[:-1]
            return aligned([["label \\ predicted", *labels[:-1]],
                            *([label, *map(_count, row)] for label, row in zip(labels, shown.tolist(), strict=False))])
        predicted = most_likely(proba)
        wrong = predicted != truth
        pairs, place = np.unique(np.where(truth < 0, n, truth)[wrong] * n + predicted[wrong], return_inverse=True)
        sums = np.bincount(place, None if weights is None else np.asarray(weights)[wrong], minlength=len(pairs))
        order = np.argsort(-sums, kind="stable")[:_MOST_LABELS]
        order = order[sums[order] > 0]
        if not len(order):
            return [f"all rows of {n} labels are predicted right"]
        n_all = np.count_nonzero(sums)
        which = f", the {len(order)} most frequent of {n_all}" if n_all > len(order) else ""
        return [f"confusions of {n} labels{which}:", *aligned([
            ["label", "predicted", "rows"],
            *([*(truncated(labels[code], 40) for code in divmod(pairs[k], n)), _count(sums[k])] for k in order)])]


def sentence(figures: Mapping[str, Any], where: str, guess: Any = None) -> str:
    """What a person should think of a model with these figures; `guess` is the label that is guessed."""
    value, constant = figures, figures["constant"]
    if "accuracy" in figures:
        said = (f"guessing {str(guess)!r} is right on {100 * constant['accuracy']:.1f} % of {where}; the model on "
                f"{_percent(value['accuracy'], figures['standard_errors'].get('accuracy'))}")
        if _is_better(figures, "accuracy"):
            return said
        if _is_better(figures, "log_loss"):
            return f"{said}; its probabilities are better than the shares of the labels: log loss " \
                   f"{_pair(figures, 'log_loss')} (class shares: {_short(constant['log_loss'])})"
        return said + _DOUBT
    judged = figures["judged_by"]
    if judged not in figures or judged not in constant:
        return f"the errors on {where} are too large to be added up"
    said = (f"{_GUESSES[judged]} has a {metric_name(judged)} of {_short(constant[judged])} on {where}; the model "
            f"one of {_pair(figures, judged)}")
    if share := SHARES.get(judged):
        said += (f" ({metric_name(share)} {_pair(figures, share)})" if share in figures else
                 f" ({metric_name(share)} is not defined for a single row)")
    return said if _is_better(figures, judged) else said + _DOUBT


def _is_better(figures: Mapping[str, Any], name: str) -> bool:
    """Whether the model is better than a constant by more than chance."""
    gain = (figures[name] - figures["constant"][name]) * (1 if name in ASCENDING else -1)
    return bool(gain > _CLEAR * figures["difference_errors"].get(name, np.inf))


def _pair(figures: Mapping[str, Any], name: str) -> str:
    return with_error(figures[name], figures["standard_errors"].get(name))


def names_of_metrics(figures: Mapping[str, Any]) -> list[str]:
    """The metrics that figures have."""
    return [name for name in figures if name in figures["constant"]]


def metric_lines(figures: Mapping[str, Any], positive: Any = None) -> list[str]:
    """A table of the metrics; `positive` is the class that those of one class are about."""
    return aligned([["", "model", "constant"], *([metric_name(name, positive), _pair(figures, name), _short(
        figures["constant"][name])] for name in names_of_metrics(figures))])


def metric_name(name: str, positive: Any = None) -> str:
    """The name of a metric in words, with the class where it depends on which one is meant."""
    if positive is not None and name in _OF_CLASS:
        return f"{_NAMES.get(name, name.replace('_', ' '))} of {str(positive)!r}"
    return _NAMES.get(name, name.replace("below_", "share below quantile ").replace("_", " "))


def is_rounding(value: float, error: float) -> bool:
    """Whether a standard error is that of equal values, whose mean is rounded."""
    return error <= _ROUNDING * abs(value)


def with_error(value: float, error: float | None) -> str:
    """A number and its standard error, in digits that the error allows."""
    if error is None or not np.isfinite(error):
        return _short(value)
    if is_rounding(value, error):
        return f"{_short(value)} +- 0" if value else "0"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    if digits > 9 or error >= 1e9:
        return f"{value:.4g} +- {error:.2g}"
    return f"{value:.{digits}f} +- {error:.{digits}f}"


def _percent(value: float, error: float | None) -> str:
    return f"{100 * value:.1f} %" + ("" if error is None else f" +- {100 * error:.1f} %")


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}" if abs(value) < 1e9 else f"{value:.6g}"


def _count(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of columns, the first to the left, the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
