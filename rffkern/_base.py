"""What every estimator shares: parameters, checks of rows and labels, the scikit-learn protocol by duck typing."""

import inspect
import sys
from typing import NamedTuple

import numpy as np

from . import _validation as check
from ._row_blocks import RowBlocks, check_rows
from .errors import InvalidInputError, NotFittedError

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

    def _check_rows(self, X):
        """Rows to score, checked against what `fit` saw."""
        if not hasattr(self, "expansion_"):
            raise _not_fitted(type(self).__name__)
        _check_names(check.feature_names(X), getattr(self, "feature_names_in_", None))
        X = check.check_array(X)
        if X.shape[1] != self.n_features_in_:
            raise InvalidInputError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                                    f"{self.n_features_in_} features as input")
        return X

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

    def signs(self, n_classes):
        """Targets in {-1, +1}: one for two classes, one against the rest for each of more."""
        positive = range(1, 2) if n_classes == 2 else range(n_classes)
        return (np.where(self.codes == k, 1, -1).astype(np.int8) for k in positive)

    def present(self):
        """Codes of the classes with positive weight, sorted."""
        return np.unique(self.codes if self.weight is None else self.codes[self.weight > 0])

    def without_weightless(self):
        if self.weight is None or isinstance(self.X, RowBlocks) or self.weight.all():
            return self
        keep = self.weight > 0
        return LabelledRows(self.X[keep], self.codes[keep], self.weight[keep])


class Classifier(Model):
    """Base of classifiers: labels of any sortable type, one output for two classes and one per class for more."""

    classes_: np.ndarray

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        return tags

    def _check_training(self, X, y, sample_weight):
        """Return (classes, rows, feature names)."""
        X, names = check_rows(X, min_samples=2)
        classes, codes = check.check_labels(y, X.shape[0])
        rows = LabelledRows(X, codes, check.check_weights(sample_weight, X.shape[0])).without_weightless()
        present = rows.present()
        if present.size < 2:
            raise InvalidInputError(f"y must hold at least two classes, got 1 class with positive weight: "
                                    f"{classes[present].tolist()!r}")
        return classes[present], rows._replace(codes=np.searchsorted(present, rows.codes)), names

    def _check_eval_set(self, eval_set, classes, n_features, names):
        """Return the held-out rows of eval_set = (X, y) or (X, y, sample_weight), or None."""
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if eval_set is None:
            return None
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) not in (2, 3):
            raise InvalidInputError("eval_set must be a tuple (X, y) or (X, y, sample_weight), "
                                    f"got {type(eval_set).__name__}")
        X, eval_names = check_rows(eval_set[0], "eval_set X")
        _check_names(eval_names, names)
        if X.shape[1] != n_features:
            raise InvalidInputError(f"eval_set X must have {n_features} features, got {X.shape[1]}")
        codes = check.check_known_labels(eval_set[1], classes, X.shape[0], "eval_set y")
        weight = check.check_weights(eval_set[2] if len(eval_set) == 3 else None, X.shape[0], "eval_set sample_weight")
        return LabelledRows(X, codes, weight).without_weightless()

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

        For the exponential loss P(y = +1 | x) = 1 / (1 + exp(-2 H)); with more than two classes the one-vs-rest
        probabilities are scaled to sum to 1.
        """
        scores = self._raw_scores(X)
        if scores.shape[1] == 1:
            positive = 0.5 * (1 + np.tanh(scores[:, 0]))
            return np.column_stack([1 - positive, positive])
        # In logarithms, so that a row that every class rejects still gets finite probabilities.
        log_odds = -np.logaddexp(0, -2 * scores)
        odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

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
