"""Parameters of how weak learners are found and fitted."""

from typing import Any, Literal, TypeAlias

from ..._estimator.parameters import ARGUMENTS, N_ESTIMATORS, WARM_START, Attribute, Parameter, eval_sets
from ..._native.sparse import RULES
from ..._protocol.arguments import Choice, Number
from .kernel import KernelParameter

Selection: TypeAlias = Literal["random", "max-res", "mp", "boost", "ald", "ran"]
Update: TypeAlias = Literal["pairs", "full", "one", "group"]
KernelSpec: TypeAlias = Literal["auto", "likelihood"] | dict[str, Any]

BASIS = (
    N_ESTIMATORS.described(
        "Largest number of weak learners M; fewer if every other row depends linearly on the basis vectors."),
    Parameter("learner_size", Number(int, 1, 10**6),
              "Number of basis vectors S of a weak learner; 1 selects them one by one."),
    Parameter("subset_size", Number(int, 1, optional=True),
              "Size T >= learner_size of the random subset of rows that the basis vectors of a weak learner are "
              "selected from, at most half of the rows; None for all rows."),
    Parameter("selection", Choice(tuple(RULES)),
              'Rule that selects a basis vector.  "random": any row.  "max-res": the row of largest residual.  "mp" '
              "(matching pursuit): of `n_candidates` rows, the one that lowers the objective most, (28).  "
              '"boost" (boosting): of `n_candidates` rows, the one of largest gradient, (27).  "ald" (approximate '
              "linear dependence): a row whose squared distance from the span of the basis vectors before it, in the "
              'space of the kernel, exceeds a threshold.  "ran" (resource-allocating network): a row for which that '
              "distance times the decrease of the objective exceeds a threshold."),
    Parameter("n_candidates", Number(int, 1),
              'Number of rows kappa that "mp" and "boost" compare for each basis vector.'),
    Parameter("update", Choice(("pairs", "full", "one", "group")),
              'Which coefficients are made optimal with a new weak learner.  "full": all, as in the paper.  "pairs": '
              "all, after every two weak learners, which the same residuals find on a subset each; this takes half of "
              "the passes over all columns.  With outputs that share weak learners, or with learner_size=1, it is "
              '"full".  "one": the newest, (31).  '
              '"group": those of its group; a new group begins after every `group_size` weak learners.'),
    Parameter("group_size", Number(int, 1), "Number L of rounds whose weak learners make a group."),
    Parameter("shared", Choice((True, False)),
              "Whether several outputs share their weak learners, and differ in coefficients alone.  A round then adds "
              "up to two weak learners on one set of basis vectors, those along which the outputs together have the "
              'largest gradients.  "max-res" compares sums over outputs of squared residuals; "mp", "boost" and "ran" '
              'compare sums over outputs of what they compare for one; "random" and "ald" look at no output.  False '
              "learns weak learners for each output alone.  One output has nothing to share."),
)
ALL_ROWS = Parameter("all_rows", Choice((True, False)),
                      'Whether every group learns from all rows.  False, for large data and with `update="group"` '
                      "only: groups after the first leave out rows that are fitted well, y F >= 0.5, and at least half "
                      "of all rows, those of largest y F, as the paper does with classes that a narrow kernel "
                      "separates.  This costs accuracy where classes overlap.")
LOSS = Parameter("loss", Choice(("calibrated", "squared_error", "log_loss")),
                 'Loss of coefficients, and where probabilities come from.  "squared_error": labels -1 and +1, as in '
                 'the paper; P(y = +1 | x) = (1 + F) / 2.  "calibrated": the same coefficients; scores are a slope '
                 'times F plus a shift for each output, those of the largest likelihood of labels that a softmax of '
                 'what is predicted of rows without learning from them gives: up to 1500 rows, by ridge regressions '
                 'with the same kernel that leave out one each, which suits machines with so many weak learners that '
                 'they come near to these.  Staged scores have the same slope and shifts.  With the updates "one" and '
                 '"group" it is "squared_error".  "log_loss", not with these: weak learners are found by least '
                 'squares, and coefficients then minimise the logistic loss, multinomial of several classes, plus '
                 'lambda / 8 |F|^2.')
GOES_ON = WARM_START.described(
    "Whether `fit` goes on from where the last call ended, with the same rows and parameters, up to `n_estimators` "
    "rounds in all.  The model is the same to the last bit as after one call with warm_start=True and the last "
    "`n_estimators` and `early_stopping_rounds`.  `random_state` has no effect then.  Other rows, or other values of "
    "parameters that training depends on, are an error.  Draws come from two generators, that of rows held out and one "
    "for all others, so that each goes on: their seeds are the only draw, an `integers` of two.  For n rows and k "
    "outputs a model keeps 16 n k bytes for this, and 8 k for each held-out row, not in model files; columns of weak "
    "learners are evaluated again.")
EVAL_SET = eval_sets(ARGUMENTS["eval_set"].text)
FEATURE_IMPORTANCES_ = Attribute(
    "feature_importances_", "array of shape (n_features_in_,)",
    "For each column of the table, its share in the squared distances between basis vectors: the variance of their "
    "values over the square of the length scale, divided by its sum over columns.  Columns that a map makes of one "
    "count together.  The sum is 1, or 0 where there is at most one basis vector.")

_HOW_CHOSEN = (
    ", by the squared error of ridge regressions on rows that they have not learned from.  A thousand rows resolve "
    "only coarse structure.  With more, lambda is multiplied by 1, 0.3, 0.1 or 0.03 and all length scales by 1, 0.7, "
    "0.5, 0.35 or 0.25 as long as that lowers this error on up to 2000 rows, learned from up to 2000.  From 8000 rows "
    "on the lengths so found are multiplied again, by ensembles of up to 200 weak learners on up to 8192 rows.")
_DICT = (
    '  A dict has "length_scale", one number or one for each column, and optionally "amplitude" (default 1), "bias" '
    '(default 0) and "shape" ("gaussian", the default, or "exponential"); `kernel_` of a model is such a dict.')
KERNEL_OF_TARGETS = Parameter(
    "kernel", KernelParameter(),
    'The kernel.  "likelihood" maximises the marginal likelihood on up to 1000 rows, as in the paper.  "auto" compares '
    "the likeliest Gaussian kernel with the likeliest exponential one" + _HOW_CHOSEN + _DICT)
KERNEL_OF_CLASSES = Parameter(
    "kernel", KernelParameter(),
    'The kernel.  "likelihood" maximises the marginal likelihood on up to 1000 rows, with one length scale for all '
    'columns in units of their standard deviations: labels do not determine one for each column.  "auto" compares '
    "the likeliest Gaussian kernel with the likeliest exponential one, and with more than 1000 rows also tries a "
    "length scale per column" + _HOW_CHOSEN + _DICT)
DRAWS = ("then one subset for each weak learner, and up to nine more if it has none to add.  A subset is one "
         "`choice`; if the weights of rows differ, one `random` draw and one `permutation`.")
