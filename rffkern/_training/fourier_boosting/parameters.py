"""Parameters and attributes that both classes share, and what follows from them and from the number of rows."""

import itertools
import math
from enum import IntEnum
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from ..._estimator import parameters as shared
from ..._estimator.parameters import Attribute, Parameter, eval_sets
from ..._native.array_types import Double
from ..._protocol.arguments import Check, choice, distinct, number
from ...errors import InvalidInputError
from ..kernel_ridge.regions import MOST_ROWS

MAX_BAGS = 1000
Validation: TypeAlias = Literal["random", "last"]
BaseLearnerName: TypeAlias = Literal["fourier", "tree", "linear"]
LossName: TypeAlias = Literal["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
Link: TypeAlias = Literal["softmax", "log", "identity"]

# Kernel ridge regression is kept where it lowers the validation loss by this share, and by so many standard errors of
# the mean difference: the fewer where length scales, too, are those of other rows than the loss is of (cross-fitting).
LEAST_SHARE, STANDARD_ERRORS, CROSS_FITTED_STANDARD_ERRORS = 0.01, 1.0, 0.5

# Length scales of values are searched on so many rows at most.  Of a table that has no more, the search has seen all
# rows that could judge it: these tables are cross-fitted.
MOST_SEARCHED = 600

# Fewer rows cannot be divided into folds.
FEWEST_ROWS = 10

# What "auto" tries it for: columns for each row, since relevances of more, which all rows have chosen, suit held-out
# rows by chance; operations that computing the kernels of n rows of d columns takes where they are learned from
# together, n^2 (2 d + 16); and numbers n d, which the model holds.
COLUMNS_PER_ROW, MOST_WORK, MOST_NUMBERS = 4, 5e10, 5_000_000

# The share of the rows that bags of trees alone hold out at least, beside linear functions.
_LEAST_HELD_OUT = 0.8

# The default number of bags of up to 1,000 rows.
_MOST_BAGS = 10

# Share of the first validation loss by which that of classes must fall in `patience` rounds: where classes are
# separable, it falls for ever.
_LEAST_FALL = 3e-4

# Any number of rows.
_ALL_ROWS = 1 << 62

# Numbers of classes up to which bags are as many as for two, and from which on they are four tenths.
_MANY_CLASSES = 25, 200

# Of a loss, on up to 1,000 rows and from 30,000 on: factors on the rates of Fourier terms and of trees, and how many
# times itself a rate may grow to; and the ridge of the amplitudes of Fourier terms.  Where a loss is far from its
# minimum, as with several classes, few rows bear large steps; many do not: of 30,000 rows in four classes a rate of
# trees of 0.96 had 0.16 more log loss than one of 0.12.
LOSS_RATES = {
    "log_loss": ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), 0.01),
    "softmax": ((2.0, 4.0, 1.0), (0.6, 1.2, 1.0), 0.01),
    "values": ((1.0, 2.0, 4.0), (0.8, 1.5, 1.0), 0.05),
    "quantile": ((2.0, 4.0, 1.0), (1.0, 2.0, 1.0), 0.05),
}


class LossFacts(NamedTuple):
    """What is known of a loss: all that training, links and descriptions ask."""

    kernel: str  # of `LOSSES` of the compiled kernels, which have its gradient and Hessian
    link: Link  # of scores: to probabilities, logarithms of means, or values
    text: str = ""  # behind its name, for users
    parameter: float | str = 0.0  # of the kernel: a number, or the parameter of the model with one or several
    start: Literal["mean", "median", "quantile"] = "mean"  # of targets, from which scores begin
    rates: str = "values"  # of `LOSS_RATES`
    has_unit_hessian: bool = False  # h = 1: Fourier and linear terms are least squares, whose best step is 1
    allows_stacking: bool = False  # of kernel ridge regression, which estimates means
    metric: Literal["rmse", "mae", "deviance"] = "rmse"  # of predictions that are no quantiles
    scales_with_spread: bool = False  # whether the parameter is times a robust standard deviation of the target

    def parameter_of(self, model: Any) -> float:
        """The parameter of the kernel, where it is one number."""
        return float(getattr(model, self.parameter) if isinstance(self.parameter, str) else self.parameter)


