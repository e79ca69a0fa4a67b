"""How good a model is: its predictions on rows, their metrics beside those of a constant, and both in words."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._native.array_types import NDArray
from .metrics import (
    Metrics,
    classification_metrics,
    confusion,
    constant_classifier,
    constant_regressor,
    figures,
    quantile_metrics,
    regression_metrics,
    reliability,
)

Double = NDArray[np.float64]
Indices = NDArray[np.intp]

_CLEAR = 2.0  # standard errors, by which a difference is taken for more than chance

_NAMES = {"roc_auc": "ROC AUC", "r2": "R^2", "mae": "mean absolute error", "rmse": "root mean squared error",
          "brier": "Brier score", "pinball": "pinball loss"}


class Predictions(NamedTuple):
    """What a model says of rows, beside the truth."""

    truth: NDArray[Any]  # class indices, -1 for a label that the model does not know; or targets
    predicted: Double  # probabilities (n_samples, n_classes), targets, or quantiles (n_samples, n_quantiles)
    weights: Double | None
    classes: NDArray[Any] | None = None  # of a classifier
    quantiles: tuple[float, ...] | None = None  # that are estimated

    def metrics(self) -> Metrics:
        """Metrics of the model."""
        if self.classes is not None:
            return classification_metrics(self.truth, self.predicted, self.weights)
        if self.quantiles is not None:
            return quantile_metrics(self.truth, self.predicted, self.quantiles, self.weights)
        return regression_metrics(self.truth, self.predicted, self.weights)

    def constant(self) -> Metrics:
        """Metrics of the best constant, which does not look at the rows."""
        if self.classes is not None:
            constant = constant_classifier(self.truth, len(self.classes), self.weights)
            return classification_metrics(self.truth, constant, self.weights)
        return constant_regressor(self.truth, self.quantiles, self.weights)


def predictions_of(model: Any, X: Any, y: NDArray[Any], weights: Double | None = None) -> Predictions:
    """Predictions of a model for rows with labels, or with targets."""
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return Predictions(label_codes(y, classes), model.predict_proba(X), weights, classes)
    quantiles = quantiles_of(model)
    if quantiles is not None and y.ndim == 1:
        predicted = model.predict_quantiles(X) if len(quantiles) > 1 else model.predict(X)[:, None]
        return Predictions(y, predicted, weights, None, quantiles)
    return Predictions(y, model.predict(X), weights)


def quantiles_of(model: Any) -> tuple[float, ...] | None:
    """The quantiles that a model estimates, None where it estimates means."""
    if getattr(model, "loss", None) != "quantile":
        return None
    return tuple(model.quantile) if isinstance(model.quantile, (tuple, list)) else (model.quantile,)


def label_codes(labels: NDArray[Any], classes: NDArray[Any]) -> Indices:
    """The index of the class of each label; -1 for one that is no class."""
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if "O" in kinds or ("U" in kinds and len(kinds) > 1):
        labels, classes = labels.astype(str), classes.astype(str)
    order = np.argsort(classes, kind="stable")
    places = order[np.searchsorted(classes, labels, sorter=order).clip(0, len(classes) - 1)]
    return np.where(classes[places] == labels, places, -1)


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
        return cls(predictions, predictions.metrics(), predictions.constant())

    def figures(self) -> dict[str, Any]:
        """What a file and JSON have of them."""
        return figures(self.metrics, self.constant)

    def tables(self) -> dict[str, Any]:
        """The confusion table, and how probabilities compare with shares; empty without classes."""
        truth, proba, weights, classes, _ = self.predictions
        if classes is None:
            return {}
        counts = confusion(truth, proba, weights)
        return {"confusion": {"labels": classes.tolist(), "counts": counts[:-1].tolist(),
                              "unknown_labels": counts[-1].tolist()},
                "reliability": reliability(truth, proba, weights)}

    def sentence(self, where: str) -> str:
        """What a person should think of it."""
        if self.predictions.classes is not None:
            return self._of_classes(where)
        if "pinball" in self.metrics:
            return (f"the best constant has a pinball loss of {_short(self.constant['pinball'].value)} on {where}; the "
                    f"model one of {self._pair('pinball')}") + self._doubt("pinball")
        return (f"guessing the median is off by {_short(self.constant['mae'].value)} on average on {where}; the model "
                f"by {self._pair('mae')} (R^2 {self._pair('r2')})") + self._doubt("rmse")

    def _of_classes(self, where: str) -> str:
        classes, truth = self.predictions.classes, self.predictions.truth
        assert classes is not None
        most = classes[constant_classifier(truth, len(classes), self.predictions.weights)[0].argmax()]
        said = (f"guessing {str(most)!r} is right on {100 * self.constant['accuracy'].value:.1f} % of {where}; the "
                f"model on {_percent(self.metrics['accuracy'].value, self.metrics['accuracy'].standard_error)}")
        if self._gain("accuracy"):
            return said
        if self._gain("log_loss"):
            return f"{said}; its probabilities are better than the shares of the labels: log loss " \
                   f"{self._pair('log_loss')}, and {_short(self.constant['log_loss'].value)} of these"
        return said + self._doubt("log_loss")

    def _gain(self, name: str) -> bool:
        """Whether the model is better than a constant by more than chance."""
        difference = self.metrics[name].less(self.constant[name])
        gain = difference.value if name in ("accuracy", "r2") else -difference.value
        return gain > _CLEAR * (difference.standard_error or 0.0)

    def _doubt(self, name: str) -> str:
        return "" if self._gain(name) else "; these rows do not show that the model is better than a guess"

    def _pair(self, name: str) -> str:
        return with_error(self.metrics[name].value, self.metrics[name].standard_error)

    def lines(self, with_shares: bool = True) -> list[str]:
        """A table of the metrics; of a classifier the confusion table, and how probabilities compare with shares."""
        rows = [["", "model", "constant"]]
        rows += [[metric_name(name), with_error(each.value, each.standard_error), _short(self.constant[name].value)]
                 for name, each in self.metrics.items()]
        lines = aligned(rows)
        tables = self.tables()
        if not tables:
            return lines
        labels = [str(label) for label in tables["confusion"]["labels"]]
        counts = [[label, *map(_count, row)] for label, row in zip(labels, tables["confusion"]["counts"], strict=True)]
        if any(tables["confusion"]["unknown_labels"]):
            counts.append(["other labels", *map(_count, tables["confusion"]["unknown_labels"])])
        lines += ["", *aligned([["label \\ predicted", *labels], *counts])]
        if not with_shares:
            return lines
        rows = [["probability", "share", "rows"]]
        rows += [[f"{each['probability']:.3f}", f"{each['share']:.3f}", str(each["rows"])]
                 for each in tables["reliability"]]
        what = f"of {labels[1]!r}" if len(labels) == 2 else "of the most likely label"
        return [*lines, "", f"probability {what}, and the share of rows of which it came true:", *aligned(rows)]


def metric_name(name: str) -> str:
    """The name of a metric in words."""
    return _NAMES.get(name, name.replace("below_", "share below quantile ").replace("_", " "))


def with_error(value: float, error: float | None) -> str:
    """A number and its standard error, in digits that the error allows."""
    if not error or not np.isfinite(error):
        return _short(value)
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
