"""What every estimator shares: parameters, checks of rows and labels, the scikit-learn protocol by duck typing."""

import inspect
import sys
from typing import NamedTuple

import numpy as np

from . import _validation as check
from ._links import LogisticLink, probabilities
from ._row_blocks import RowBlocks, check_rows
from ._scaling import measure_scaling, standardised_targets
from .errors import InvalidInputError, NotFittedError
from .expansion import FourierExpansion

FAMILIES: dict[str, type] = {}


def register(family):
    """Class decorator: give a model its stable name in files and on the command line."""
    def add(cls):
        cls.family = family
        FAMILIES[family] = cls
        return cls
    return add


def _not_fitted(name):
    """NotFittedError, which is also scikit-learn's where that is loaded."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    kind = type("NotFittedError", (NotFittedError, theirs), {}) if theirs else NotFittedError
    return kind(f"this {name} instance is not fitted yet: call fit before asking it to predict")


class Model:
    """Base of all estimators.

    A subclass stores its parameters untouched in `__init__` and checks them in `_check_params`; `fit` ends in `_keep`,
    so that an interrupted fit leaves the object as it was.
    """

    family: str
    expansion_form: type = FourierExpansion
    fitted_curves: tuple[str, ...] = ()  # names of fitted 1-D arrays that belong in a model file
    # Parameters that older versions of the file format lack: version that added them -> their values before it.
    params_since: dict[int, dict[str, object]] = {}

    @classmethod
    def _param_names(cls):
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep=True):
        """Parameters by name; `deep` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._param_names()}

    def set_params(self, **params):
        """Set parameters by name and return self; InvalidInputError names one that does not exist."""
        known = self._param_names()
        for name, value in params.items():
            if name not in known:
                raise InvalidInputError(f"Invalid parameter {name!r} for estimator {type(self).__name__}. "
                                        f"Valid parameters are: {known!r}")
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        changed = (f"{name}={value!r}" for name, value in self.get_params().items()
                   if not _same(value, defaults[name].default))
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self):
        return hasattr(self, "expansion_")

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags  # only scikit-learn itself asks

        return Tags(estimator_type=None, target_tags=TargetTags(required=True), input_tags=InputTags())

    def _check_params(self):
        raise NotImplementedError

    def _keep(self, names, n_features, **fitted):
        """Set all fitted attributes at once: an interrupt finds either the old model or the new one."""
        if names is None:
            vars(self).pop("feature_names_in_", None)
        else:
            fitted["feature_names_in_"] = names
        vars(self).update(fitted, n_features_in_=n_features)

    def _check_fitted(self):
        if not hasattr(self, "expansion_"):
            raise _not_fitted(type(self).__name__)

    def _check_rows(self, X):
        """Rows to score, checked against what `fit` saw."""
        self._check_fitted()
        names = check.feature_names(X)
        X = check.check_array(X)
        self._check_columns(names, X.shape[1])
        return X

    def _check_columns(self, names, n_features):
        """Refuse columns that are not those of `fit`."""
        _check_names(names, getattr(self, "feature_names_in_", None))
        if n_features != self.n_features_in_:
            raise InvalidInputError(f"X has {n_features} features, but {type(self).__name__} is expecting "
                                    f"{self.n_features_in_} features as input")

    def _restored(self, expansion, arrays):
        """Fitted attributes of a model read from a file beyond the expansion and `arrays`, its `fitted_curves`.

        ValueError if the parts contradict each other.
        """
        return {}

    def _raw_scores(self, X):
        """Scores of the expansion, shape (n_samples, n_outputs)."""
        if isinstance(X, RowBlocks):
            scores = [self._raw_scores(block) for block in X.pieces()]
            if not scores:
                raise InvalidInputError("X: Found blocks with 0 sample(s) in all while a minimum of 1 is required.")
            return np.concatenate(scores)
        X = self._check_rows(X)
        return self.expansion_.score_checked(X, self.n_threads)


def _same(value, default):
    return value is default or (type(value) is type(default) and value == default)


def _check_names(names, expected):
    """Refuse a data frame whose columns are not those of `fit`, in their order."""
    if names is None or expected is None or list(names) == list(expected):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(names) - set(expected)), sorted(set(expected) - set(names))
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in unseen[:5])
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in missing[:5])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise InvalidInputError(message)