LOSSES: dict[LossName, LossFacts] = {
    "squared_error": LossFacts("squared", "identity", ", (y - f)^2 / 2", has_unit_hessian=True, allows_stacking=True),
    "absolute_error": LossFacts("quantile", "identity", ", |y - f| / 2, which estimates the median", 0.5, "quantile",
                                "quantile", metric="mae"),
    # 1.35 is 95 % efficient for normal targets.
    "huber": LossFacts("huber", "identity",
                       ", the squared error up to |y - f| = 1.35 s and linear beyond, with s 1.4826 times the median "
                       "distance of y from its median, the standard deviation of a normal target", 1.35, "median",
                       has_unit_hessian=True, metric="mae", scales_with_spread=True),
    "quantile": LossFacts("quantile", "identity", "", "quantile", "quantile", "quantile", metric="mae"),
    # Of these the parameter is the power of the mean to which the variance is proportional.
    "poisson": LossFacts("poisson", "log", "for counts", 1.0, metric="deviance"),
    "gamma": LossFacts("tweedie", "log", "for positive targets whose standard deviation grows with their mean", 2.0,
                       metric="deviance"),
    "tweedie": LossFacts("tweedie", "log", "for targets >= 0 of which many are 0", "power", metric="deviance"),
}
OF_TWO_CLASSES = LossFacts("logistic", "softmax", rates="log_loss", allows_stacking=True)
OF_CLASSES = LossFacts("softmax", "softmax", rates="softmax", allows_stacking=True)


def losses_with(link: Link) -> dict[LossName, LossFacts]:
    """Losses of regressors with a link."""
    return {name: facts for name, facts in LOSSES.items() if facts.link == link}


LOG_LINKS = *losses_with("log"),


class BaseLearnerFacts(NamedTuple):
    """What is known of a base learner: all that checks, descriptions and rounds ask but how it is fitted."""

    description: str  # of what a round adds, for users
    shrinkage: str  # beside that of Fourier terms, for users; "" for these
    relevance: str  # of a column, for users: what is summed over its terms
    takes_best_step: bool = True  # along its terms; leaf values of trees are Newton steps already
    extrapolates: bool = False  # whether its terms follow a trend beyond the training rows, for a part of their range
    keeps_order: bool = False  # whether its terms may read columns along which scores only rise or only fall


# Linear functions take larger steps: columns are few beside rows, or have a ridge, and smaller steps are many rounds
# for what one round says.
LINEAR_RATE = 3.0

BASE_LEARNERS: dict[BaseLearnerName, BaseLearnerFacts] = {
    "fourier": BaseLearnerFacts("a cosine and a sine over some columns", "", "(amplitude * omega)^2 of Fourier terms"),
    "tree": BaseLearnerFacts(
        "a symmetric (also called oblivious) tree of a few thresholds",
        "The rate of trees is a sixth of it for up to 1,000 rows and three fifths for 30,000 or more.",
        "the gains of splits of trees", takes_best_step=False, keeps_order=True),
    "linear": BaseLearnerFacts(
        "a linear function of all columns",
        f"The rate of linear functions is {LINEAR_RATE:g} times that of Fourier terms, at most 1.",
        "squared coefficients of linear functions", extrapolates=True),
}


class Hyperparameters(NamedTuple):
    """Sizes and rates of a fit."""

    n_bags: int
    n_folds: float  # 1 / the share of the rows that a bag holds out for validation; any number from 2 on
    patience: int | None  # rounds without a lower validation loss, after which a bag ends
    max_depth: int  # of trees
    samples_outputs: bool  # whether splits of a tree are searched for some of many outputs, drawn for each tree
    fourier_rate: float  # share of the best step that a Fourier or linear term takes
    tree_rate: float
    reg_lambda: float  # weight of |omega|^2 for a Fourier term of scale 1
    amplitude_ridge: float = 0.0
    rate_growth: float = 1.0  # times the first rate of a base learner, which its rate grows to
    max_samples: int = _ALL_ROWS  # rows of the descent of a Fourier term
    n_tree_bags: int = 0  # of the bags, the last, whose rounds add trees alone
    least_fall: float = 0.0  # share of the first validation loss by which it must fall in `patience` rounds


def _between(low: float, high: float, share: float) -> float:
    """The value at a share of the way from one to the other, on a logarithmic scale."""
    return low * (high / low) ** min(max(share, 0.0), 1.0)


def _size(n_rows: int) -> float:
    """0 at 1,000 rows, 1 at 30,000."""
    return math.log(n_rows / 1000) / math.log(30)


