"""The two tasks of estimators, classification and regression: what they check, answer and are scored by."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._native.array_types import Double, Indices, Mask, NDArray
from .._rows.validation import ContinuousLabelsError, as_column, check_targets, refuse_missing_labels
from ..errors import InvalidInputError
from .base import Model
from .explanations import Explanation, explain, of_outputs
from .links import LARGEST_LOG, Link, LogisticLink, log_probabilities, probabilities, several_quantiles
from .registry import regressor_beside

if TYPE_CHECKING:  # a model that scores loads no training
    from .._rows.groups import Division
    from .._rows.training_rows import Training
    from .counterfactual import Counterfactual


_ROUNDING = 1e-14  # of exponentials of scores, in units of them


class Predictor(Model):
    """What classifiers and regressors share: scores that are explained, and rows that they were not trained on."""

    def explain(self, X: Any, background: Any = "marginals", *, interactions: bool = False) -> Explanation:
        """Return Shapley values of the scores of rows, by column of the raw table.

        The value of a column is its mean contribution over all orders in which columns can be revealed (Shapley, 1953,
        "A value for n-person games"), where the columns that are not revealed yet are drawn from a background
        ("interventional" Shapley values).  They are computed exactly, without sampling: `docs/explanations.md` says
        how to read them, and `docs/algorithms/explanations.md` how they are computed.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_columns)
        background : "marginals", or array or table of shape (n_rows, n_columns), default "marginals"
            "marginals" draws each column by itself from its distribution in the training rows, of which the model keeps
            up to 128 values.  Rows are drawn as they are, so that columns keep their dependence; the time is
            proportional to their number, and some hundred are enough.
        interactions : bool, default False
            Whether to divide the values further, among pairs of columns.

        Returns
        -------
        Explanation
            `values` (n_samples, n_columns) in units of the score: log odds of `classes_[1]` for two classes, whichever
            is predicted, the target, or the logarithm of its mean for counts; `base_values`, the mean score of the
            background.  Base value and values of a row add up to its score.  For several outputs both have one more
            axis.  `data` are the rows, `feature_names` the columns.
            `clipped` says which columns of a row lie outside the bounds of the model, and count as the bound.
            `interactions` (n_samples, n_columns, n_columns) has, at both places of a pair of columns, half of their
            Shapley interaction (Grabisch and Roubens, 1999), and what is left on the diagonal: the sum of each line is
            the value of its column.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X or the background is not what `fit` saw, or the model keeps no distributions of its columns.

        Notes
        -----
        All mapped columns of one raw column belong to it.  A missing value that a column map imputes from other columns
        counts for its own column, as does one that is clipped.  float32 rows are explained in double precision: values
        add up to the scores of `X.astype(numpy.float64)`, from which those of X differ in their eighth digit.
        """
        return explain(self._snapshot(), X, background, interactions)

    def gradient(self, X: Any) -> Double:
        """Return the gradients of the scores of rows along the columns of the raw table.

        They are those of Fourier terms, linear terms and kernels.  Trees, and regions of kernels, are constant between
        their thresholds and add nothing.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_columns)

        Returns
        -------
        float64 array of shape (n_samples, n_columns), or (n_samples, n_columns, n_outputs) for several outputs
            In units of the score per unit of the column.  It is 0 along columns that are no numbers (categories and
            dates), missing values, and numbers beyond the bounds of the model, which count as the bound.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw.

        Notes
        -----
        Ranks of a column map are linear between their knots; at a knot the larger slope counts.  A missing value that
        is imputed from other columns follows these.  The center of an exponential kernel, where it has a kink, has no
        slope by it.
        """
        from .neighbours import gradient

        return gradient(self._snapshot(), X)

    def what_if(self, row: Any, target: Any, *, probability: float | None = None,
                change: Sequence[str | int] | None = None,
                limits: Mapping[str | int, tuple[float | None, float | None]] | None = None,
                steps: Mapping[str | int, float] | None = None, output: int | None = None) -> "Counterfactual":
        """Return the nearest change of a row with which the model predicts something else (a counterfactual).

        Parameters
        ----------
        row : table or array of one row, or its cells as a sequence, or as a mapping by the names of columns
        target : label, number, or pair of numbers
            Of a classifier the label that is to be predicted.  Of a regressor a number that the prediction shall reach,
            from whichever side it is on, or (low, high) that it shall lie between.
        probability : float above 0 and below 1, or None, default None
            Of a classifier, what the probability of the label shall be at least, in place of its being predicted.
        change : sequence of columns, or None, default None
            Names or indices of the columns that may change; None for all that can: numbers and categories with a value,
            which vary in the training table.
        limits : mapping of columns to pairs (low, high), default none
            Between which numbers stay, that of the row among them; None for an open end.  By default, and there, that
            is the range in training.
        steps : mapping of columns to numbers, default none
            Of which multiples are added to a number: 1 keeps integers.
        output : int or None, default None
            Which of several targets is meant.

        Returns
        -------
        Counterfactual
            `row`, `changes` by column, `distance`, `prediction`, `probability` and `lower_bound`.  The distance is the
            sum over numbers of their changes, in standard deviations of the values that the model keeps, and 1 for
            each category that changes.  A row that reaches the target has no changes.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            For arguments out of range, or where the search finds no row that reaches the target within the limits, or
            if the model keeps no distributions of its columns.

        Notes
        -----
        A search from column to column finds the row: it need not be the nearest.  That no row nearer than `lower_bound`
        reaches the target is certain, whatever else changes among the columns that may (docs/counterfactuals.md): where
        `lower_bound` equals `distance`, the row is the nearest.
        """
        from .counterfactual import what_if

        return what_if(self._snapshot(), row, target, probability, change,
                       {} if limits is None else limits, {} if steps is None else steps, output)

    def _checked_truth(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Labels, or targets of shape (n_rows, n_targets), of so many rows."""
        raise NotImplementedError

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot that learns in rounds, after each that is kept, (n_samples, n_outputs)."""
        raise NotImplementedError

    def _check_coverage(self, coverage: Any) -> None:
        """Refuse what is no coverage, and one that nothing is known for, before rows are scored."""
        from .conformal import check_coverage, record_for

        self._check_fitted()
        check_coverage(coverage)
        record_for(self)

    def conformalize(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Take rows that the model was not trained on for `predict_interval` or `predict_set`, in place of its own.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), table or RowBlocks
        {y}
        sample_weight : array of shape (n_samples,) or None
        groups : array of shape (n_samples,) or None
            The group of each row, such as a country: each group is then covered by itself, which takes more rows.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            For rows, labels or targets, weights or groups that do not belong together, and for fewer rows than two of
            a classifier and four of a regressor.
        """
        from .._rows.weights import check_weights
        from .conformal import check_largest, with_groups
        from .evaluation import predictions_from
        from .metrics import known_label_codes

        now: Any = self._snapshot()
        now._check_fitted()
        scores = now._raw_scores(X)
        truth = now._checked_truth(y, len(scores))
        if now._has_labels:
            truth = known_label_codes(truth, now.classes_)
        weights = check_weights(sample_weight, len(scores))
        found = predictions_from(now, scores, truth, weights.each)
        predicted = scores if several_quantiles(now) else found.predicted  # not sorted

        def of_rows(rows: Indices) -> dict[str, Any]:
            some = found._replace(truth=found.truth[rows], predicted=predicted[rows], weights=weights.each[rows])
            return some.record("conformalize")

        self._keep_record(check_largest(with_groups(groups, len(scores), weights.positive(), of_rows)))
        return self


