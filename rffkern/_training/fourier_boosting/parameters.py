"""The parameters and attributes that both classes share."""

import itertools
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ..._estimator.parameters import ARGUMENTS as SHARED
from ..._estimator.parameters import (
    COLUMNS,
    EVAL_LOSSES_,
    EXPANSION_,
    MAX_SAMPLES,
    N_ESTIMATORS,
    N_ESTIMATORS_,
    N_FEATURES_IN_,
    N_JOBS,
    RANDOM_STATE,
    VERBOSE,
    Attribute,
    Parameter,
    eval_sets,
)
from ..._model.regions import LARGEST_REGION, MOST_ROWS
from ..._protocol.arguments import Choice, Distinct, Number
from ...errors import InvalidInputError
from .kernel_choice import FEWEST_ROWS, LEAST_SHARE, MOST_NUMBERS, MOST_WORK, STANDARD_ERRORS

MAX_BAGS = 1000
BaseLearner: TypeAlias = Literal["fourier", "tree", "linear"]
BASE_LEARNERS: tuple[str, ...] = get_args(BaseLearner)


class Quantiles(NamedTuple):
    """Accept a quantile, or several in ascending order."""

    domain: str = "float in [1e-06, 0.999999], or several in ascending order"

    def __call__(self, name: str, value: Any) -> None:
        """Raise InvalidInputError unless the value is accepted."""
        several = value if isinstance(value, (tuple, list)) else (value,)
        if isinstance(value, str):
            raise InvalidInputError(f"{name} must be a number, or several in ascending order, such as "
                                    f"[0.1, 0.5, 0.9], got {value!r}")
        for each in several:
            _QUANTILE(name, each)
        if not len(several) or any(a >= b for a, b in itertools.pairwise(several)):
            raise InvalidInputError(f"{name} must be a number, or several in ascending order, got {value!r}")


_QUANTILE = Number(float, 1e-6, 1 - 1e-6)