def defaults_for(n_rows: int) -> Hyperparameters:
    """What a fit on so many rows takes: one rule, without breaks from a hundred rows to ten million.

    More rows take larger steps, because rounds are what costs time, hold out a smaller share, and need fewer bags.
    """
    small = math.log(n_rows / 1000) / math.log(3)  # 0 at 1,000 rows, 1 at 3,000
    large = math.log(n_rows / 3000) / math.log(10)  # 0 at 3,000 rows, 1 at 30,000
    n_bags = _between(_MOST_BAGS, 5, small)
    n_bags *= _between(1, 0.4, math.log(n_rows / 5000) / math.log(6))  # 2 at 30,000 rows
    n_bags *= _between(1, 0.5, large - 1)  # 1 from 300,000 on
    return Hyperparameters(
        n_bags=round(n_bags),
        n_folds=round(_between(5, 10, large)),
        patience=round(_between(100, 200, small)),
        max_depth=round(min(max(7.2 + 1.5 * math.log2(n_rows / 6000), 3), 12)),
        samples_outputs=False,
        fourier_rate=_between(0.15, 0.2, _size(n_rows)),
        tree_rate=_between(0.025, 0.12, _size(n_rows)),
        reg_lambda=0.6 / n_rows,
    )


def resolve_hyperparameters(model: Any, n_rows: int, loss: str, n_outputs: int = 1) -> Hyperparameters:
    """The defaults for so many rows, with what the parameters say, and the rates of a loss.

    A round takes time in proportion to the number of classes.  Of more than 25 fewer bags do: of 50, 100 and 200
    classes with 6 to 10 rows each the log loss rose by -.026 to .019 on two problems, in half the time.
    """
    sizes = defaults_for(n_rows)
    if loss == "softmax":
        fewer = _between(1, 0.4, math.log(n_outputs / _MANY_CLASSES[0]) / math.log(_MANY_CLASSES[1] / _MANY_CLASSES[0]))
        sizes = sizes._replace(n_bags=max(1, round(fewer * sizes.n_bags)))
    if model.n_bags is not None:
        sizes = sizes._replace(n_bags=model.n_bags)
    if model.validation_fraction != "auto":
        n_folds = 1 / float(model.validation_fraction)
        is_whole = abs(n_folds - round(n_folds)) < 1e-9 * n_folds  # 1 / (1 / 49) is not 49 in floating point
        sizes = sizes._replace(n_folds=round(n_folds) if is_whole else n_folds)
    if not isinstance(model.early_stopping_rounds, str):
        sizes = sizes._replace(patience=model.early_stopping_rounds)
    elif loss in ("log_loss", "softmax"):
        sizes = sizes._replace(least_fall=_LEAST_FALL)
    if model.learning_rate != "auto":
        factor = float(model.learning_rate) / sizes.fourier_rate
        sizes = sizes._replace(fourier_rate=sizes.fourier_rate * factor, tree_rate=sizes.tree_rate * factor)
    few, many, ridge = LOSS_RATES[loss]
    fourier, tree, growth = (_between(*ends, _size(n_rows)) for ends in zip(few, many, strict=True))
    return sizes._replace(n_folds=max(2, min(sizes.n_folds, n_rows)), fourier_rate=fourier * sizes.fourier_rate,
                          tree_rate=tree * sizes.tree_rate, amplitude_ridge=ridge, rate_growth=growth,
                          samples_outputs=loss == "softmax", max_samples=model.max_samples or _ALL_ROWS)


