"""Parameters of how weak learners are found and fitted."""

from .._data.arguments import Choice, Number
from .._estimator.parameters import N_ESTIMATORS, Parameter
from .._kernels.sparse_selection import RULES

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
    Parameter("update", Choice(("full", "one", "group")),
              'Which coefficients are made optimal with a new weak learner.  "full": all.  "one": the newest, (31).  '
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
LOSS = Parameter("loss", Choice(("squares", "logistic")),
                  'Loss of coefficients.  "squares": of labels -1 and +1, as in the paper.  "logistic", with '
                  '`update="full"` only: weak learners are found by least squares, and coefficients then minimise the '
                  "logistic loss, multinomial of several classes, plus lambda / 8 |F|^2.  Probabilities come from it.")