class Classifier(Predictor):
    """Base of classifiers: labels of any sortable type, one output for two classes and one per class for more."""

    _unseen_rows = "`predict_set`"

    class_weight: Any
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags()
        return tags

    def _link(self) -> Link:
        """From scores to probabilities."""
        return LogisticLink()

    def _check_training(self, X: Any, y: Any, sample_weight: Any, eval_set: Any = None,
                        division: "Division | None" = None) -> "Training":
        """Check parameters and rows."""
        from .._rows.training_rows import check_labelled, with_class_weights

        self._check_params()
        try:
            training = self._checked(check_labelled, X, y, sample_weight, eval_set, division=division)
        except ContinuousLabelsError as error:
            name, class_name = regressor_beside(self.family)
            raise InvalidInputError(f"{error}, as {class_name}, on the command line --model {name}") from error
        return with_class_weights(training, self.class_weight)

    @classmethod
    def _params_for_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        weights = params["class_weight"]
        return params | {"class_weight": [*weights.items()]} if isinstance(weights, Mapping) else params

    @classmethod
    def _params_of_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        weights = params["class_weight"]
        return params | {"class_weight": dict(weights)} if isinstance(weights, list) else params

    def _losses_of_rows(self, X: Any, y: Any) -> Double:
        """The squared error of the probabilities of all classes (Brier)."""
        wrong = self.predict_proba(X) - (np.asarray(y)[:, None] == self.classes_)
        return (wrong**2).sum(axis=1)

    def decision_function(self, X: Any) -> Double:
        """Return the score H(x) of each row of X: its sign, or the largest of several, decides the label.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks

        Returns
        -------
        float64 array: (n_samples,) for two classes, positive for `classes_[1]`; (n_samples, n_classes) for more

        {raises}

        Notes
        -----
        Peak memory beside float32 or float64 rows X, in bytes, for n rows and k scores of each:

            array:  8 n k
            blocks: 16 n k
        """
        return of_outputs(self._snapshot()._raw_scores(X))

    def _labels_of(self, scores: Double) -> NDArray[Any]:
        """The most likely label of each row of scores (n_samples, n_outputs)."""
        if scores.size == 1:  # a tenth of the time
            one = int(scores.item() > 0)
            return self.classes_[one : one + 1].copy()
        chosen = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[chosen.astype(np.intp, copy=False)]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely label of each row of X.

        Labels have the dtype of those given to `fit`; text has a NumPy dtype of text.

        Notes
        -----
        Peak memory beside X, in bytes, for n rows, k scores of each and labels of v bytes:

            array:  n (8 k + 8 + v)
            blocks: n max(16 k, 8 k + 8 + v)
        """
        now = self._snapshot()
        return now._labels_of(now._raw_scores(X))

    def predict_proba(self, X: Any) -> Double:
        """Return class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`.

        With more than two classes they are those of one against the rest, scaled to sum to 1, or, of families that
        learn all classes at once, the softmax of the scores.  Those of GBRFF and PBRFF are not calibrated on held-out
        rows, as those of Fourier boosting, kernel ridge regression and sparse kernel machines are: scikit-learn's
        `CalibratedClassifierCV` does it.
        """
        now = self._snapshot()
        scores = now._raw_scores(X)
        return probabilities(now._link(), scores)

    def _answers(self, X: Any, with_proba: bool, coverage: float | None = None) -> tuple[NDArray[Any], Any, Any]:
        """What `predict`, `predict_proba` and, with a coverage, `predict_set` return, of rows that are scored once."""
        now = self._snapshot()
        scores = now._raw_scores(X)
        proba = probabilities(now._link(), scores) if with_proba or coverage is not None else None
        sets = None if proba is None or coverage is None else now._set_of(proba, coverage, None)
        return now._labels_of(scores), proba if with_proba else None, sets

    def predict_log_proba(self, X: Any) -> Double:
        """Return the logarithms of class probabilities, shape (n_samples, n_classes); -inf of a probability of 0.

        They are computed from the scores, and finite also where a logistic probability is too small for a number.
        """
        now = self._snapshot()
        scores = now._raw_scores(X)
        return log_probabilities(now._link(), scores)

    def predict_set(self, X: Any, coverage: float = 0.9, *, groups: Any = None) -> Mask:
        """Return for each row of X a set of labels that contains the true one with a probability of `coverage`.

        Parameters
        ----------
        {covered}

        Returns
        -------
        bool array of shape (n_samples, n_classes)
            Which labels are in the set, columns in the order of `classes_`: the most likely one, and all that are at
            least as likely as the true ones of a share `coverage` of rows that the model was not trained on.

        {raises_of_coverage}

        Notes
        -----
        The probability is that of a row drawn like those that the model was not trained on: the promise holds on
        average over rows, not for each of them, and neither for rows of a later time that differ, nor for classes or
        groups apart (docs/intervals.md).
        """
        now = self._snapshot()
        now._check_coverage(coverage)
        return now._set_of(now.predict_proba(X), coverage, groups)

    def _checked_truth(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Labels of so many rows."""
        labels = as_column(y, "y", n_rows)
        refuse_missing_labels(labels, "y")
        return labels

    def _set_of(self, proba: Double, coverage: float, groups: Any) -> Mask:
        """The same for probabilities."""
        from .conformal import label_sets, of_groups, record_for

        return of_groups(record_for(self), groups, proba, lambda part, rows: label_sets(part, rows, coverage))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the (weighted) share of rows of X whose label is predicted."""
        from .._rows.weights import check_weights  # which scoring rows of a file does not need

        now = self._snapshot()
        predicted = now.predict(X)
        y = now._checked_truth(y, len(predicted))
        if not np.isin(y, now.classes_).any():
            raise InvalidInputError(f"y must hold labels of the model, such as {now.classes_.tolist()[0]!r}, got "
                                    f"{y.tolist()[0]!r}")
        return float(check_weights(sample_weight, y.size).mean(predicted == y))


class Regressor(Predictor):
    """Base of regressors: one real target, or several as the columns of y."""

    _has_labels = False
    _unseen_rows = "`predict_interval`"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator."""
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        tags.target_tags.multi_output = True
        return tags

    def _check_params(self) -> None:
        super()._check_params()
        loss = getattr(self, "loss", None)
        for name, *_, reads in self._parameters:
            value = getattr(self, name)
            if reads is not None and loss != reads[0] and value != reads[1]:
                raise InvalidInputError(f"{name}={value!r} needs loss={reads[0]!r}, got loss={loss!r}")

    def _check_training(self, X: Any, y: Any, sample_weight: Any, eval_set: Any = None,
                        continues: bool | None = None, division: "Division | None" = None) -> "Training":
        """Check parameters and rows; a single row will do only where training goes on."""
        from .._rows.training_rows import check_with_targets

        self._check_params()
        check = partial(check_with_targets, n_threads=self.n_jobs, min_samples=1 if continues else 2)
        return self._checked(check, X, y, sample_weight, eval_set, continues, division)

    def _losses_of_rows(self, X: Any, y: Any) -> Double:
        """The squared error, its mean over several targets."""
        scores = self._predictions(X)
        with np.errstate(over="ignore"):
            found: Double = ((scores - np.reshape(y, scores.shape)) ** 2).mean(axis=1)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted targets at the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or RowBlocks

        Returns
        -------
        float64 array: (n_samples,) for one target, (n_samples, n_targets) for more

        {raises}
        """
        return of_outputs(self._snapshot()._predictions(X))

    def _predictions(self, X: Any) -> Double:
        """Targets that a snapshot predicts, shape (n_samples, n_targets)."""
        return self._targets_of(self._raw_scores(X))

    def _error_metric(self) -> tuple[str, float | None]:
        """The metric that judges predictions which are no quantiles: what the model minimises; power of a deviance."""
        return "rmse", None

    def _targets_of(self, scores: Double) -> Double:
        """Targets (n_samples, n_targets) from scores."""
        rule = self._target_rule()
        if rule == "means":
            return np.exp(np.minimum(scores, LARGEST_LOG))
        return scores.min(axis=1, keepdims=True) if rule == "least" else scores

    def _outputs_of(self, scores: Double) -> Double:
        """What intervals are put around: quantiles, or predictions (n_samples, n_outputs)."""
        return scores if several_quantiles(self) else self._targets_of(scores)

    def _answers(self, X: Any, with_proba: bool, coverage: float | None = None) -> tuple[NDArray[Any], None, Any]:
        """What `predict` and, with a coverage, `predict_interval` return, of rows that are scored once."""
        now = self._snapshot()
        scores = now._raw_scores(X)
        interval = None if coverage is None else now._interval_of(scores, coverage, None)
        return of_outputs(now._targets_of(scores)), None, interval

    def _n_targets(self) -> int:
        """Number of targets that intervals are for."""
        return 1 if several_quantiles(self) else self.expansion_.n_outputs

    def _checked_truth(self, y: Any, n_rows: int) -> Double:
        """Targets of so many rows, (n_rows, n_targets)."""
        values = check_targets(y, n_rows)
        if values.shape[1] != self._n_targets():
            raise InvalidInputError(f"y must have {self._n_targets()} targets, got {values.shape[1]}")
        return values

    def predict_interval(self, X: Any, coverage: float = 0.9, *, groups: Any = None) -> Double:
        """Return for each row of X an interval that contains its target with a probability of `coverage`.

        Parameters
        ----------
        {covered}

        Returns
        -------
        float64 array: (n_samples, 2) of lower and upper ends; (n_samples, n_targets, 2) for several targets, each of
        which is covered for itself

        {raises_of_coverage}

        Notes
        -----
        Below and above the interval lie equal shares of rows.  The probability is that of a row drawn like those that
        the model was not trained on: the promise holds on average over rows, not for each of them, and not for rows of
        a later time that differ (docs/intervals.md).
        """
        now = self._snapshot()
        now._check_coverage(coverage)
        return now._interval_of(now._raw_scores(X), coverage, groups)

    def _interval_of(self, scores: Double, coverage: float, groups: Any) -> Double:
        """The same for scores."""
        from .conformal import intervals, of_groups, record_for

        quantiles = several_quantiles(self)
        ends = of_groups(record_for(self), groups, self._outputs_of(scores),
                         lambda part, rows: intervals(part, rows, coverage, quantiles))
        if self._target_rule() == "means":
            ends = np.maximum(ends * (1 + _ROUNDING * np.array([-1.0, 1.0])), 0)
        return ends[:, 0] if ends.shape[1] == 1 else ends

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the (weighted) share of the variance of y that is predicted, its mean over several targets.

        It is 1 for a constant target predicted exactly, and 0 for one that is not.
        """
        from .._rows.weights import check_weights

        now = self._snapshot()
        predicted = now._predictions(X)
        values, weights = now._checked_truth(y, len(predicted)), check_weights(sample_weight, len(predicted))
        unit = np.maximum(np.abs(values).max(axis=0), np.abs(predicted).max(axis=0))
        unit[unit == 0] = 1.0
        values, predicted = values / unit, predicted / unit  # whose squares cannot overflow
        missed = weights.mean((values - predicted) ** 2)
        spread = weights.mean((values - weights.mean(values)) ** 2)
        constant = spread == 0
        return float(np.where(constant, missed == 0, 1 - missed / np.where(constant, 1.0, spread)).mean())


class StagedClassifier(Classifier):
    """A classifier that learns in rounds."""

    def staged_decision_function(self, X: Any) -> Iterator[Double]:
        """Yield `decision_function(X)` after each round kept; the last equals it up to rounding.

        Sparse machines that were read from a file raise TrainingStateError: it does not contain their rounds.
        """
        return map(of_outputs, self._snapshot()._staged(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield `predict(X)` after each round kept; the last equals it, except for ties decided by rounding."""
        now = self._snapshot()
        return map(now._labels_of, now._staged(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Double]:
        """Yield `predict_proba(X)` after each round kept; the last equals it up to rounding."""
        now = self._snapshot()
        return (probabilities(now._link(), scores) for scores in now._staged(X))


class StagedRegressor(Regressor):
    """A regressor that learns in rounds."""

    def staged_predict(self, X: Any) -> Iterator[Double]:
        """Yield `predict(X)` after each round kept; the last equals it up to rounding.

        Sparse machines that were read from a file raise TrainingStateError: it does not contain their rounds.
        """
        now = self._snapshot()
        return (of_outputs(now._targets_of(scores)) for scores in now._staged(X))
