"""Fourier boosting: a classifier and a regressor that need no tuning."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..._column_map.cells import NUMERIC
from ..._column_map.tables import RawColumn, as_given
from ..._estimator.base import Model, index_of
from ..._estimator.explanations import names_of, sources_of
from ..._estimator.inspection import (
    Interaction,
    MappedTable,
    PartialDependence,
    all_columns_read,
    check_term_rounds,
    interaction,
    interactions,
    partial_dependence,
    staged_scores,
)
from ..._estimator.links import SoftmaxLink, quantiles_of
from ..._estimator.parameters import CLASS_WEIGHT, CLASSES_, ClassWeight, MapOrNone, Parameter
from ..._estimator.tasks import StagedClassifier, StagedRegressor
from ..._model.expansion import Expansion
from ..._native.array_types import Double, NDArray
from ..._protocol.arguments import Auto, RandomSource, check_scalar, choice, number
from ..._rows.sparse_rows import SparseRows, is_sparse
from ..._rows.validation import check_array
from ...errors import InvalidInputError
from .parameters import (
    ARGUMENTS,
    ATTRIBUTES,
    BASE_LEARNERS,
    LOG_LINKS,
    LOSSES,
    MAX_BAGS,
    PARAMETERS,
    QUANTILES,
    BaseLearnerName,
    KernelRidgeReport,
    LossName,
    Validation,
    check_report_numbers,
    has_order,
    losses_with,
)

if TYPE_CHECKING:  # a model that scores loads no training
    from .bags import Callback



class _FourierBoosting(Model):
    """What the classifier and the regressor share.

    Methods that inspect a fitted model are of the scores of `expansion_`: of counts, logarithms of their means.  All
    but the staged ones take rows in memory: an array or a table, no RowBlocks.  Columns are named, or numbered from 0.
    """

    _parts = ()  # any
    _shrinks = True
    _fitted_curves = ("train_loss_", "eval_loss_", "feature_importances_", "bag_counts_", "term_rounds_",
                      "_kernel_ridge_report")
    _arguments = ARGUMENTS

    _rare_parameters = ("power", "monotone_constraints", "interaction_constraints", "max_samples", "warm_start",
                        "max_seconds")
    _auto_forms = "standard", "rank"
    _trial_params: ClassVar[dict[str, Any]] = {"n_bags": 1, "kernel_ridge": False, "loss": "squared_error",
                                               "monotone_constraints": None, "interaction_constraints": None}

    n_bags: int | None
    n_estimators_: int
    n_bags_: int
    feature_importances_: Double
    term_rounds_: Double
    warm_start: bool
    kernel_ridge: str | bool
    base_learners: Sequence[BaseLearnerName]
    monotone_constraints: Any
    interaction_constraints: Any
    _kernel_ridge_report: Double

    def _check_params(self) -> None:
        super()._check_params()
        if has_order(self.monotone_constraints) and not any(BASE_LEARNERS[name].keeps_order
                                                            for name in self.base_learners):
            keep_order = " or ".join(f'"{name}"' for name, facts in BASE_LEARNERS.items() if facts.keeps_order)
            raise InvalidInputError(f"base_learners must include {keep_order} where monotone_constraints give some "
                                    f"column an order, got {self.base_learners!r}: no other terms read such columns")
        if self.interaction_constraints is not None and self.kernel_ridge is True:
            raise InvalidInputError("kernel_ridge must be False or 'auto' with interaction_constraints, got True: it "
                                    "reads all columns together")

    def _checked(self, check: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any = None,
                 continues: bool | None = None, division: Any = None) -> Any:
        """Sparse rows of many columns stay sparse, and have no map, unless a parameter is for dense columns alone."""
        is_plain = (self.kernel_ridge is not True and not self.warm_start and self.monotone_constraints is None
                    and self.interaction_constraints is None and (self.columns is None or self.columns == "auto"))
        if is_plain and is_sparse(X):
            from .sparse_columns import check_sparse, n_dense_columns

            rows = SparseRows.of(X)
            if n_dense_columns(len(rows), rows.n_columns, rows.nnz) is not None:
                return check_sparse(check, rows, y, sample_weight, eval_set)
        return super()._checked(check, X, y, sample_weight, eval_set, continues, division)

    def _imputes(self) -> bool:
        return not has_order(self.monotone_constraints) and self.interaction_constraints is None

    @classmethod
    def _params_for_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        monotone, sets = params["monotone_constraints"], params["interaction_constraints"]
        if isinstance(sets, (list, tuple)):
            sets = [sorted(each, key=str) if isinstance(each, (set, frozenset)) else [*each] for each in sets]
        return super()._params_for_file(params) | {
            "monotone_constraints": [*map(list, monotone.items())] if isinstance(monotone, dict) else monotone,
            "interaction_constraints": sets}

    @classmethod
    def _params_of_file(cls, params: dict[str, Any]) -> dict[str, Any]:
        monotone = params["monotone_constraints"]
        if isinstance(monotone, list) and all(isinstance(entry, list) for entry in monotone):
            monotone = dict(monotone)
        return super()._params_of_file(params) | {"base_learners": tuple(params["base_learners"]),
                                                  "monotone_constraints": monotone}

    @property
    def kernel_ridge_report_(self) -> KernelRidgeReport:
        """Whether a kernel ridge regression is stacked on the terms, and why."""
        now: Any = self._snapshot()
        now._check_fitted()
        return KernelRidgeReport.of_numbers(now._kernel_ridge_report)

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        if any(array.ndim != 1 for array in arrays.values()) or len(arrays["train_loss_"]) != len(arrays["eval_loss_"]):
            raise ValueError("loss curves do not agree in number")
        n_rounds, counts = len(arrays["train_loss_"]) - 1, arrays["bag_counts_"]
        if len(counts) != n_rounds + 1 or not len(counts) or (counts != np.floor(counts)).any() or (
                np.diff(counts) > 0).any() or not 1 <= counts[-1] <= counts[0] <= MAX_BAGS:
            raise ValueError("bags and loss curves do not agree in number")
        n_kernels = 0 if expansion.kernels is None else expansion.kernels.n_terms
        check_term_rounds(arrays["term_rounds_"], n_rounds, expansion.n_terms - n_kernels)
        check_report_numbers(arrays["_kernel_ridge_report"], expansion.kernels is not None)
        return {"n_estimators_": n_rounds, "n_bags_": int(counts[0])}

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, eval_set: Any = None,
            eval_metric: Callable[..., Any] | None = None, callback: "Callback | None" = None) -> Self:
        """Learn from rows X and y, their labels or targets.

        {fit}
        TrainingStateError
            With `warm_start`, for a model read from a file or trained without it.
        """
        from .fit import fit

        with np.errstate(under="ignore"):  # of tiny weights
            self._keep(fit(self, X, y, sample_weight, groups, eval_set, callback, eval_metric))
        return self

    @property
    def interaction_pairs_(self) -> list[tuple[Any, Any]]:
        """The pairs of columns that a term, or the kernels, read together."""
        now = self._snapshot()
        now._check_fitted()
        reads = all_columns_read(now.expansion_, sources_of(now), now.n_features_in_).astype(np.float64)
        names = names_of(now).tolist()
        return [(names[j], names[k]) for j, k in np.argwhere(np.triu(reads.T @ reads, 1)).tolist()]

    def partial_dependence(self, X: Any, column: str | int, n_points: int = 20) -> PartialDependence:
        """Return the mean score of rows of X as a function of one column.

        It is sum_i H(x_i with this column set to v) / n for each value v (Friedman, 2001, "Greedy function
        approximation: a gradient boosting machine", equation 53).  The sum is over at most 500 rows, evenly spaced.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        column : str or int
        n_points : int in [1, 10000], default 20
            Number of values at most: all that X has, or its quantiles.  Missing values are one more value.

        Returns
        -------
        PartialDependence
            `values` (n_values,) in ascending order, a missing one last: numbers, dates in UTC, or text of categories;
            `scores` (n_values,), or (n_values, n_outputs) for several outputs.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw, or has no such column.
        """
        now = self._snapshot()
        check_scalar("n_points", n_points, int, 1, 10_000)
        table, index, column_map = MappedTable.of(now, X), index_of(now, "column", column), vars(now).get("column_map_")
        if column_map is None:
            raw = RawColumn(NUMERIC, check_array(X)[:, index].astype(np.float64))
        else:
            raw = column_map._fitted_map().read(X, type(now).__name__).columns[index]
        rows, scores = partial_dependence(table, index, raw.values, n_points)
        return PartialDependence(as_given(raw, rows), scores[:, 0] if scores.shape[1] == 1 else scores)

    def interaction_strength(self, X: Any, first: str | int, second: str | int) -> float | Double:
        """Return H^2, the share of the joint effect of two columns on the score that is not a sum of one of each.

        With F_j, F_k and F_jk the partial dependences, each less its mean, at the rows of X,
        H^2 = sum_i (F_jk(x_i) - F_j(x_i) - F_k(x_i))^2 / sum_i F_jk(x_i)^2 (Friedman and Popescu, 2008, "Predictive
        learning via rule ensembles", equation 44).  Departure: at most 60 rows x_i and means over at most 120, evenly
        spaced in X.  It is 0 where the columns have no effect.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        first, second : str or int

        Returns
        -------
        float, or array of shape (n_outputs,) for several outputs

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw, or the columns are not two of it.
        """
        now = self._snapshot()
        table = MappedTable.of(now, X)
        columns = [index_of(now, *each) for each in (("first", first), ("second", second))]
        if columns[0] == columns[1]:
            raise InvalidInputError(f"first and second must be two columns, got {first!r} twice")
        strength, _ = interaction(table, *columns)
        return float(strength[0]) if len(strength) == 1 else strength

    def interactions(self, X: Any, n_pairs: int = 10) -> list[Interaction]:
        """Return the pairs of columns that interact most.

        These are compared: pairs of the eight most important columns that some term reads together.  They are ranked by
        the numerator of H^2 (see `interaction_strength`), because H^2 is also large for pairs of hardly any effect.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
        n_pairs : int >= 1, default 10
            Number of pairs at most.

        Returns
        -------
        list of Interaction
            Each with `first` and `second`, names of columns, or their indices where `fit` saw no names; `strength`, H^2
            of all outputs together; and `size`, the root mean square of the part of the score that is not a sum.  The
            largest size comes first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If X is not what `fit` saw.
        """
        now = self._snapshot()
        check_scalar("n_pairs", n_pairs, int, 1)
        pairs = interactions(MappedTable.of(now, X), now.feature_importances_)
        names = names_of(now).tolist()
        return [Interaction(names[first], names[second], *rest) for first, second, *rest in pairs[:n_pairs]]

    def _staged(self, X: Any) -> Iterator[Double]:
        """Scores of a snapshot after each round."""
        self._check_fitted()
        rows = self.expansion_._scorer.clip(self._check_rows(X))
        return staged_scores(self.expansion_, self.term_rounds_, self.n_estimators_, rows, self.n_jobs)


class FourierBoostingClassifier(_FourierBoosting, StagedClassifier):
    """Gradient boosting with Fourier terms and symmetric trees, with nothing to tune.

    The model is the average of several boosted models, called bags; each holds out part of the rows for validation.
    Each round of a bag adds one term, fitted by one base learner: a Fourier term a cos(omega . x) + c sin(omega . x)
    over a few columns, whose frequencies omega are optimized by L-BFGS and whose amplitudes are those of least loss
    for that omega; or a symmetric (also called oblivious) tree, which has the same split in all nodes of a level and
    a value in each leaf.  Base learners are sampled in proportion to their recent improvement of the validation loss,
    columns by their relevance so far, and a bag ends when its validation loss stops falling.  Several classes share
    all terms.  Where it lowers the loss on out-of-fold rows, kernel ridge regression is stacked on the bags.  Scores
    are calibrated by temperature scaling on out-of-fold rows, with a factor from 0.5 to 2.  Columns are clipped near
    the range of the training rows before they are scored, see `Notes`.

    {parameters}

    Notes
    -----
    After mapping, each column is clipped to [min - m, max + m], where min and max are those of the training rows:
    `expansion_.lower` and `expansion_.upper`.  With "linear" among `base_learners`, m is the smaller one of
    (2 IQR)^2 / (max - min) and max - min; otherwise it is 0.  Standardised columns whose ranks are columns too, as by
    default, end at 3 IQR from the quartiles.

    Peak memory of `fit` in bytes, X itself not counted, with n the number of rows, those of `eval_set` included, d the
    columns after mapping, e those that are binned for trees (d without a map; with one, one for each raw column), k
    the outputs (1 for two classes), M the bags, t those that are trained at the same time, and m the smaller one of
    `max_samples` and n:

        array, blocks: n (4 d + e + 28 + 4 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)

    An array with a map takes n (12 d + e + 44) before the first round, if that is more.  Kernel ridge regression takes
    the following after the last round, if that is more, with L the smaller one of 512 and n / 8, and R = n for up to
    11,500 rows:

        kernel: n (16 d + e + 182 + 9 M) + R (4 L + 450 k) + 4 R max(R, 2048) + 64 L^2

    and a model with it holds 8 n (d + k).  For more rows, R is the number of training rows of the largest region (about
    8,000), and the model holds 1.2 to 1.6 times as much.

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

    family = "fourier_boosting"
    _parameters = (*PARAMETERS[:8], CLASS_WEIGHT, *PARAMETERS[8:])
    _attributes = (CLASSES_, *ATTRIBUTES)

    def __init__(self, n_estimators: int = 3000, *, n_bags: int | None = None, learning_rate: float | Auto = "auto",
                 base_learners: Sequence[BaseLearnerName] = ("fourier", "tree"), kernel_ridge: bool | Auto = "auto",
                 monotone_constraints: Mapping[Any, int] | Sequence[int] | None = None,
                 interaction_constraints: str | int | Sequence[Any] | None = None,
                 max_samples: int | None = 8192, class_weight: ClassWeight = None,
                 early_stopping_rounds: int | Auto | None = "auto", validation_fraction: float | Auto = "auto",
                 validation: Validation = "random", warm_start: bool = False, max_seconds: float | None = None,
                 columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.n_bags = n_bags
        self.learning_rate = learning_rate
        self.base_learners = base_learners
        self.kernel_ridge = kernel_ridge
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.validation = validation
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _link(self) -> SoftmaxLink:
        """From scores to probabilities."""
        return SoftmaxLink()


class FourierBoostingRegressor(_FourierBoosting, StagedRegressor):
    """Gradient boosting with Fourier terms, symmetric trees and linear terms for real targets, with nothing to tune.

    See `FourierBoostingClassifier`.  Several targets share all terms.  Each quantile is shifted at the end, so that its
    share of the out-of-fold rows lies below it.  `kernel_ridge` is for the squared error alone, because kernel
    ridge regression estimates means.

    {parameters}

    Notes
    -----
    Peak memory of `fit` beside X, in bytes and the letters of `FourierBoostingClassifier`, with k the targets:

        array, blocks: n (4 d + e + 20 + 12 k + 9 M) + t (n (4 d + 4 e + 8 + 40 k) + 4 (d + 2) m)

    A map takes what it takes there, and kernel ridge regression:

        kernel: n (16 d + e + 182 + 9 M) + R (4 L + 450 k) + 4 R max(R, 2048) + 64 L^2

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

    family = "fourier_boosting_regressor"
    _parameters = (
        PARAMETERS[0],
        Parameter("loss", choice(*LOSSES),
                  "; ".join(f'"{name}"{facts.text}' for name, facts in losses_with("identity").items())
                  + "; or half the deviance of targets whose mean is exp(f): "
                  + ", ".join(f'"{name}" {facts.text}' for name, facts in losses_with("log").items()) + "."),
        Parameter("quantile", QUANTILES,
                  'The quantile that the loss "quantile" estimates; others only take 0.5.  Several quantiles share '
                  "all terms: `predict_quantiles` returns all of them, and `predict` the first.", ("quantile", 0.5)),
        Parameter("power", number(float, 1.01, 1.99),
                  'The loss "tweedie" takes the variance of y to be proportional to its mean to this power; others '
                  "only take 1.5.", ("tweedie", 1.5)),
        *PARAMETERS[1:])
    _attributes = ATTRIBUTES

    def __init__(self, n_estimators: int = 3000, *,
                 loss: LossName = "squared_error", quantile: float | Sequence[float] = 0.5, power: float = 1.5,
                 n_bags: int | None = None,
                 learning_rate: float | Auto = "auto",
                 base_learners: Sequence[BaseLearnerName] = ("fourier", "tree", "linear"),
                 kernel_ridge: bool | Auto = "auto",
                 monotone_constraints: Mapping[Any, int] | Sequence[int] | None = None,
                 interaction_constraints: str | int | Sequence[Any] | None = None, max_samples: int | None = 8192,
                 early_stopping_rounds: int | Auto | None = "auto", validation_fraction: float | Auto = "auto",
                 validation: Validation = "random", warm_start: bool = False, max_seconds: float | None = None,
                 columns: MapOrNone = "auto",
                 random_state: RandomSource = None, n_jobs: int | None = None, verbose: int = 0) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.quantile = quantile
        self.power = power
        self.n_bags = n_bags
        self.learning_rate = learning_rate
        self.base_learners = base_learners
        self.kernel_ridge = kernel_ridge
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.max_samples = max_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.validation = validation
        self.warm_start = warm_start
        self.max_seconds = max_seconds
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted targets at the rows of X, of several quantiles the first."""
        return super().predict(X)

    def predict_quantiles(self, X: Any) -> Double:
        """Return the quantiles of the target at the rows of X, for the loss "quantile".

        Parameters
        ----------
        {X}

        Returns
        -------
        float64 array of shape (n_samples, n_quantiles)
            In the order of the parameter `quantile`.  Estimates of several quantiles that cross are put in ascending
            order (Chernozhukov, Fernandez-Val and Galichon, 2010, "Quantile and probability curves without crossing").

        Raises
        ------
        NotFittedError
            Before `fit`.
        InvalidInputError
            If the loss is another, the model has several targets, or X is not what `fit` saw.
        """
        now = self._snapshot()
        now._check_fitted()
        if now.expansion_.n_outputs != len(quantiles_of(now) or ()):
            raise InvalidInputError('predict_quantiles needs loss="quantile" and one target')
        return np.sort(now._raw_scores(X), axis=1)

    def _check_params(self) -> None:
        super()._check_params()
        if self.kernel_ridge is True and self.loss != "squared_error":
            raise InvalidInputError(f"kernel_ridge must be False or 'auto' for loss={self.loss!r}, got True: "
                                    "kernel ridge regression estimates means, by squared errors")

    def _error_metric(self) -> tuple[str, float | None]:
        facts = LOSSES[self.loss]
        return facts.metric, facts.parameter_of(self) if facts.metric == "deviance" else None

    def _target_rule(self) -> str:
        several = len(quantiles_of(self) or ()) > 1
        return "means" if self.loss in LOG_LINKS else "least" if several else "scores"

    def _restored(self, expansion: Expansion, arrays: Mapping[str, Double]) -> dict[str, Any]:
        quantiles = quantiles_of(self)
        if quantiles is not None and len(quantiles) not in (1, expansion.n_outputs):
            raise ValueError("quantiles and outputs do not agree in number")
        return super()._restored(expansion, arrays)