class LabelledRows(NamedTuple):
    """Checked rows with one class index and one weight each; rows of weight 0 are gone, unless they are streamed."""

    X: np.ndarray | RowBlocks  # (n_samples, n_features)
    codes: np.ndarray  # (n_samples,) index into the classes
    weight: np.ndarray | None  # (n_samples,) mean 1, None where equal
    n_classes: int

    def targets(self):
        """Signs in {-1, +1} for each output: one for two classes, one against the rest for each of more."""
        positive = range(1, 2) if self.n_classes == 2 else range(self.n_classes)
        return (np.where(self.codes == k, 1, -1).astype(np.int8) for k in positive)

    @property
    def n_outputs(self):
        """Scores of a row: one for two classes, one per class for more."""
        return 1 if self.n_classes == 2 else self.n_classes

    def present(self):
        """Codes of the classes with positive weight, sorted."""
        return np.unique(self.codes if self.weight is None else self.codes[self.weight > 0])

    def without_weightless(self):
        keep = _weighty(self.X, self.weight)
        return self if keep is None else self._replace(X=self.X[keep], codes=self.codes[keep], weight=self.weight[keep])


class TargetRows(NamedTuple):
    """Checked rows with real targets in units of their own spread, and one weight each; else like `LabelledRows`."""

    X: np.ndarray | RowBlocks  # (n_samples, n_features)
    values: np.ndarray  # (n_samples, n_outputs)
    weight: np.ndarray | None  # (n_samples,) mean 1, None where equal

    def targets(self):
        """Values of each output."""
        return iter(self.values.T)

    def without_weightless(self):
        keep = _weighty(self.X, self.weight)
        return self if keep is None else self._replace(X=self.X[keep], values=self.values[keep],
                                                       weight=self.weight[keep])


def _weighty(X, weight):
    """Mask of the rows to keep, or None for all."""
    if weight is None or isinstance(X, RowBlocks) or weight.all():
        return None
    return weight > 0


class Training(NamedTuple):
    """What `fit` has checked."""

    names: np.ndarray | None  # of the columns
    rows: LabelledRows | TargetRows
    evaluation: LabelledRows | TargetRows | None  # held-out rows
    center: np.ndarray  # (n_outputs,) of the targets that `rows` holds in units of `scale`
    scale: np.ndarray  # (n_outputs,)
    fitted: dict[str, np.ndarray]  # attributes that are known already


def _split_eval_set(eval_set):
    """(X, y, sample_weight) of an eval_set, or None."""
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if eval_set is None:
        return None
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
        raise InvalidInputError("eval_set must be a tuple (X, y) or (X, y, sample_weight), "
                                f"got {type(eval_set).__name__}")
    return (*eval_set, None)[:3]


def _check_eval_rows(X, weight, n_features, names):
    """Checked rows and weights of an eval_set."""
    X, eval_names = check_rows(X, "eval_set X")
    _check_names(eval_names, names)
    if X.shape[1] != n_features:
        raise InvalidInputError(f"eval_set X must have {n_features} features, got {X.shape[1]}")
    return X, check.check_weights(weight, X.shape[0], "eval_set sample_weight")


def check_labelled(X, y, sample_weight):
    """Return (feature names, LabelledRows, classes with positive weight, of which there are two at least)."""
    X, names = check_rows(X, min_samples=2)
    classes, codes = check.check_labels(y, X.shape[0])
    weight = check.check_weights(sample_weight, X.shape[0])
    rows = LabelledRows(X, codes, weight, len(classes)).without_weightless()
    present = rows.present()
    if present.size < 2:
        raise InvalidInputError(f"y must hold at least two classes, got 1 class with positive weight: "
                                f"{classes[present].tolist()!r}")
    classes = classes[present]
    return names, rows._replace(codes=np.searchsorted(present, rows.codes), n_classes=len(classes)), classes


