"""Fourier boosting: a classifier and a regressor that need no tuning."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._columns.column_map import ColumnMap
from .._data.arguments import Choice, Number, RandomSource
from .._data.training_rows import TargetRows, Training
from .._estimator.base import Classifier, Model, Regressor
from .._estimator.links import SoftmaxLink
from .._estimator.parameters import CLASSES_, Parameter
from .._kernels import boost_losses
from ..errors import InvalidInputError
from ..expansion import Expansion
from ..term_expansion import TermExpansion
from .class_weights import ClassWeights, with_class_weights
from .fit import Callback, Pace, train
from .losses import ClassLoss, CountLoss, ValueLoss
from .parameters import ARGUMENTS, ATTRIBUTES, PARAMETERS

Double = NDArray[np.float64]

# Terms that a model may have, so that their number is exact.
_MOST_TERMS = 1 << 50

# Logarithm of the largest mean that is predicted: nothing is infinite.
_LARGEST_LOG = 709.0


class _FourierBoosting(Model):
    """What the classifier and the regressor share."""

    _expansion_form = TermExpansion
    _fitted_curves = ("train_loss_", "eval_loss_", "feature_importances_", "member_sizes_")
    _arguments = ARGUMENTS

    n_members: int | None

    def _automatic_map(self, X: Any, y: Any, sample_weight: Any, has_labels: bool) -> ColumnMap:
        """The map that `columns="auto"` stands for."""
        return ColumnMap(("standard", "rank"))

    @classmethod
    def _params_for_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        weights = params.get("class_weight")
        return params | {"class_weight": [*weights.items()]} if isinstance(weights, Mapping) else params

    @classmethod
    def _params_of_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        weights = params.get("class_weight")
        more = {"class_weight": dict(weights)} if isinstance(weights, list) else {}
        return params | {"kinds": tuple(params["kinds"])} | more

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double],
                  classes: NDArray[Any] | None) -> dict[str, Any]:
        if any(array.ndim != 1 for array in arrays.values()) or len(arrays["train_loss_"]) != len(arrays["eval_loss_"]):
            raise ValueError("loss curves do not agree in number")
        sizes = arrays["member_sizes_"]
        n_cosines = len(expansion.arrays()["omegas"])
        waves = n_cosines if expansion.n_outputs == 1 else n_cosines // 2  # a cosine and a sine for several outputs
        lines = sizes.sum() - (expansion.n_terms - n_cosines + waves)  # which the expansion holds as one
        if not len(sizes) or (sizes < 0).any() or (sizes != np.floor(sizes)).any() or not (
                0 <= lines <= _MOST_TERMS if expansion.arrays()["slopes"].any() else lines == 0):
            raise ValueError("members and terms do not agree in number")
        return super()._restored(expansion, arrays, classes) | {"n_estimators_": int(sizes.sum()),
                                                                "n_members_": len(sizes)}


class FourierBoostingClassifier(_FourierBoosting, Classifier):
    """Gradient boosting of waves and tables, with nothing to tune.

    The score of a row is the mean of those of several members.  A member adds terms of two kinds, one in a round: a
    pair a cos(omega . x) + c sin(omega . x) over a few columns, with omega by descent and the amplitudes that are the
    best for each omega; and a table, in which thresholds on a few columns choose a cell that holds a value.  The kind
    is drawn by what it has gained on rows that the member holds out, columns by what they have been good for, and the
    member ends when the log loss of these rows falls no further.  Several classes share all terms.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns after mapping, e of them with codes (d without a map,
    and with one a form of each column), k outputs (1 for two classes), M members of which t are trained at once, and
    m = `max_samples`, at most n:

        array:  n (4 d + e + 28 + 4 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)
        blocks: n (4 d + e + 28 + 4 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)

    An array with a map takes n (12 d + e + 44) before the rounds, if that is more.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import FourierBoostingClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other")
    >>> model = FourierBoostingClassifier(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    _parameters = (*PARAMETERS[:6], Parameter(
        "class_weight", ClassWeights(), 'Factor on the weights of the rows of each label; "balanced" gives all classes '
        "the same sum of weights.  None: 1."), *PARAMETERS[6:])
    _attributes = (CLASSES_, *ATTRIBUTES)

    def __init__(self, n_estimators: int = 3000, *, n_members: int | None = None, learning_rate: str | float = "auto",
                 reg_lambda: str | float = "auto", kinds: Sequence[str] = ("waves", "tables"),
                 max_samples: int | None = 16384, class_weight: Any = None,
                 early_stopping_rounds: str | int | None = "auto", validation_fraction: str | float = "auto",
                 columns: Any = "auto", random_state: RandomSource = None, n_threads: int | None = None,
                 verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_members = n_members
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.kinds = kinds
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.columns = columns
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def _link(self) -> SoftmaxLink:
        """From scores to probabilities."""
        return SoftmaxLink()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callback | None = None) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        {X}
        {labels}
        {sample_weight}
        {eval_set}
        {callback}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        self._check_params()
        training = with_class_weights(self._check_training(X, y, sample_weight, eval_set), self.class_weight)
        n_classes = training.rows.n_classes
        pace = Pace(1.0, 1.0, 0.01) if n_classes == 2 else Pace(2.0, 4.0, 0.01)
        handed_over = [training]  # so that training can let go of mapped rows
        del training
        self._keep(train(self, handed_over.pop(), ClassLoss(n_classes), pace, callback))
        return self


class FourierBoostingRegressor(_FourierBoosting, Regressor):
    """Gradient boosting of waves and tables for real targets, with nothing to tune.

    See `FourierBoostingClassifier`.  Several targets share all terms.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns after mapping, e of them with codes (d without a map,
    and with one a form of each column), k targets, M members of which t are trained at once, and m = `max_samples`,
    at most n:

        array:  n (4 d + e + 20 + 12 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)
        blocks: n (4 d + e + 20 + 12 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)

    An array with a map takes n (12 d + e + 44) before the rounds, if that is more.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import FourierBoostingRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, (400, 3))
    >>> y = np.sin(2 * X[:, 1]) + X[:, 0] ** 2
    >>> model = FourierBoostingRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.95)
    True
    """

    _parameters = (
        PARAMETERS[0],
        Parameter("loss", Choice(("squared", "huber", "quantile", "poisson")),
                  "(y - f)^2 / 2; Huber's, the same up to |y - f| = delta and linear beyond; that of a quantile of y; "
                  "or that of counts y >= 0, whose mean is exp(f)."),
        Parameter("delta", Number(float, 0, 1e10, open_low=True),
                  "Where Huber's loss becomes linear, in units of the standard deviation of y."),
        Parameter("quantile", Number(float, 1e-6, 1 - 1e-6), 'The quantile that the loss "quantile" estimates.'),
        *PARAMETERS[1:])
    _attributes = ATTRIBUTES

    def __init__(self, n_estimators: int = 3000, *, loss: str = "squared", delta: float = 1.35, quantile: float = 0.5,
                 n_members: int | None = None, learning_rate: str | float = "auto", reg_lambda: str | float = "auto",
                 kinds: Sequence[str] = ("waves", "tables", "lines"), max_samples: int | None = 16384,
                 early_stopping_rounds: str | int | None = "auto", validation_fraction: str | float = "auto",
                 columns: Any = "auto", random_state: RandomSource = None, n_threads: int | None = None,
                 verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
        self.n_members = n_members
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.kinds = kinds
        self.max_samples = max_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.columns = columns
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callback | None = None) -> Self:
        """Learn from rows X and targets y.

        Parameters
        ----------
        {X}
        {targets}
        {sample_weight}
        {eval_set}
        {callback}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters; the message names which.
        """
        training = self._check_training(X, y, sample_weight, eval_set)
        loss: Any = CountLoss()
        if self.loss == "poisson":
            training = _as_counts(training)
        else:
            kernels = {"squared": (boost_losses.SQUARED, 0.0), "huber": (boost_losses.HUBER, self.delta),
                       "quantile": (boost_losses.QUANTILE, self.quantile)}
            loss = ValueLoss(*kernels[self.loss])
        handed_over = [training]  # so that training can let go of mapped rows
        del training
        self._keep(train(self, handed_over.pop(), loss, Pace(1.0, 2.0, 0.05), callback))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted targets at the rows of X, of counts their means."""
        scores = super().predict(X)
        return np.exp(np.minimum(scores, _LARGEST_LOG)) if self.loss == "poisson" else scores


def _as_counts(training: Training) -> Training:
    """Training rows with targets in units of their mean, in which single precision can hold large and small counts.

    The scores are then less the logarithm of the mean.
    """
    unit = float(training.center[0]) if training.center[0] > 0 else 1.0
    parts = [None if part is None else part._replace(values=_counts(training, part, unit))
             for part in (training.rows, training.evaluation)]
    one = np.ones(1)
    return training._replace(rows=parts[0], evaluation=parts[1], center=math.log(unit) * one, scale=one,
                             inverse_scale=one)


def _counts(training: Training, part: TargetRows, unit: float) -> Double:
    """Targets in some unit, which must be at least 0."""
    if part.values.shape[1] > 1:
        raise InvalidInputError(f"y must be one target for loss='poisson', got {part.values.shape[1]}")
    scale = np.where(training.inverse_scale > 0, training.scale, 0.0) / unit
    values = training.center / unit + scale * part.values
    if values.min() < -1e-9 * np.abs(values).max():  # beyond rounding
        raise InvalidInputError(f"y must be >= 0 for loss='poisson', got {unit * values.min():.6g}")
    return np.maximum(values, 0)
