"""RFFNet: random Fourier features of an ARD kernel with learned relevances (Otto and Izbicki, 2022)."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np

from ..._estimator.class_weights import with_class_weights
from ..._estimator.links import SoftmaxLink
from ..._estimator.parameters import CLASS_WEIGHT, CLASSES_, ClassWeight, MapOrNone
from ..._estimator.tasks import Classifier, Regressor
from ..._native.array_types import NDArray
from ..._protocol.arguments import Auto, Precision, RandomSource, check_rng
from ..._rows.training_rows import Training, check_more_labels
from ...errors import InvalidInputError
from .losses import Huber, Logistic, Loss, Pinball, ResidualLoss, Softmax, Squared
from .model import RFFNet
from .parameters import ATTRIBUTES, FEATURES, LOSS, STEPS, TRAINING, Density, Solver, reg_lambda
from .relevance import SelectionPath, score_columns
from .training import fit_network, partial_fit_network
from .training_state import state_to_continue

Double = NDArray[np.float64]


class RFFNetRegressor(RFFNet, Regressor):
    """Kernel regression on random Fourier features, with a learned relevance of each column.

    The model is f(x) = constant + sum over k of beta_k sqrt(2 / s) cos(omega_k . (lambda * x) + phi_k).  The
    omega_k are drawn from the spectral density of a kernel; lambda, the relevances, multiply the columns of x.
    These are random features of that kernel with a length scale 1 / lambda_j per column (automatic relevance
    determination).  Training minimises the mean loss plus mu |beta|^2 over beta and lambda by Algorithm 1 of M. P.
    Otto and R. Izbicki, RFFNet: Scalable and interpretable kernel methods via Random Fourier Features, 2022:
    mini-batch steps on beta and lambda in turn, with Adam's moments.  Targets are learned in units of their
    standard deviation; several targets share features and relevances.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    A step costs O(batch_size s n_features).  Rows of arrays are standardised batch by batch.  `numpy.memmap` and
    RowBlocks are read block by block and shuffled within blocks; the blocks of an array or memmap come in random order
    too.  Values beyond 10000 standard deviations of their column, which rows of equal weight cannot have, are clipped.

    Peak memory of `fit` beside X, in bytes, for n rows, d columns, k targets, h rows held out, batches of a rows, p
    terms, u = 4 in single precision and 8 in double, and b = max(2^20, 2048 d) numbers in a block:

        array:  (24 + 8 k) n + 8 (d + k) h + 16 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d
        blocks: (16 + 8 k) n + 8 (d + k) h + 8 b + 16 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d

    Sample weights take 9 n more.

    Departures from the paper: proximal steps use the metric of Adam's steps, so that they end where the objective is
    minimal; a constant is learned and not penalised; penalty and step size fall when the validation loss stops
    falling: a large penalty first finds the relevant columns, then a small one lets the model fit them closely.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import RFFNetRegressor
    >>> X = np.random.default_rng(0).standard_normal((1000, 5))
    >>> y = np.sin(2 * X[:, 1]) + X[:, 3] ** 2
    >>> model = RFFNetRegressor(random_state=0).fit(X[:800], y[:800])
    >>> bool(model.score(X[800:], y[800:]) > 0.9)
    True
    >>> sorted(model.select_top_k(2).tolist())
    [1, 3]
    """

    _parameters = (*FEATURES, *LOSS, *STEPS, reg_lambda(50, 0.05), *TRAINING)
    _attributes = ATTRIBUTES

    def __init__(self, n_components: int | None = None, *, kernel: Density = "gaussian",
                 loss: Literal["squared_error", "huber",
                               "quantile"] = "squared_error", delta: float = 1.35, quantile: float = 0.5,
                 solver: Solver = "alternating", learning_rate: float = 0.03, reg_lambda: float | Auto = "auto",
                 reg_l1: float = 0.0, batch_size: int = 32, max_epochs: int = 300,
                 early_stopping_rounds: int | None = 10, validation_fraction: float = 0.1,
                 n_restarts: int | None = None, warm_start: bool = False, standardize: bool = True,
                 precision: Precision = "single", columns: MapOrNone = "auto", random_state: RandomSource = None,
                 n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
        self.solver = solver
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.standardize = standardize
        self.precision = precision
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self) -> ResidualLoss:
        if self.loss == "huber":
            return Huber(self.delta)
        return Pinball(self.quantile) if self.loss == "quantile" else Squared()

    def _losses_of_rows(self, X: Any, y: Any) -> Double:
        return self._loss().of_rows(y, self._raw_scores(X))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
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
        TrainingStateError
            With `warm_start`, for a model read from a file.
        """
        rng = check_rng(self.random_state)
        training = self._check_training(X, y, sample_weight, eval_set,
                                        unmapped=self._held_out(y, sample_weight, eval_set, rng))
        self._keep(fit_network(self, training, self._loss(), callback, self._state_to_continue(training), rng))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Pass over some more rows once, with steps of `learning_rate` and the penalty `reg_lambda`.

        The first call, if there was no `fit`, chooses everything that depends on the rows: the number of features and
        the units of columns and of targets.  Give it many rows in random order.

        Parameters
        ----------
        {X}
        {targets}
        {weight_of_more_rows}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters, or rows that do not agree with the training so far.
        TrainingStateError
            For a model read from a file.
        """
        training = self._check_training(X, y, sample_weight, goes_on=True)
        self._keep(partial_fit_network(self, training, self._loss(), state_to_continue(self, training)))
        return self

    def selection_path(self, X: Any, y: Any, sizes: Iterable[int] | None = None,
                       sample_weight: Any = None) -> SelectionPath:
        """Score the model on its most relevant columns only, without training again.

        The other columns are held at their means.

        Parameters
        ----------
        {X_scored}
        {targets}
        {sizes}
        {weight_in_score}

        Returns
        -------
        SelectionPath
            sizes, columns (all of them, the most relevant first) and scores: R^2 with the first `sizes[i]` columns.
        """
        return score_columns(self, X, y, sizes, sample_weight)


def _loss_of_classes(training: Training) -> Loss:
    return Logistic() if training.center.size == 1 else Softmax()


class RFFNetClassifier(RFFNet, Classifier):
    """Kernel logistic regression on random Fourier features, with a learned relevance of each column.

    The scores are f(x) = constant + sum over k of beta_k sqrt(2 / s) cos(omega_k . (lambda * x) + phi_k).  The
    omega_k are drawn from the spectral density of a kernel; lambda, the relevances, multiply the columns of x.
    These are random features of that kernel with a length scale 1 / lambda_j per column (automatic relevance
    determination).  Two classes have one score and the loss ln(1 + exp(-y f)), y in {-1, +1}; more classes have one
    score each and the multinomial logistic loss, and their probabilities are the softmax of the scores.  Training
    minimises the mean loss plus mu |beta|^2 over beta and lambda by Algorithm 1 of M. P. Otto and R. Izbicki,
    RFFNet: Scalable and interpretable kernel methods via Random Fourier Features, 2022: mini-batch steps on beta
    and lambda in turn, with Adam's moments.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes, for n rows, d columns, h rows held out, batches of a rows, p terms,
    u = 4 in single precision and 8 in double, and b = max(2^20, 2048 d) numbers in a block:

        array:  40 n + 8 (d + 1) h + 16 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d
        blocks: 32 n + 8 (d + 1) h + 8 b + 16 2^18 + 2 u (p + 2 d) a + (3 u + 16) p d

    Sample weights take 9 n more.  The treatment of streamed rows and the departures from the paper are described in the
    notes of `RFFNetRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from rffkern import RFFNetClassifier
    >>> X = np.random.default_rng(0).standard_normal((1000, 5))
    >>> y = np.where(X[:, 1] ** 2 + X[:, 3] ** 2 > 1.5, "out", "in")
    >>> model = RFFNetClassifier(random_state=0).fit(X[:800], y[:800])
    >>> bool(model.score(X[800:], y[800:]) > 0.9)
    True
    """

    _parameters = (*FEATURES, *STEPS, reg_lambda(1, 0.001), *TRAINING[:-4], CLASS_WEIGHT, *TRAINING[-4:])
    _attributes = (CLASSES_, *ATTRIBUTES)

    def __init__(self, n_components: int | None = None, *, kernel: Density = "gaussian", solver: Solver = "alternating",
                 learning_rate: float = 0.03, reg_lambda: float | Auto = "auto", reg_l1: float = 0.0,
                 batch_size: int = 32, max_epochs: int = 300, early_stopping_rounds: int | None = 10,
                 validation_fraction: float = 0.1, n_restarts: int | None = None, warm_start: bool = False,
                 standardize: bool = True, precision: Precision = "single", class_weight: ClassWeight = None,
                 columns: MapOrNone = "auto", random_state: RandomSource = None, n_jobs: int | None = None,
                 verbose: int = 0) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.solver = solver
        self.learning_rate = learning_rate
        self.reg_lambda = reg_lambda
        self.reg_l1 = reg_l1
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.n_restarts = n_restarts
        self.warm_start = warm_start
        self.standardize = standardize
        self.precision = precision
        self.class_weight = class_weight
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> SoftmaxLink:
        return SoftmaxLink()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            callback: Callable[..., Any] | None = None) -> Self:
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
        TrainingStateError
            With `warm_start`, for a model read from a file.
        """
        rng = check_rng(self.random_state)
        training = self._check_training(X, y, sample_weight, eval_set,
                                        unmapped=self._held_out(y, sample_weight, eval_set, rng))
        self._keep(fit_network(self, training, _loss_of_classes(training), callback, self._state_to_continue(training),
                               rng))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Pass over some more rows once, with steps of `learning_rate` and the penalty `reg_lambda`.

        The first call, if there was no `fit`, chooses everything that depends on the rows: the classes, the number of
        features and the units of columns.  Give it many rows in random order.

        Parameters
        ----------
        {X}
        {labels}
        classes : array of shape (n_classes,) or None
            All labels that will occur, for the first call; None for those of its y.
        {weight_of_more_rows}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For bad arguments or parameters, or rows that do not agree with the training so far.
        TrainingStateError
            For a model read from a file.
        """
        self._check_params()
        known = getattr(self, "classes_", None)

        def check(X: Any, y: Any, sample_weight: Any) -> Training:
            return check_more_labels(X, y, classes, sample_weight, known)

        training = self._checked(check, X, y, sample_weight, goes_on=True)
        if self.class_weight == "balanced":
            raise InvalidInputError('class_weight must be a dict or None in partial_fit, which does not see all rows, '
                                    'got "balanced"')
        training = with_class_weights(training, self.class_weight)
        self._keep(partial_fit_network(self, training, _loss_of_classes(training), state_to_continue(self, training)))
        return self

    def selection_path(self, X: Any, y: Any, sizes: Iterable[int] | None = None,
                       sample_weight: Any = None) -> SelectionPath:
        """Score the model on its most relevant columns only, without training again.

        The other columns are held at their means.

        Parameters
        ----------
        {X_scored}
        {labels}
        {sizes}
        {weight_in_score}

        Returns
        -------
        SelectionPath
            sizes, columns (all of them, the most relevant first) and scores: the accuracy with the first `sizes[i]`
            columns.
        """
        return score_columns(self, X, y, sizes, sample_weight)