def with_tree_bags(model: Any, sizes: Hyperparameters) -> Hyperparameters:
    """Sizes with half of the bags of trees alone, where rows enough are held out by bags of either kind.

    Those are all rows, but beside linear functions four fifths: a line carries a row that is far out further than the
    targets of any like it.  As bags of trees take half of the time, there are then two thirds of the number of bags of
    either kind.
    """
    learners, n_bags, least_share = {*model.base_learners}, sizes.n_bags, 1.0
    if "linear" in learners:
        least_share = _LEAST_HELD_OUT
        if model.n_bags is None:
            n_bags = min(2 * (2 * n_bags // 3), _MOST_BAGS)
    if n_bags // 2 < least_share * sizes.n_folds or not {"tree"} < learners:
        return sizes
    return sizes._replace(n_bags=n_bags, n_tree_bags=n_bags // 2)


class Reason(IntEnum):
    """Why kernel ridge regression is used or not; the numbers are those of files."""

    OFF = 0
    LOSS = 1
    FEW = 2
    MANY = 3
    STOPPED = 4
    LITTLE = 5
    MEMORY = 6
    CONSTRAINTS = 7
    GAINS = 8
    ASKED = 9
    SPARSE = 10
    FEATURES = 11


_SENTENCES = {
    Reason.OFF: "not used: kernel_ridge=False",
    Reason.LOSS: "not used: the loss is neither log loss nor squared error",
    Reason.FEW: f"not used: fewer than {FEWEST_ROWS} rows, or more than {COLUMNS_PER_ROW} columns after mapping for "
                "each row",
    Reason.MANY: f"not used: n d above {MOST_NUMBERS:.0e} for n rows of d mapped columns, or n^2 (2 d + 16) above "
                 f"{MOST_WORK:.0e} for up to {MOST_ROWS} rows",
    Reason.STOPPED: "not used: the callback or max_seconds ended the fit",
    Reason.LITTLE: "not used: validation loss of {n_rows:,} rows {without:.6g} without it, {loss:.6g} with it, "
                   "which is not low enough",
    Reason.GAINS: "used: validation loss of {n_rows:,} rows {without:.6g} without it, {loss:.6g} with it",
    Reason.MEMORY: "not used: the rows of all partitions do not fit in the memory of the client",
    Reason.CONSTRAINTS: "not used: interaction_constraints, or monotone_constraints of all columns",
    Reason.SPARSE: "not used: the rows are sparse, of many columns",
    Reason.ASKED: "used: kernel_ridge=True; validation loss of {n_rows:,} rows {without:.6g} without it, {loss:.6g} "
                  "with it",
    Reason.FEATURES: "used, on random Fourier features with a Mahalanobis distance: validation loss of {n_rows:,} rows "
                     "{without:.6g} without it, {loss:.6g} with it",
}
_WITH_KERNELS = (Reason.GAINS, Reason.ASKED)


class KernelRidgeReport(NamedTuple):
    """Whether kernel ridge regression is stacked on the terms, and why; numbers are None where it was not tried."""

    kept: bool
    reason: str  # a sentence
    loss_without: float | None  # mean loss of the rows that neither it nor the terms have learned from
    loss_with: float | None
    length_scale_factor: float | None  # by which 1 / sqrt(relevance) of a column is multiplied; None with a matrix
    reg_lambda: float | None
    n_rows: int | None  # of which these are the losses, and which decided

    @classmethod
    def of_numbers(cls, numbers: Double) -> Self:
        """The report of the numbers in a file: reason, both losses, scale of relevances, lambda and rows."""
        reason, without, loss, scale, reg_lambda, n_rows = numbers.tolist()
        kept = reason in (*_WITH_KERNELS, Reason.FEATURES)
        sentence = _SENTENCES[Reason(int(reason))].format(without=without, loss=loss, n_rows=int(n_rows))
        if not n_rows:
            return cls(kept, sentence, None, None, None, None, None)
        return cls(kept, sentence, without, loss, scale**-0.5 if scale else None, reg_lambda, int(n_rows))


def report_numbers(reason: Reason, loss_without: float = 0.0, loss_with: float = 0.0, scale: float = 0.0,
                   reg_lambda: float = 0.0, n_rows: int = 0) -> Double:
    """The numbers of a report, for a file; zeros where kernel ridge regression was not tried."""
    return np.array([reason, loss_without, loss_with, scale, reg_lambda, n_rows], dtype=np.float64)


def check_report_numbers(numbers: Double, has_kernels: bool) -> None:
    """ValueError for numbers of a file that no report can have."""
    if numbers.shape != (6,) or numbers[0] not in list(Reason) or (
            (numbers[0] in _WITH_KERNELS) != has_kernels) or (numbers < 0).any():
        raise ValueError("the report on kernel ridge is malformed")


def _check_quantiles(name: str, value: Any) -> None:
    """Accept a quantile, or several in ascending order."""
    several = value if isinstance(value, (tuple, list)) else (value,)
    if isinstance(value, str):
        raise InvalidInputError(f"{name} must be a number, or several in ascending order, such as "
                                f"[0.1, 0.5, 0.9], got {value!r}")
    for each in several:
        _QUANTILE(name, each)
    if not len(several) or any(a >= b for a, b in itertools.pairwise(several)):
        raise InvalidInputError(f"{name} must be a number, or several in ascending order, got {value!r}")


QUANTILES = Check("float in [1e-06, 0.999999], or several in ascending order", _check_quantiles)


def _check_monotone_constraints(name: str, value: Any) -> None:
    """Accept an order of some columns, or of each."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    is_dict = isinstance(value, dict)
    signs = [*value.values()] if is_dict else value
    if value is not None and (not isinstance(signs, (list, tuple)) or not all(map(_is_integer, signs))
                              or not {*signs} <= {-1, 0, 1} or (is_dict and not all(map(_is_column, value)))):
        raise InvalidInputError(f"{name} must be a dict such as {{'age': 1, 'price': -1}}, a list with -1, 0 or 1 "
                                f"for each column, or None, got {value!r}")


MONOTONE_CONSTRAINTS = Check(
    "dict from names or indices of columns to -1, 0 or 1, sequence of these for all columns, or None",
    _check_monotone_constraints)


def _check_interaction_constraints(name: str, value: Any) -> None:
    """Accept sets of columns, a word for some, or a number of pairs."""
    if value is None or (isinstance(value, str) and value in ("no_interactions", "pairwise")) or (
            _is_integer(value) and value >= 0):
        return
    if not isinstance(value, (list, tuple)) or not value or not all(
            isinstance(each, (list, tuple, set, frozenset)) and each and all(map(_is_column, each))
            for each in value):
        raise InvalidInputError(f"{name} must be 'no_interactions', 'pairwise', a number of pairs >= 0, a list of "
                                f"sets of columns such as [['age', 'price'], ['size']], or None, got {value!r}")


INTERACTION_CONSTRAINTS = Check(
    '"no_interactions", "pairwise", int >= 0, sequence of sets of names or indices of columns, or None',
    _check_interaction_constraints)


def _is_integer(entry: Any) -> bool:
    return isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)


def _is_column(entry: Any) -> bool:
    """Whether it may be the name or the index of a column."""
    return isinstance(entry, str) or _is_integer(entry)


def has_order(monotone_constraints: Any) -> bool:
    """Whether the parameter gives some column an order."""
    given = monotone_constraints
    return given is not None and any(given.values() if isinstance(given, dict) else given)


_QUANTILE = number(float, 1e-6, 1 - 1e-6)

PARAMETERS = (
    shared.N_ESTIMATORS.described("Largest number of rounds of a bag."),
    Parameter("n_bags", number(int, 1, MAX_BAGS, optional=True),
              "Number of bags, boosted models whose mean is the model.  If None, it depends on the number of rows: 10 "
              "for up to 1,000, 5 for 3,000 to 5,000, 2 for 30,000, 1 for 300,000 or more, and in between in "
              "proportion.  With more than 25 classes there are fewer, down to 40 % for 200 classes or more.  The "
              "second half of the bags adds trees alone if there are at least twice as many bags as folds, such as "
              "10 bags and 5 folds; their weight in the mean is chosen on held-out rows.  With linear functions, as "
              "regression has by default, 8 bags and 5 folds will do, and between 1,000 and 2,500 rows there are two "
              "thirds of the default number of either kind."),
    Parameter("learning_rate", number(float, 0, 1, open_low=True, word="auto"),
              'Shrinkage of Fourier terms.  "auto" is 0.15 for up to 1,000 rows and 0.2 for 30,000 or more, '
              "interpolated in between.  "
              + "  ".join(each.shrinkage for each in BASE_LEARNERS.values() if each.shrinkage)
              + "  With more than two classes, and by the loss of regressors, all rates are multiplied by 0.6 to 4.  "
              "Those of regressors, but for quantiles and absolute errors, grow up to fourfold in late rounds if rows "
              "are few.  docs/algorithms/fourier_boosting.md has the table."),
    Parameter("base_learners", distinct("base_learners", (*BASE_LEARNERS,)),
              "What rounds may add: "
              + "; ".join(f'"{name}", {each.description}' for name, each in BASE_LEARNERS.items())
              + ".  They are sampled in proportion to their recent improvement of the validation loss."),
    Parameter("kernel_ridge", choice("auto", True, False),
              'Whether a kernel ridge regression is stacked on the bags: sum over training rows i of a_i k(r), with '
              'r^2 the sum over columns of ((x_l - x_il) / length_scale_l)^2, and k(r) either exp(-r) or '
              'exp(-r^2 / 2), whichever predicts held-out rows better.  If "auto", it is tried on tables of at least '
              f'{FEWEST_ROWS} rows and at most {MOST_NUMBERS:,} numbers after mapping, and kept if it lowers the loss '
              f'of rows that neither it nor the bags were trained on by {LEAST_SHARE:.0%} and by a standard error, or '
              f'by half of one for values of at most {MOST_SEARCHED} rows, whose length scales are then chosen '
              'without these rows, too.  If '
              'True, it is kept however little it gains; if False, the model is the bags alone.  A model with it holds '
              f'its training rows, takes longer to score, and of more than {MOST_ROWS:,} rows has a regression for '
              'each region of the columns.  For values and two classes r may be a Mahalanobis distance; the model then '
              'has random Fourier features of the kernel exp(-r^2 / 2), and not its rows.  '
              'docs/algorithms/fourier_boosting.md has the choice of length scales and '
              'what else is not tried.'),
    Parameter("monotone_constraints", MONOTONE_CONSTRAINTS,
              "Columns of numbers with which the score, and so the target or the probability of the second of two "
              'classes, only rises (1) or only falls (-1): {"age": 1, "price": -1}, by name or index, or an entry for '
              "each column.  If two rows differ in such columns alone, and none of these cells is missing, their "
              "scores are in this order exactly, without a rounding error.  Trees keep the order; no other term and no "
              "kernel reads such a column.  Several targets or quantiles all keep it; more than two classes are "
              "refused."),
    Parameter("interaction_constraints", INTERACTION_CONSTRAINTS,
              'Sets of columns that may occur together in a term, by name or index: [["age", "price"], ["size"]].  '
              'All columns that are in no set form one more set.  "no_interactions" means each column by itself, so '
              'that the score is a sum of functions of one column; "pairwise" means sets of two.  An integer n means '
              "each column by itself and the n pairs that lower the training loss of such a model most, or fewer, if a "
              "pair gains no more than chance would.  Kernel ridge regression, which reads all columns, is not used.  "
              "With constraints of either kind missing values are not imputed from other columns."),
    shared.MAX_SAMPLES.described(
        "Largest number of rows that the descent of one Fourier term uses: a block of the shuffled rows, another in "
        "each round; None for all.  Steps, trees and updates use all rows."),
    Parameter("early_stopping_rounds", number(int, 1, optional=True, word="auto"),
              "Rounds without a lower validation loss, or `eval_metric` of `fit`, after which a bag ends; its rounds "
              'up to the lowest are kept.  "auto" is 100 for up to 1,000 rows and 200 for 3,000 or more, and a bag of '
              "classes ends also where its loss falls in these by less than 0.0003 of the first.  If None, all rounds "
              "are kept."),
    Parameter("validation_fraction", number(float, 1e-6, 0.5, word="auto"),
              "Share of the rows, in each class, that a bag holds out where there is no `eval_set`.  Bags hold out "
              "different folds of one division of the rows; if there are more bags than folds, the rows are divided "
              'again.  "auto" is a fifth for up to 3,000 rows and a tenth for 30,000 or more.'),
    Parameter("validation", choice("random", "last"),
              'Which rows bags hold out: "random", folds drawn at random, or "last", for rows in order of time: all '
              "bags hold out the same last rows, so that rounds, calibration and kernel ridge regression are chosen by "
              "rows that are later than those learned from.  Then each bag is trained again on all rows, by as many "
              "rounds, and no column is extrapolated.  Rows of one group of `fit(groups=)` are never on both sides."),
    Parameter("warm_start", choice(True, False),
              "Whether `fit` goes on from where the last call ended, with the same rows and parameters, up to "
              "`n_estimators` rounds in all.  The model is the same to the last bit as after one call with the last "
              "`n_estimators` and `early_stopping_rounds`: bags whose rounds had ended by early stopping stay as "
              "they are.  `random_state` has no effect then.  Other rows, or other values of parameters that training "
              "depends on, are an error.  For n rows, k outputs and M bags, a model keeps n M (9 + 4 k) bytes and "
              "all terms for this, not in model files."),
    shared.MAX_SECONDS.described(
        shared.MAX_SECONDS.text + "  Bags share the time equally, and use what others leave over; for n rows, k "
        "outputs and M bags this takes up to 4 n k M bytes more.  Kernel ridge regression is trained in the time that "
        "is left when all bags have ended by themselves, and not used if that is too short."),
    shared.COLUMNS.described(
        '"auto" maps the columns of any table by `ColumnMap(("standard", "rank"))`.  Another `ColumnMap` takes its '
        "place; None takes columns as they are, finite numbers, in units of their standard deviation.  A copy of the "
        "map is fitted on the rows of `fit`, is `column_map_` afterwards, and maps the rows of every call."),
    shared.RANDOM_STATE.described(
        "Random number generator or its seed; a seed always gives the same model.  docs/algorithms/fourier_boosting.md "
        "has the order of the draws."),
    shared.N_JOBS.described(shared.N_JOBS.text + "  Bags are trained side by side; threads beyond their number are "
                            "shared among them."),
    shared.VERBOSE.described("Print a line on stderr every so many rounds of a bag; 0 for none."),
)
ATTRIBUTES = (
    shared.EXPANSION_,
    shared.N_ESTIMATORS_.described("Largest number of rounds that a bag keeps."),
    Attribute("n_bags_", "int", "Number of bags."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean loss of the training rows and of the validation rows, averaged over bags.  Entry t is the loss "
              "after t rounds, up to the largest number of rounds kept; a bag with fewer rounds counts with its last."),
    shared.EVAL_LOSSES_.described(shared.EVAL_LOSSES_.text + "  Each is a mean over bags, before calibration."),
    shared.TIMED_OUT_,
    Attribute("bag_counts_", "array of shape (n_estimators_ + 1,)",
              "Number of bags that keep at least 0, 1, 2, ... rounds."),
    Attribute("term_rounds_", "array of shape (n_terms,)",
              "The round, 1, 2, ..., in which a bag added each term of `expansion_`, in the order of its "
              "parts; 0 for Fourier terms of kernel ridge regression.  Linear terms and kernels have none."),
    Attribute("feature_importances_", "array of shape (n_features_in_,)",
              "For each column of the raw table, its share in the improvement of the validation loss.  What each base "
              "learner improved is divided among the columns in proportion to the sum of "
              + ", of ".join(each.relevance for each in BASE_LEARNERS.values()) + ".  The shares sum to 1, or to 0 "
              "where there is no term.  A column that is constant or dropped has 0."),
    Attribute("interaction_pairs_", "list of tuples",
              "Pairs of columns, by name or index, that a term, or kernel ridge regression, reads together: with "
              "`interaction_constraints` given as a number, those that were chosen and used."),
    Attribute("kernel_ridge_report_", "named tuple",
              "`kept`, whether kernel ridge regression is stacked on the terms; `reason`, a sentence; `loss_without` "
              "and `loss_with`, the mean loss of rows that neither it nor the terms have learned from; "
              "`length_scale_factor`, such that the length scale of a column is this times 1 / sqrt(its relevance), "
              "None with a Mahalanobis distance; `reg_lambda`; and `n_rows`, the number of these rows.  Numbers are "
              "None where it was not tried."),
    shared.N_FEATURES_IN_,
)
ARGUMENTS = {
    "groups": Attribute(
        "groups", "array of shape (n_samples,) or None",
        "The group of each row, such as a patient, a customer or a day: numbers, text or dates.  No bag validates on "
        "rows of a group that it trains on, and neither do calibration and kernel ridge regression.  With "
        'validation="last", rows of one group must be next to each other.  If None, each row is a '
        "group.  With an `eval_set` all bags validate on that instead."),
    "eval_metric": Attribute(
        "eval_metric", "callable or None",
        "A metric by which early stopping and the rounds that are kept are decided in place of the validation loss: "
        "`eval_metric(y_true, y_pred)` returns a number of which less is better, or, as in LightGBM, (name, number, "
        "is_higher_better).  It gets the labels or targets of the validation rows of a bag and its predictions for "
        "them before calibration: the probability of `classes_[1]`, those of more than two classes as columns, "
        "targets, or quantiles as columns; and `sample_weight`, if it has an argument of this name.  Base learners are "
        "sampled by the loss as ever.  Bags are trained one after the other then, as with a `callback`."),
    "callback": shared.ARGUMENTS["callback"].described(
        "Called with a `RoundInfo` after each round of each bag; `RoundInfo.bag` is its index, from "
        "0, and `n_rounds` begins at 1 in each.  Returning True ends the fit.  Bags are trained one after the other "
        "then, so that the rounds that are kept do not depend on the number of threads: a fit on t threads takes up to "
        "t times as long."),
    "eval_set": eval_sets("Validation rows of all bags, for early stopping and the choice of base learners; None to "
                          "let each bag hold out part of the training rows."),
}