PARAMETERS = (
    N_ESTIMATORS.described("Largest number of rounds of a bag."),
    Parameter("n_bags", Number(int, 1, MAX_BAGS, optional=True),
              "Number of bags, boosted models whose mean is the model.  None: 10 on up to 1,000 rows, 5 from 3,000 to "
              "5,000, 2 on 30,000, and 1 from 300,000 on."),
    Parameter("learning_rate", Number(float, 0, 1, open_low=True, word="auto"),
              'Shrinkage of each Fourier term.  "auto" is 0.15 on up to 1,000 rows and 0.2 from '
              "30,000 on; trees take a sixth of it on few rows and three fifths on many, at any rate.  Of several "
              "classes or quantiles Fourier terms take twice the share on few rows and 0.6 or 1 of it on many, and "
              "trees twice as much again; of values trees take twice the share on few rows and 1.5 of it on many."),
    Parameter("reg_lambda", Number(float, 0, 1e10, word="auto"),
              'Weight of |omega|^2 in the descent of Fourier terms, for those of scale 1; "auto" is 0.6 / n for n '
              'rows.'),
    Parameter("base_learners", Distinct("base_learners", BASE_LEARNERS),
              'What rounds may add: "fourier", a cosine and a sine over some columns; "tree", a symmetric (also called '
              'oblivious) tree of a few thresholds; "linear", a linear function of all columns.  They are sampled in '
              "proportion to their recent improvement of the validation loss."),
    Parameter("kernel_ridge", Choice(("auto", True, False)),
              'Whether a kernel ridge regression is stacked on the terms: sum over training rows i of a_i exp(-r), '
              'with r^2 the sum over columns of ((x_l - x_il) / length_scale_l)^2.  1 / length_scale^2 is in '
              'proportion to what terms owe to the column, and the scale by the squared error of rows left out.  Its '
              "weight beside the terms is that of the lowest loss of rows that neither has learned from.  \"auto\" "
              f'tries it on n >= {FEWEST_ROWS:,} rows of d mapped columns with n d up to {MOST_NUMBERS:,} and, for n '
              f'up to {MOST_ROWS:,}, n^2 (2 d + 16) up to {MOST_WORK:.0e}; it keeps it where this loss falls by '
              f'{LEAST_SHARE:.0%} and by {STANDARD_ERRORS:.0f} standard errors.  More than {MOST_ROWS:,} rows are '
              f'divided by thresholds on columns into regions of {LARGEST_REGION // 2:,} to {LARGEST_REGION:,}, each '
              'with a regression that learns from its rows and the nearest of its neighbours; three of them say first '
              'whether it gains enough.  A model with it holds its rows, and takes longer to score.  True: whatever '
              'it gains, of any rows.  False: the terms alone, a smaller model that can be exported.'),
    MAX_SAMPLES.described(
        "Largest number of rows that the descent of one Fourier term uses: a block of the shuffled rows, another in "
        "each round; None for all.  Steps, trees and updates use all rows."),
    Parameter("early_stopping_rounds", Number(int, 1, optional=True, word="auto"),
              "Rounds without a lower loss on held-out rows after which a bag ends; its rounds up to the lowest are "
              'kept.  "auto": 100 on up to 1,000 rows, 200 from 3,000 on.  None: all rounds are kept.'),
    Parameter("validation_fraction", Number(float, 1e-6, 0.5, word="auto"),
              "Share of the rows, of each class for labels, that a bag holds out where there is no `eval_set`.  "
              "Bags hold out other rows each, until fewer than this share are left; then all rows are drawn from "
              'anew.  "auto": a fifth on up to 3,000 rows, a tenth from 30,000 on.'),
    Parameter("warm_start", Choice((True, False)),
              "Whether `fit` goes on from where the last call ended, with the same rows and parameters, up to "
              "`n_estimators` rounds in all.  The model is the same to the last bit as after one call with the last "
              "`n_estimators` and `early_stopping_rounds`: bags whose rounds had ended by early stopping stay as "
              "they are.  `random_state` has no effect then.  Other rows, or other values of parameters that training "
              "depends on, are an error.  For n rows, k outputs and M bags, a model keeps n M (9 + 4 k) bytes and "
              "all terms for this, not in model files."),
    COLUMNS.described(
        '"auto" maps the columns of any table by `ColumnMap(("standard", "rank"))`.  Another `ColumnMap` takes its '
        "place; None takes columns as they are, finite numbers, in units of their standard deviation.  A copy of the "
        "map is fitted on the rows of `fit`, is `column_map_` afterwards, and maps the rows of every call."),
    RANDOM_STATE.described(
        "Source of the random draws: `integers`, a seed of each bag, then, where there is no `eval_set`, for every "
        "partition of the rows a `random` number for each and an `integers`, and for each bag a `permutation` of "
        "the rows it learns from."),
    N_JOBS.described(
        "Number of threads, at most the CPUs that are there; None and -1 for those this process may use.  Bags are "
        "trained side by side.  The result is the same to the last bit for any number.  Not kept in model files."),
    VERBOSE.described("Print a line on stderr every so many rounds of a bag; 0 for none."),
)
ATTRIBUTES = (
    EXPANSION_,
    N_ESTIMATORS_.described("Number of rounds kept of the bag that has most."),
    Attribute("n_bags_", "int", "Number of bags."),
    Attribute("train_loss_, eval_loss_", "arrays",
              "Mean loss of the rows learned from and of those held out, before the first round and after each, up to "
              "those kept; the mean over bags, of which one that has ended counts with its last."),
    EVAL_LOSSES_.described(EVAL_LOSSES_.text + "  Each is a mean over bags, before scores are multiplied or moved "
                           "in the end."),
    Attribute("bag_counts_", "array of shape (n_estimators_ + 1,)",
              "Number of bags that keep at least 0, 1, 2, ... rounds."),
    Attribute("term_rounds_", "array of shape (n_terms,)",
              "For each cosine of `expansion_`, and then each tree, the round of its bag that took it, from 1."),
    Attribute("feature_importances_", "array of shape (n_features_in_,)",
              "For each column of the table as it was given, its share in what was gained on held-out rows.  The gain "
              "of a base learner is divided by what its terms owe to the columns: Fourier terms the squares of "
              "amplitude times omega, trees the gains of thresholds, linear terms the squares of slopes.  The sum is "
              "1, or 0 where there is no term.  A column that is constant or dropped has 0."),
    Attribute("kernel_ridge_report_", "named tuple",
              "`kept`, whether kernel ridge regression is stacked on the terms; `reason`, a sentence; `loss_without` "
              "and `loss_with`, the mean loss of rows that neither it nor the terms have learned from; "
              "`length_scale_factor`, by which 1 / sqrt(relevance) of a column is multiplied to be its length scale; "
              "and `reg_lambda`.  Numbers are None where it was not tried."),
    N_FEATURES_IN_,
)
ARGUMENTS = {
    "callback": SHARED["callback"].described(
        "Called with a `RoundInfo` after each round of each bag; `RoundInfo.bag` is its index, from "
        "0, and `n_rounds` begins at 1 in each.  Returning True ends the fit.  Bags are trained one after the other "
        "then, so that the rounds that are kept do not depend on the number of threads: a fit on t threads takes up to "
        "t times as long."),
    "eval_set": eval_sets("Rows on which all bags choose base learners and stop early; None for each to hold out some "
                          "of the rows."),
}
