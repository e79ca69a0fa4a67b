"""How good predictions are: metrics of classifiers, regressors and quantiles, each with its standard error.

A metric is a function T of the weighted distribution of the rows.  Its influence on a row i is psi_i, the derivative of
T along the weight of this row, of weighted mean 0 (Hampel, 1974, "The influence curve and its role in robust
estimation").  Rows are drawn independently, so the standard error of T is the root of sum (w_i psi_i)^2 / (sum w_i)^2
times n / (n - 1): of a mean that of textbooks, of the area under the ROC curve that of DeLong, DeLong and
Clarke-Pearson (1988).  What is a mean within classes has this factor of each class, and none where a class has a single
row.  n is the effective number of rows, (sum w)^2 / sum w^2.  The standard error of a difference of two models on the
same rows is that of the difference of their influences, which knows that they err on the same rows.

Few rows that are all right have no spread, and do not show that all others are right.  So what is a mean of numbers
from 0 to 1, over all rows or those of a class, has the standard error that it would have with h rows more of 1 and h
more of 0, beside the spread of the rows themselves: m of n rows then has the variance

    s^2 / n + h^2 ((1 - m)^2 + m^2) / (n + 2 h)^2.

Of shares of rows that are right h is 2, as in Agresti and Coull (1998, "Approximate is better than exact for interval
estimation of binomial proportions"): where all rows are right, two standard errors, 4 / (n + 4), are the exact interval
of 95 % of Clopper and Pearson up to a tenth for 10 rows and more.  The area under the ROC curve and average precision
are means of numbers that are rarely 0 or 1, of which as many rows would make errors of dozens of rows far too large:
`_ADDED` has the h with which two standard errors contained 95 % of normal and mixed scores in simulations, with 2 to
10 rows of a class; `tests/_estimator/test_metrics.py` repeats some of them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from .._rows.weights import weighted_quantile
from ..errors import InvalidInputError

# Bins of equal numbers of rows, in which mean probabilities are compared with observed shares.
N_BINS = 10

_LEAST_PROBABILITY = 1e-15  # of a label in the log loss
_ROUNDING = 1e-12  # of a mean of probabilities
_LEAST_EXCESS = 1e-9  # over 1 of the effective number of rows, below which they say nothing of their spread

# Rows of 1, and as many of 0, that standard errors count beside those that there are.
_ADDED = {"share": 2.0, "average_precision": 1.25, "roc_auc": 0.6}


class Metric(NamedTuple):
    """A metric on some rows."""

    value: float
    influence: Double  # (n_samples,) of each row, of weighted mean 0
    weights: Double  # (n_samples,)
    groups: Indices | None = None  # (n_samples,) of rows that are alike, where only groups are independent
    classes: Indices | None = None  # (n_samples,) of rows, where the metric is made of means within classes
    added: Double | None = None  # (n_classes, 2) what rows that are 1 and 0 would add to it; of 0 to 1 alone
    n_added: float = 0.0  # of each

    @property
    def standard_error(self) -> float | None:
        """None of a single row or group, or of a class that has a single one, which says nothing of it.

        Of groups it is that of the sums of their rows (Liang and Zeger, 1986, "Longitudinal data analysis using
        generalized linear models").
        """
        classes = np.zeros(len(self.weights), dtype=np.intp) if self.classes is None else self.classes
        n_rows = self._effective_rows(classes)
        if not n_rows.any() or (n_rows[n_rows > 0] < 1 + _LEAST_EXCESS).any():
            return None
        factors = np.where(n_rows > 0, n_rows / np.where(n_rows > 0, n_rows - 1, 1.0), 0.0)
        parts = self.weights * self.influence * np.sqrt(factors)[classes]
        if self.groups is not None:
            parts = np.bincount(self.groups, parts).astype(np.float64)
        unit = max(float(np.abs(parts).max()), np.finfo(np.float64).tiny)  # in which squares cannot overflow
        error = float(unit * np.sqrt(((parts / unit) ** 2).sum()) / self.weights.sum())
        if self.added is None:
            return error
        own = (self.n_added * self.added / (n_rows + 2 * self.n_added)[:, None])[n_rows > 0]
        return float(np.sqrt(error**2 + (own**2).sum()))

    def _effective_rows(self, classes: Indices) -> Double:
        """The effective number of rows of each class, or of groups that have such rows; 0 of a class without rows."""
        w = self.weights / max(float(self.weights.max()), np.finfo(np.float64).tiny)
        if self.groups is not None:
            n_groups = int(self.groups.max()) + 1
            pairs, place = np.unique(classes * n_groups + self.groups, return_inverse=True)
            classes, w = pairs // n_groups, np.bincount(place, w).astype(np.float64)
        sums, squares = np.bincount(classes, w), np.bincount(classes, w**2)
        return np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 0)

    def less(self, other: "Metric") -> "Metric":
        """The difference from the same metric of another model on the same rows."""
        added = None if self.added is None or other.added is None else self.added - other.added
        return self._replace(value=self.value - other.value, influence=self.influence - other.influence, added=added)


Metrics: TypeAlias = dict[str, Metric]

# Metrics of which more is better; less is of all others.
ASCENDING = ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "precision", "recall", "f1", "d2", "r2")


def _mean(values: Double, weights: Double) -> Metric:
    """The mean of the values of rows."""
    with np.errstate(over="ignore", invalid="ignore"):  # `figures` leaves out what is not finite
        mean = float(np.average(values, weights=weights))
        return Metric(mean, values - mean, weights)


def share_of(values: NDArray[Any], weights: Double) -> Metric:
    """The share of rows of which something is so, or the mean of numbers from 0 to 1."""
    mean = _mean(np.asarray(values, dtype=np.float64), weights)
    return mean._replace(added=_added(np.ones(1), mean.value), n_added=_ADDED["share"])


def error_of_share(share: Any, n_rows: Any) -> Any:
    """The standard error of shares of numbers of rows, by the formula above."""
    h = _ADDED["share"]
    return np.sqrt(share * (1 - share) / n_rows + h**2 * ((1 - share) ** 2 + share**2) / (n_rows + 2 * h) ** 2)


def _added(shares: Double, mean: float) -> Double:
    """What rows of 1 and 0 add to a mean, where each class is a share of it, (n_classes, 2)."""
    return np.outer(shares, [1 - mean, -mean])


def mean_of(metrics: Sequence[Metric]) -> Metric:
    """The mean of metrics on the same rows: of classes, targets or permutations."""
    influence = np.mean([each.influence for each in metrics], axis=0)
    added = [each.added for each in metrics if each.added is not None]
    return metrics[0]._replace(value=float(np.mean([each.value for each in metrics])), influence=influence,
                               added=np.mean(added, axis=0) if added else None)


def _weights(weights: Any, n_rows: int) -> Double:
    return np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)


# --- classes

def label_codes(labels: NDArray[Any], classes: NDArray[Any]) -> Indices:
    """The index of the class of each label; -1 for one that is no class."""
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if "O" in kinds or ("U" in kinds and len(kinds) > 1):
        labels, classes = labels.astype(str), classes.astype(str)
    order = np.argsort(classes, kind="stable")
    places = order[np.searchsorted(classes, labels, sorter=order).clip(0, len(classes) - 1)]
    return np.where(classes[places] == labels, places, -1)


def known_label_codes(labels: NDArray[Any], classes: NDArray[Any]) -> Indices:
    """The same; InvalidInputError where no label is a class."""
    codes = label_codes(labels, classes)
    if len(codes) and (codes < 0).all():
        raise InvalidInputError(f"y must hold labels of the model, such as {str(classes[0])!r}, got {str(labels[0])!r}")
    return codes


def own_probabilities(codes: Indices, proba: Double) -> Double:
    """The probability of the label of each row; 0 of one that is no class."""
    return np.where(codes < 0, 0.0, proba[np.arange(len(codes)), codes])


def log_losses(codes: Indices, proba: Double) -> Double:
    """The log loss of each row."""
    return -np.log(np.maximum(own_probabilities(codes, proba), _LEAST_PROBABILITY))


def most_likely(proba: Double) -> Indices:
    """The index of the most likely class of each row; of two equally likely ones the first."""
    return (proba[:, 1] > 0.5).astype(np.intp) if proba.shape[1] == 2 else proba.argmax(axis=1)


def classification_metrics(codes: Indices, proba: Double, weights: Any = None, positive: int | None = None) -> Metrics:
    """Metrics of class probabilities.

    Parameters
    ----------
    codes : array of shape (n_samples,)
        Indices of the classes of the rows; -1 for a label that the model does not know.
    proba : array of shape (n_samples, n_classes)
    weights : array of shape (n_samples,) or None
    positive : int or None
        Index of a class that the last metrics are about, in place of the second of two, or of all in turn.

    Returns
    -------
    dict
        "accuracy"; "balanced_accuracy", the mean over classes of the share of their rows that is right; "log_loss";
        "brier", the squared error of the probability of the second of two classes, or of more its sum over classes;
        "calibration_error", the mean over `reliability` of |probability - share|; "roc_auc" and "average_precision", of
        the second of two classes, or of more the mean over classes, each against the rest.  The last two are missing
        where the rows have one class alone.  With `positive` also "precision", "recall" and "f1", which are 0 where
        nothing is predicted to be of the class, as in scikit-learn.

    A label that the model does not know is one more class, of probability 0: no probability that the model may give to
    its own classes is right there.  Two classes are then judged as more are, each against the rest, because the second
    alone would take a row of neither for a right one of the first.
    """
    n_rows, n_classes = proba.shape
    w = _weights(weights, n_rows)
    is_class = codes[:, None] == np.arange(n_classes)
    right = most_likely(proba) == codes
    squares = (proba - is_class) ** 2
    brier = squares.sum(axis=1) + (codes < 0)
    if n_classes == 2:
        brier = np.where(codes < 0, brier / 2, squares[:, 1])
    metrics = {
        "accuracy": share_of(right, w),
        "balanced_accuracy": mean_of([_share_within(right, codes == code, w, codes + 1)
                                      for code in np.unique(codes[w > 0])]),
        "log_loss": _mean(log_losses(codes, proba), w),
        "brier": _mean(brier, w),
        "calibration_error": _calibration_error(codes, proba, w),
    }
    judged = [1] if is_of_second(codes, n_classes, w) else range(n_classes)
    each_against_rest = [*((is_class[:, k], proba[:, k]) for k in judged), (codes < 0, np.zeros(n_rows))]
    if positive is not None:
        each_against_rest = [(is_class[:, positive], proba[:, positive])]
    present = [(of_class, p) for of_class, p in each_against_rest if 0 < w[of_class].sum() < w.sum()]
    if present:
        metrics["roc_auc"] = mean_of([_roc_auc(of_class, p, w, codes + 1) for of_class, p in present])
        metrics["average_precision"] = mean_of([_average_precision(of_class, p, w, codes + 1)
                                                for of_class, p in present])
    if positive is not None:
        metrics |= _of_class(codes, most_likely(proba), positive, w)
    return metrics


def _of_class(codes: Indices, predicted: Indices, positive: int, w: Double) -> Metrics:
    """Precision, recall and F1 of a class.

    F1 is 2 E[t] / E[p + y] with indicators of rows that are predicted to be of the class (p), are of it (y), and both
    (t); its derivative along a row is (2 t - F1 (p + y)) / E[p + y].
    """
    is_so, is_said = codes == positive, predicted == positive
    shares = {"precision": _share_within(is_so, is_said, w, predicted) if w[is_said].any() else None,
              "recall": _share_within(is_said, is_so, w, codes + 1) if w[is_so].any() else None}
    either = np.asarray(is_so + 0.0 + is_said)
    mean = float(np.average(either, weights=w))
    f1 = 2 * float(np.average(is_so & is_said, weights=w)) / mean if mean else 0.0
    nothing = Metric(0.0, np.zeros(len(w)), w)
    found = {name: each or nothing for name, each in shares.items()}
    if not mean:
        return {**found, "f1": nothing}
    influence = (2.0 * (is_so & is_said) - f1 * either) / mean
    return {**found, "f1": Metric(f1, influence, w, None, (is_so | is_said).astype(np.intp),  # others say nothing of it
                                  np.array([[0.0, 0.0], [1 - f1, -f1]]), _ADDED["share"])}


def is_of_second(codes: Indices, n_classes: int, weights: Any = None) -> bool:
    """Whether the second of two classes stands for both: all labels that count are one of them."""
    return n_classes == 2 and not (codes[_weights(weights, len(codes)) > 0] < 0).any()


def _class_shares(chosen: Mask, w: Double, classes: Indices) -> Double:
    """The shares of classes among chosen rows."""
    sums = np.bincount(classes, w * chosen)
    return np.asarray(sums / sums.sum())


def _share_within(is_so: Mask, chosen: Mask, w: Double, classes: Indices) -> Metric:
    """The share of some rows, which is itself drawn, of which something is so."""
    mean = float(np.average(is_so[chosen], weights=w[chosen]))
    influence = np.where(chosen, (is_so - mean) * (w.sum() / w[chosen].sum()), 0.0)
    return Metric(mean, influence, w, None, classes, _added(_class_shares(chosen, w, classes), mean), _ADDED["share"])


def _roc_auc(positive: Mask, scores: Double, w: Double, classes: Indices) -> Metric:
    """The probability that a row of the class scores above one of the rest, ties counted half."""
    values, place = np.unique(scores, return_inverse=True)
    of_class, of_rest = np.bincount(place, w * positive), np.bincount(place, w * ~positive)
    below, above = np.cumsum(of_rest) - of_rest / 2, of_class.sum() - np.cumsum(of_class) + of_class / 2
    beaten, beating = below[place] / of_rest.sum(), above[place] / of_class.sum()
    area = float(np.average(beaten[positive], weights=w[positive]))
    influence = np.where(positive, (beaten - area) / of_class.sum(), (beating - area) / of_rest.sum()) * w.sum()
    both = _class_shares(positive, w, classes) + _class_shares(~positive, w, classes)
    return Metric(area, influence, w, None, classes, _added(both * (len(values) > 1), area), _ADDED["roc_auc"])


def _average_precision(positive: Mask, scores: Double, w: Double, classes: Indices) -> Metric:
    """The mean over rows of the class of the precision among rows that score at least as high.

    With U = E[y T / N], T(s) = P(y = 1, S >= s), N(s) = P(S >= s), the derivative of U along a row (y, s) is
    y T(s) / N(s) - U + sum over rows i of the class with s_i <= s of (y - T(s_i) / N(s_i)) / N(s_i).
    """
    values, place = np.unique(scores, return_inverse=True)
    total = w.sum()
    of_class, of_all = np.bincount(place, w * positive) / total, np.bincount(place, w) / total
    reach = np.maximum(np.cumsum(of_all[::-1])[::-1], np.finfo(np.float64).tiny)
    precision = np.cumsum(of_class[::-1])[::-1] / reach
    share = of_class.sum()
    product = float((of_class * precision).sum())
    counted, missed = np.cumsum(of_class / reach), np.cumsum(of_class * precision / reach)
    y = positive.astype(np.float64)
    along = y * precision[place] - product + y * counted[place] - missed[place]
    value = product / share
    added = _added(_class_shares(positive, w, classes) * (len(values) > 1), value)
    return Metric(value, (along - value * (y - share)) / share, w, None, classes, added, _ADDED["average_precision"])


def _bins(codes: Indices, proba: Double, w: Double, positive: int | None = None) -> tuple[Indices, Double, Double]:
    """The bin of each row, its probability, and whether it came true.

    The probability is that of the class that is asked for, or of the second of two classes, if it stands for both, or
    else of the most likely one.
    """
    if positive is not None:
        probability, came_true = proba[:, positive], codes == positive
    elif is_of_second(codes, proba.shape[1], w):
        probability, came_true = proba[:, 1], codes == 1
    else:
        chosen = proba.argmax(axis=1)
        probability, came_true = proba[np.arange(len(proba)), chosen], codes == chosen
    edges = [weighted_quantile(probability, w, k / N_BINS) for k in range(1, N_BINS)]
    return np.searchsorted(np.unique(edges), probability, side="left"), probability, came_true.astype(np.float64)


def _calibration_error(codes: Indices, proba: Double, w: Double) -> Metric:
    """The expected calibration error, whose bins are taken as fixed."""
    place, probability, came_true = _bins(codes, proba, w)
    errors = probability - came_true
    sums = np.bincount(place, w * errors)
    signs = np.where(np.abs(sums) > _ROUNDING * w.sum(), np.sign(sums), 0.0)
    return _mean(signs[place] * errors, w)


def reliability(codes: Indices, proba: Double, weights: Any = None, positive: int | None = None
                ) -> list[dict[str, float]]:
    """Mean probability and observed share in bins of equal numbers of rows; of arguments of `classification_metrics`.

    Of two classes it is the probability of the second; of more, or where labels are none of them, that of the most
    likely.
    """
    w = _weights(weights, len(codes))
    place, probability, came_true = _bins(codes, proba, w, positive)
    bins = [place == k for k in np.unique(place[w > 0])]
    return [{"rows": int((chosen & (w > 0)).sum()),
             "probability": float(np.average(probability[chosen], weights=w[chosen])),
             "share": float(np.average(came_true[chosen], weights=w[chosen]))} for chosen in bins]


def confusion(codes: Indices, proba: Double, weights: Any = None) -> Double:
    """Sums of the weights of rows by their class and by the most likely one, (n_classes + 1, n_classes).

    The last row is of labels that the model does not know.
    """
    n_rows, n_classes = proba.shape
    place = np.where(codes < 0, n_classes, codes) * n_classes + most_likely(proba)
    sums = np.bincount(place, _weights(weights, n_rows), minlength=(n_classes + 1) * n_classes)
    return sums.reshape(-1, n_classes).astype(np.float64)


def class_shares(codes: Indices, n_classes: int, weights: Any = None) -> Double:
    """The shares of the classes among the rows, (n_classes,).

    As probabilities of all rows they are the best constant with hindsight, so that no model gains on it by chance.
    """
    known = codes >= 0
    shares = np.bincount(codes[known], _weights(weights, len(codes))[known], minlength=n_classes).astype(np.float64)
    return shares / shares.sum() if shares.sum() > 0 else np.full(n_classes, 1 / n_classes)


# --- numbers

def regression_metrics(targets: Double, predictions: Double, weights: Any = None,
                       power: float | None = None) -> Metrics:
    """Metrics of predicted numbers; means over several targets.

    Parameters
    ----------
    targets, predictions : arrays of shape (n_samples,) or (n_samples, n_targets)
    weights : array of shape (n_samples,) or None
    power : float from 1 to 2, or None
        Of `tweedie_deviances`, None where they do not judge the predictions.

    Returns
    -------
    dict
        With a power "d2", the share of the deviance from the mean that is explained, and "deviance", its mean, where
        targets `have_deviances`; "r2"; "mae", the mean absolute error; and "rmse".  "d2" and "r2" are missing of a
        single row, which has nothing that could be explained.
    """
    w = _weights(weights, len(targets))
    pairs = list(zip(np.atleast_2d(targets.T), np.atleast_2d(predictions.T), strict=True))
    is_single, metrics = np.count_nonzero(w) < 2, {}
    if power is not None and have_deviances(targets, power):
        metrics = {} if is_single else {"d2": mean_of([_d2(y, f, w, power) for y, f in pairs])}
        metrics["deviance"] = mean_of([_mean(tweedie_deviances(y, f, power), w) for y, f in pairs])
    if not is_single:
        metrics["r2"] = mean_of([_r2(y, f, w) for y, f in pairs])
    return metrics | {"mae": mean_of([_mean(np.abs(y - f), w) for y, f in pairs]),
                      "rmse": mean_of([_rmse(y, f, w) for y, f in pairs])}


def have_deviances(targets: Double, power: float) -> bool:
    """Whether the Tweedie distribution of a power has these targets: > 0 of gamma, 2, and >= 0 below."""
    return bool((targets > 0 if power == 2 else targets >= 0).all())


def tweedie_deviances(targets: Double, means: Double, power: float) -> Double:
    """The deviance of each row from its mean, of the Poisson distribution (power 1), gamma (2), or one in between.

    With targets y and means f it is 2 (y log(y / f) - y + f), 2 (log(f / y) + y / f - 1), or for another power p

        2 (y^(2 - p) / ((1 - p) (2 - p)) - y f^(1 - p) / (1 - p) + f^(2 - p) / (2 - p)),

    as in `mean_tweedie_deviance` of scikit-learn.  A mean that is rounded to 0 counts as the least normal number.
    """
    y, f = targets, np.maximum(means, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # of 0 log 0, and of means that are too large
        if power == 1:
            halves = np.where(y > 0, y * (np.log(y) - np.log(f)), 0.0) - y + f
        elif power == 2:
            halves = np.log(f) - np.log(y) + y / f - 1
        else:
            halves = (y ** (2 - power) / ((1 - power) * (2 - power)) - y * f ** (1 - power) / (1 - power)
                      + f ** (2 - power) / (2 - power))
        return np.maximum(2 * halves, 0)  # by rounding


def _unit(y: Double, f: Double) -> float:
    """A unit in which squares cannot overflow."""
    return max(float(np.abs(y).max()), float(np.abs(f).max()), np.finfo(np.float64).tiny)


def _r2(y: Double, f: Double, w: Double) -> Metric:
    unit = _unit(y, f)
    return _explained(y, ((y - f) / unit) ** 2, ((y - np.average(y, weights=w)) / unit) ** 2, w)


def _d2(y: Double, f: Double, w: Double, power: float) -> Metric:
    mean = np.full(len(y), np.average(y, weights=w))
    return _explained(y, tweedie_deviances(y, f, power), tweedie_deviances(y, mean, power), w)


def _explained(y: Double, losses: Double, of_mean: Double, w: Double) -> Metric:
    """1 - E[losses] / E[losses of the mean]; of a constant target 1 where all are predicted exactly, else 0.

    The mean has the least of these losses, so that it counts as fixed in the influence.
    """
    missed, most = np.average(losses, weights=w), np.average(of_mean, weights=w)
    counted = y[w > 0]
    if most == 0 or counted.min() == counted.max():  # whose mean may be rounded
        return Metric(float(missed == 0), np.zeros(len(losses)), w)
    with np.errstate(over="ignore", invalid="ignore"):  # where weights hide all but one target
        ratio = missed / most
        return Metric(float(1 - ratio), (ratio * (of_mean - most) - (losses - missed)) / most, w)


def _rmse(y: Double, f: Double, w: Double) -> Metric:
    unit = _unit(y, f)
    squares = _mean(((y - f) / unit) ** 2, w)
    root = float(np.sqrt(squares.value))
    return Metric(root * unit, squares.influence * (unit / (2 * root)) if root else squares.influence, w)


def quantile_metrics(targets: Double, predictions: Double, quantiles: Sequence[float], weights: Any = None) -> Metrics:
    """Metrics of quantiles of one target.

    Parameters
    ----------
    targets : array of shape (n_samples,)
    predictions : array of shape (n_samples, n_quantiles)
    weights : array of shape (n_samples,) or None

    Returns
    -------
    dict
        "pinball", the mean over rows and quantiles q of max(q (y - f), (q - 1) (y - f)); for each quantile "below_q",
        the share of rows at or below it, which is to be q; and of the median alone "mae", the mean absolute error.
    """
    w = _weights(weights, len(targets))
    losses = [pinball(targets, f, q) for f, q in zip(predictions.T, quantiles, strict=True)]
    below = {f"below_{q:g}": share_of(targets <= f, w)
             for f, q in zip(predictions.T, quantiles, strict=True)}
    of_median = {"mae": _mean(np.abs(targets - predictions[:, 0]), w)} if tuple(quantiles) == (0.5,) else {}
    return {**of_median, "pinball": _mean(np.mean(losses, axis=0), w), **below}


def pinball(targets: Double, predictions: Double, quantile: float) -> Double:
    """The loss of a quantile at each row."""
    above = targets - predictions
    return np.maximum(quantile * above, (quantile - 1) * above)


# --- what is printed and kept

def figures(metrics: Metrics, constant: Metrics) -> dict[str, Any]:
    """Numbers that JSON can hold.

    They are "rows", each metric by its name, "standard_errors", metrics of the "constant", and the standard errors of
    the differences from it, "difference_errors".
    """
    rows = int(np.count_nonzero(next(iter(metrics.values())).weights))
    metrics = {name: each for name, each in metrics.items() if np.isfinite(each.value) and np.isfinite(
        each.influence).all() and np.isfinite(constant[name].influence).all()}  # sums of 1e308 are none
    differences = {name: each.less(constant[name]) for name, each in metrics.items()}
    errors, difference_errors = (
        {name: error for name, each in some.items() if (error := each.standard_error) is not None}
        for some in (metrics, differences))
    return {"rows": rows, **{name: each.value for name, each in metrics.items()}, "standard_errors": errors,
            "constant": {name: constant[name].value for name in metrics}, "difference_errors": difference_errors}