class Classifier(Model):
    """Base of classifiers: labels of any sortable type, one output for two classes and one per class for more."""

    classes_: np.ndarray

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        return tags

    def _link(self):
        """From scores to probabilities."""
        return LogisticLink()

    def _check_training(self, X, y, sample_weight, eval_set=None):
        names, rows, classes = check_labelled(X, y, sample_weight)
        evaluation = _split_eval_set(eval_set)
        if evaluation is not None:
            X, weight = _check_eval_rows(evaluation[0], evaluation[2], rows.X.shape[1], names)
            codes = check.check_known_labels(evaluation[1], classes, X.shape[0], "eval_set y")
            evaluation = LabelledRows(X, codes, weight, len(classes)).without_weightless()
        return Training(names, rows, evaluation, np.zeros(rows.n_outputs), np.ones(rows.n_outputs),
                        {"classes_": classes})

    def _restored(self, expansion, arrays):
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        if n_outputs != expansion.n_outputs:
            raise ValueError("labels and outputs do not agree in number")
        return super()._restored(expansion, arrays)

    def decision_function(self, X):
        """Return H at the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks

        Returns
        -------
        float64 array: (n_samples,) for two classes, positive for `classes_[1]`; (n_samples, n_classes) for more

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not finite and numeric, or its columns are not those of `fit`.
        """
        scores = self._raw_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Return the most likely label of each row of X, in the dtype of the labels given to `fit`."""
        scores = self._raw_scores(X)
        chosen = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp)]

    def predict_proba(self, X):
        """Return class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`.

        With more than two classes they are those of one against the rest, scaled to sum to 1, or, of families that
        learn all classes at once, the softmax of the scores.
        """
        scores = self._raw_scores(X)
        return probabilities(self._link(), scores)

    def score(self, X, y, sample_weight=None):
        """Return the (weighted) share of rows of X whose label in y is predicted."""
        predicted = self.predict(X)
        y = np.asarray(y)
        if y.shape != predicted.shape:
            raise InvalidInputError(f"y must have shape {predicted.shape}, got {y.shape}")
        if not np.isin(y, self.classes_).any():
            raise InvalidInputError(f"y must hold labels of the model, such as {self.classes_[0]!r}, got {y[0]!r}")
        weight = check.check_weights(sample_weight, y.size)
        return float(np.average(predicted == y, weights=weight))


class Regressor(Model):
    """Base of regressors: one real target, or several as the columns of y."""

    def __sklearn_tags__(self):
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.multi_output = True
        return tags

    def _check_training(self, X, y, sample_weight, eval_set=None, min_samples=2):
        X, names = check_rows(X, min_samples=min_samples)
        values = check.check_targets(y, X.shape[0])
        weight = check.check_weights(sample_weight, X.shape[0])
        center, inverse_scale, _ = measure_scaling(values, weight, n_threads=self.n_threads)
        values = standardised_targets(values, weight, center, inverse_scale, "y")
        rows = TargetRows(X, values, weight).without_weightless()
        evaluation = _split_eval_set(eval_set)
        if evaluation is not None:
            X, weight = _check_eval_rows(evaluation[0], evaluation[2], X.shape[1], names)
            values = check.check_targets(evaluation[1], X.shape[0], "eval_set y")
            if values.shape[1] != center.size:
                raise InvalidInputError(f"eval_set y must have {center.size} targets, got {values.shape[1]}")
            values = standardised_targets(values, weight, center, inverse_scale, "eval_set y")
            evaluation = TargetRows(X, values, weight).without_weightless()
        scale = 1 / np.where(inverse_scale > 0, inverse_scale, 1.0)
        return Training(names, rows, evaluation, center, scale, {})

    def predict(self, X):
        """Return the predicted targets at the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks

        Returns
        -------
        float64 array: (n_samples,) for one target, (n_samples, n_targets) for more

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not finite and numeric, or its columns are not those of `fit`.
        """
        scores = self._raw_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def score(self, X, y, sample_weight=None):
        """Return R^2, the (weighted) share of the variance of y that is predicted, its mean over several targets.

        It is 1 for a constant target predicted exactly, and 0 for one that is not.
        """
        predicted = self._raw_scores(X)
        values = check.check_targets(y, predicted.shape[0])
        if values.shape != predicted.shape:
            raise InvalidInputError(f"y must have {predicted.shape[1]} targets, got {values.shape[1]}")
        weight = check.check_weights(sample_weight, predicted.shape[0])
        unit = np.maximum(np.abs(values).max(axis=0), np.abs(predicted).max(axis=0))
        unit[unit == 0] = 1.0
        values, predicted = values / unit, predicted / unit  # whose squares cannot overflow
        missed = np.average((values - predicted) ** 2, axis=0, weights=weight)
        spread = np.average((values - np.average(values, axis=0, weights=weight)) ** 2, axis=0, weights=weight)
        constant = spread == 0
        return float(np.where(constant, missed == 0, 1 - missed / np.where(constant, 1.0, spread)).mean())
